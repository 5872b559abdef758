//! The errors of building, linking and finishing a recording.

use kperf_abi::symbols::SymbolsError;
use std::ops::Range;
use std::{fmt, io};

/// Why a recorder could not be built, linked or finished.
#[derive(Debug)]
pub struct Error {
    kind: Box<ErrorKind>,
}

/// What happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The builder has no sink for the trace.
    NoSink,
    /// The bytes that should be a symbol table can't be read as one.
    Symbols(SymbolsError),
    /// Two symbol tables claim the same FuncIds.
    OverlappingIds {
        /// The ids of the table that came first.
        first: Range<u32>,
        /// The ids of the table that was refused.
        second: Range<u32>,
    },
    /// Instructions are the clock, but the recorder is beside the module, where they are not counted.
    ClockInside,
    /// A ticker's period is zero or longer than a second.
    Period(std::time::Duration),
    /// A thread could not be started.
    Thread(io::Error),
    /// Samples can't find the open calls on the stacks of threads here.
    NativeStacks(io::Error),
    /// The names of functions can't be written to `/tmp/perf-PID.map`.
    PerfMap(io::Error),
    /// The recorder keeps no events ([`Builder::keep`](crate::Builder::keep)), or numbered dumps have no path.
    KeepsNothing,
    /// Instructions are the clock, by which events have no age.
    NoAge,
    /// A dump can't be written.
    Dump(io::Error),
    /// The recorder's own thread would wait for itself.
    OwnThread,
    /// The engine can't run the recorder module.
    Engine(Box<dyn std::error::Error + Send + Sync>),
    /// The store belongs to another engine than the recorder.
    OtherEngine,
    /// The recorder module or the host functions could not be put into the store or the linker.
    Link(Box<dyn std::error::Error + Send + Sync>),
    /// Probes can't be put into a module.
    Rewrite(Box<dyn std::error::Error + Send + Sync>),
    /// The engine refuses a module with probes.
    Compile(Box<dyn std::error::Error + Send + Sync>),
    /// A linker can't serve all stores of a module that has its recorder inside.
    RecorderInside,
    /// Memories of the engine may move when they grow, so a component's recorder would not be found.
    MemoriesMove,
    /// The trace is incomplete: a write has failed.
    Write {
        /// The first error of the sink.
        source: io::Error,
        /// Events that are not in the trace, including those that had no room in the queue.
        dropped_events: u64,
    },
    /// The sink panicked.
    WriterPanicked,
    /// The recording was finished before.
    Finished,
    /// The sink blocks, and the recording was given up ([`Builder::give_up_after`](crate::Builder::give_up_after)).
    SinkBlocks {
        /// How long it had taken nothing.
        time: std::time::Duration,
        /// Events that are not in the trace, without those that the sink was given last.
        dropped_events: u64,
    },
    /// A call is open that is recorded, and its parent can't change any more.
    CallOpen,
    /// The process is a child, made by `fork`, of the one that records. It may make a recorder of its own.
    Forked,
}

/// `Result` with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// What happened.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Error {
        Error { kind: Box::new(kind) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            ErrorKind::NoSink => f.write_str("the recorder has no sink: call `sink`"),
            ErrorKind::Symbols(_) => f.write_str("a module's symbols can't be read"),
            ErrorKind::OverlappingIds { first, second } => write!(
                f,
                "two modules use the same function ids, {}..{} and {}..{}: rewrite them together, or give the second ids from {}",
                first.start, first.end, second.start, second.end, first.end
            ),
            ErrorKind::ClockInside => f.write_str(
                "instructions are counted inside of modules: rewrite them to count their instructions, and use `link_inlined`",
            ),
            ErrorKind::Period(period) => {
                write!(f, "a ticker's period of {period:?} is not possible: it must be above zero and at most a second")
            }
            ErrorKind::Thread(_) => f.write_str("failed to start a thread"),
            ErrorKind::NativeStacks(_) => f.write_str(
                "the calls that are open can't be found on the thread's own stack here: rewrite the module with a shadow stack",
            ),
            ErrorKind::KeepsNothing => {
                f.write_str("the recorder keeps no events, or there is no path for dumps: call `Builder::keep`, and `Keep::to`")
            }
            ErrorKind::NoAge => {
                f.write_str("instructions are the clock, by which events have no age: keep a number of bytes")
            }
            ErrorKind::OwnThread => f.write_str(
                "the recorder's own thread, which reports notices, can't wait for a dump: call `Recorder::request_dump`",
            ),
            ErrorKind::Dump(_) => f.write_str("the last events can't be written"),
            ErrorKind::PerfMap(_) => {
                write!(f, "failed to write names to `/tmp/perf-{}.map`", std::process::id())
            }
            ErrorKind::Engine(_) => f.write_str(
                "the engine can't run the recorder module: call `Recorder::configure` on its `Config`, or use `add_to_linker`",
            ),
            ErrorKind::OtherEngine => f.write_str("the store belongs to another engine than the recorder"),
            ErrorKind::Link(_) => f.write_str("failed to link the recorder"),
            ErrorKind::Rewrite(_) => f.write_str("failed to put probes into the module"),
            ErrorKind::Compile(_) => f.write_str("failed to compile the module with probes"),
            ErrorKind::RecorderInside => f.write_str(
                "the module has its recorder inside, which each store must link: use `Recorder::link_inlined`",
            ),
            ErrorKind::MemoriesMove => f.write_str(
                "the engine's memories may move when they grow, and a component's recorder must not: keep the default of \
                 `Config::memory_reservation`, or call `Config::memory_may_move(false)`",
            ),
            ErrorKind::Write { dropped_events: 0, .. } => f.write_str("failed to write the trace"),
            ErrorKind::Write { dropped_events, .. } => {
                write!(f, "failed to write the trace, {dropped_events} events are lost")
            }
            ErrorKind::WriterPanicked => f.write_str("the trace's sink panicked"),
            ErrorKind::Finished => f.write_str("the recording is finished already"),
            ErrorKind::SinkBlocks { time, dropped_events } => write!(
                f,
                "the trace's sink has taken nothing for {time:?}: the trace has no end, {dropped_events} events and what the sink \
                 was given last are lost"
            ),
            ErrorKind::CallOpen => {
                f.write_str("a recorded call is open, which keeps its parent: set the parent before the call")
            }
            ErrorKind::Forked => f.write_str(
                "the process is a child, made by `fork`, of the one that records: build a recorder of its own",
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.kind {
            ErrorKind::Symbols(error) => Some(error),
            ErrorKind::Thread(error)
            | ErrorKind::NativeStacks(error)
            | ErrorKind::PerfMap(error)
            | ErrorKind::Dump(error)
            | ErrorKind::Write { source: error, .. } => Some(error),
            ErrorKind::Engine(error)
            | ErrorKind::Link(error)
            | ErrorKind::Rewrite(error)
            | ErrorKind::Compile(error) => Some(&**error),
            _ => None,
        }
    }
}
