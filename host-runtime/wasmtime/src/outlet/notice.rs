//! Notices to the embedder while a recording runs.

use std::path::Path;
use std::time::Duration;
use std::{fmt, io};

/// A problem of a recording, reported when it happens: see [`Builder::on_notice`](crate::Builder::on_notice).
/// Its text is for people.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice<'a> {
    /// The sink failed, and this write is lost. The recording continues with the next block. Only the first of several failures in
    /// a row is reported.
    WriteFailed(&'a io::Error),
    /// The sink works again.
    WriteWorks {
        /// How many events are lost so far, in the whole recording.
        lost_events: u64,
    },
    /// The sink holds a write for so long, in which no event is lost yet. It is reported again only after a write that was faster.
    SinkBlocks {
        /// How long the write has taken so far: a second or more.
        time: Duration,
    },
    /// A guest waited for so long, because the queue is full: the sink is slower than the guests. It is reported again only after half
    /// of the queue was free.
    GuestWaits {
        /// How long it has waited so far: a tenth of a second or more.
        time: Duration,
    },
    /// The sink panicked. Nothing more is written, and guests go on.
    SinkPanicked,
    /// The next file of a rotated trace could not be created. The current file goes on; the next try is in a second.
    NextFileFailed(&'a io::Error),
    /// The queue is full, and a block is dropped. Reported again only after half of the queue was free.
    QueueFull,
    /// The memory for recording ([`Builder::memory_limit`](crate::Builder::memory_limit)) is used up, and a store or instance is not
    /// recorded. Reported again only after half of it was free.
    MemoryFull,
    /// A flight recorder's dump is written ([`Builder::keep`](crate::Builder::keep)).
    Dumped {
        /// The file.
        path: &'a Path,
        /// Why it was written.
        why: &'a str,
    },
    /// A dump could not be written: there is no file, or the old one.
    DumpFailed {
        /// The file.
        path: &'a Path,
        /// Why not.
        error: &'a io::Error,
    },
    /// An instance of a profile has no samples: its calls are counted, without times. Each reason is reported once; the
    /// trace says for how many instances.
    CountsOnly {
        /// Why.
        reason: &'a str,
    },
}

impl fmt::Display for Notice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::WriteFailed(error) => write!(f, "the trace can't be written, events are lost: {error}"),
            Notice::WriteWorks { lost_events } => {
                write!(f, "the trace can be written again, {lost_events} events are lost so far")
            }
            Notice::SinkBlocks { time } => write!(f, "the trace's sink has held a write for {time:.1?}"),
            Notice::GuestWaits { time } => {
                write!(f, "the writer can't keep up, a guest has waited {time:.1?} for it")
            }
            Notice::SinkPanicked => f.write_str("the trace's sink panicked, nothing more is written"),
            Notice::NextFileFailed(error) => write!(f, "the trace's next file can't be begun: {error}"),
            Notice::QueueFull => f.write_str("the writer can't keep up, events are lost"),
            Notice::MemoryFull => {
                f.write_str("the memory for recording is used up, stores or instances are not recorded")
            }
            Notice::Dumped { path, why } => write!(f, "{} has the last events: {why}", path.display()),
            Notice::DumpFailed { path, error } => {
                write!(f, "the last events can't be written to {}: {error}", path.display())
            }
            Notice::CountsOnly { reason } => write!(f, "calls are counted, without times: {reason}"),
        }
    }
}

type Tell = dyn Fn(&Notice<'_>) + Send + Sync;

/// Calls the embedder's function, if there is one.
#[derive(Default)]
pub(crate) struct Notices(Option<Box<Tell>>);

impl Notices {
    pub(crate) fn new(report: impl Fn(&Notice<'_>) + Send + Sync + 'static) -> Notices {
        Notices(Some(Box::new(report)))
    }

    pub(crate) fn report(&self, notice: &Notice<'_>) {
        if let Some(report) = &self.0 {
            report(notice);
        }
    }
}
