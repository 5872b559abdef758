//! Describes a recording and begins it.

use crate::calibrate;
use crate::clock::{Clock, ClockChoice};
use crate::error::{ErrorKind, Result};
use crate::profile::Sampler;
use crate::recorder::Recorder;
use crate::recording::{Recording, add_ids, ids_of};
use crate::sampling::Sampling;
use crate::ticker::Ticker;
use crate::writer::{self, Sink};
use kperf_trace::{Header, HostInfo, TraceContext};
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use wasmtime::Engine;

/// What a recording needs. Only the sink must be given.
pub struct Builder {
    clock: ClockChoice,
    symbols: Vec<Vec<u8>>,
    command: Vec<String>,
    parent: Option<TraceContext>,
    sink: Option<Sink>,
    queue: usize,
    calibrate: bool,
    inlined: bool,
    sampling: Option<Sampling>,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder {
            clock: ClockChoice::default(),
            symbols: Vec::new(),
            command: Vec::new(),
            parent: None,
            sink: None,
            queue: Builder::QUEUE,
            calibrate: true,
            inlined: false,
            sampling: None,
        }
    }
}

impl Builder {
    /// How many blocks of 124 KiB may wait for the writer, if nothing else is said.
    pub const QUEUE: usize = 256;

    /// How guests learn the time; [`ClockChoice::Precise`] if nothing is said.
    pub fn clock(mut self, clock: ClockChoice) -> Builder {
        self.clock = clock;
        self
    }

    /// Adds the symbol table of a probed module: the bytes of its custom section `kperf.symbols`.
    pub fn symbols(mut self, table: impl Into<Vec<u8>>) -> Builder {
        self.symbols.push(table.into());
        self
    }

    /// The command line that the trace shall tell.
    pub fn command(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Builder {
        self.command = args.into_iter().map(Into::into).collect();
        self
    }

    /// The span that the whole run is a child of: `TRACEPARENT` of the environment, usually. For a parent of single calls
    /// there is [`Lane::set_parent`](crate::Lane::set_parent).
    pub fn parent(mut self, context: Option<TraceContext>) -> Builder {
        self.parent = context;
        self
    }

    /// Where the trace goes: a file, usually. It gets whole chunks, one by one, so it needs no buffer.
    pub fn sink(mut self, sink: impl Write + Send + 'static) -> Builder {
        self.sink = Some(Box::new(sink));
        self
    }

    /// How many blocks may wait for the writer before guests wait for it; at least one.
    pub fn queue(mut self, blocks: usize) -> Builder {
        self.queue = blocks.max(1);
        self
    }

    /// Whether to measure for some milliseconds what a probe costs here, for reports to take off; yes if nothing is said.
    /// Never done under the test clock.
    pub fn calibrate(mut self, calibrate: bool) -> Builder {
        self.calibrate = calibrate;
        self
    }

    /// Whether the guests have their recorder inside, so that what a probe costs is measured there; no if nothing is said.
    pub fn inlined(mut self, inlined: bool) -> Builder {
        self.inlined = inlined;
        self
    }

    /// How guests are sampled that make a profile (`rewrite --record profile`); every 100 us if nothing is said, those on native
    /// stacks every millisecond. Their times
    /// are this thread's, whatever the clock; under the test clock no sample is taken, and calls are counted only.
    pub fn sampling(mut self, sampling: Sampling) -> Builder {
        self.sampling = Some(sampling);
        self
    }

    /// Begins the recording of guests in an engine's stores. Starts a thread that writes and, with
    /// [`ClockChoice::Ticker`], one that renews the time.
    ///
    /// # Errors
    ///
    /// No sink, a sink that fails at once, symbol tables that are none or overlap, a ticker where there is one processor.
    pub fn build(self, engine: &Engine) -> Result<Recorder> {
        let mut ids = Vec::new();
        for table in &self.symbols {
            add_ids(&mut ids, ids_of(table)?)?;
        }
        let measure = self.calibrate && self.clock != ClockChoice::Test;
        let Some(sink) = self.sink else { return Err(ErrorKind::NoSink.into()) };
        let Sampling { period, .. } = self.sampling.unwrap_or_default();
        if period.is_zero() || period > Duration::from_secs(1) {
            return Err(ErrorKind::Period(period).into());
        }
        let clock = Clock::new(self.clock);
        let ticker = match self.clock {
            ClockChoice::Ticker { period } => Some(Ticker::start(engine, &clock, period)?),
            ClockChoice::Precise | ClockChoice::Test => None,
        };
        let (queue, messages, spare) = crate::queue::queue(self.queue);
        let recording = Recording {
            engine: engine.clone(),
            clock,
            ticker,
            sampler: Sampler::new(period, self.clock != ClockChoice::Test),
            sampling: self.sampling,
            codes: Mutex::default(),
            queue,
            lanes: Mutex::default(),
            module: OnceLock::new(),
            writer: Mutex::new(None),
            ids: Mutex::new(ids),
            spare_memories: Mutex::default(),
        };
        let recorder = Recorder { recording: Arc::new(recording) };
        let header = Header {
            clock: recorder.recording.clock.info(self.clock),
            probe_cost: if measure {
                calibrate::probe_cost(&recorder, self.inlined, &messages)
            } else {
                None
            },
            anchor: recorder.recording.clock.anchor(),
            host: host(),
            command: self.command,
            parent: self.parent,
        };
        let trace = writer::begin(sink, &header, &self.symbols)
            .map_err(|source| ErrorKind::Write { source, dropped_events: 0 })?;
        let thread = std::thread::Builder::new()
            .name("kperf-writer".into())
            .spawn(move || writer::write(trace, &messages, &spare))
            .map_err(ErrorKind::Thread)?;
        recorder.recording.begin(thread);
        Ok(recorder)
    }
}

/// The version of wasmtime that this crate is made for; it doesn't say its own.
const WASMTIME: &str = "48";

fn host() -> HostInfo {
    HostInfo {
        name: "wasmtime".into(),
        version: WASMTIME.into(),
        os: std::env::consts::OS.into(),
        arch: std::env::consts::ARCH.into(),
        pid: std::process::id(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_wasmtime_is_the_workspace_s() {
        let manifest = include_str!("../../../Cargo.toml");
        assert!(manifest.contains(&format!("\nwasmtime = {{ version = \"{WASMTIME}\"")));
    }
}
