//! Options of instrumenting: the probes, and where calls are recorded.

use crate::clock::source::ClockChoice;
use crate::recorder::handle::Recorder;
use std::path::{Path, PathBuf};

/// What [`instrument`](crate::instrument) does, and where the trace goes.
#[derive(Clone)]
pub struct InstrumentOptions {
    pub(super) to: To,
    pub(super) clock: ClockChoice,
    pub(super) rewriter: kperf_rewriter::Options,
}

#[derive(Clone)]
pub(super) enum To {
    File(PathBuf),
    Recorder(Recorder),
}

impl InstrumentOptions {
    /// Records into a file. All modules with the same file share one recording, whatever their engines. It begins with the first of
    /// them.
    ///
    /// A program that writes to a file again after that recording has ended doesn't overwrite it: `app.kperf` is followed by
    /// `app.2.kperf`.
    pub fn to_file(path: impl AsRef<Path>) -> InstrumentOptions {
        InstrumentOptions::to(To::File(path.as_ref().to_owned()))
    }

    /// Records into an existing recording: for another sink, rotation, queues, sampling and everything else that a
    /// [`Builder`](crate::Builder) offers.
    pub fn to_recorder(recorder: &Recorder) -> InstrumentOptions {
        InstrumentOptions::to(To::Recorder(recorder.clone()))
    }

    fn to(to: To) -> InstrumentOptions {
        InstrumentOptions { to, clock: ClockChoice::default(), rewriter: kperf_rewriter::Options::default() }
    }

    /// How guests learn the time, if this begins the recording.
    pub fn clock(mut self, clock: ClockChoice) -> InstrumentOptions {
        self.clock = clock;
        self
    }

    /// Which functions get probes, and of what form. `id_base` is not used: ids follow from the module.
    pub fn rewriter(mut self, options: kperf_rewriter::Options) -> InstrumentOptions {
        self.rewriter = options;
        self
    }
}
