//! What an embedder is told at once.

use std::{fmt, io};

/// Something that went wrong with a recording, told when it happens: see [`Builder::on_notice`](crate::Builder::on_notice).
/// Its text is for people.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice<'a> {
    /// The sink failed, and what it should have taken is lost. The recording goes on, and tries again with the next block. This
    /// is told for the first of several failures in a row.
    WriteFailed(&'a io::Error),
    /// The sink works again.
    WriteWorks {
        /// How many events are lost so far, in the whole recording.
        lost_events: u64,
    },
    /// The next file of a rotated trace could not be begun. The present one goes on, and in a second there is another try.
    NextFileFailed(&'a io::Error),
    /// The queue is full, and the first block is dropped. This is told again if half of it was free meanwhile.
    QueueFull,
    /// An instance that makes a profile has no samples: its calls are counted, and have no times. Each reason is told once; the
    /// trace says of how many instances.
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
            Notice::NextFileFailed(error) => write!(f, "the trace's next file can't be begun: {error}"),
            Notice::QueueFull => f.write_str("the writer can't keep up, events are lost"),
            Notice::CountsOnly { reason } => write!(f, "calls are counted, without times: {reason}"),
        }
    }
}

type Tell = dyn Fn(&Notice<'_>) + Send + Sync;

/// Tells the embedder, if it wants to be told.
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
