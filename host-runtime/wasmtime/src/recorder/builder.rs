//! Describes a recording and begins it.

#[cfg(feature = "compiler")]
use super::calibrate;
use super::handle::Recorder;
use crate::clock::source::ClockChoice;
use crate::error::{ErrorKind, Result};
use crate::keep::{Keep, Keeps};
use crate::outlet::notice::{Notice, Notices};
use crate::outlet::queue;
use crate::outlet::when_full::WhenFull;
use crate::profile::sampling::Sampling;
use crate::recording::ids::{add_ids, ids_of};
use crate::recording::settings::{FlushEvery, Settings};
use crate::recording::{Lanes, Recording};
use crate::writer::keep::{Keeper, Ring, RingSink};
use crate::writer::rotation::Rotation;
use crate::writer::{self, Anchors, Files, Flushes, Sink};
use kperf_trace::{Header, HostInfo, TraceContext};
use std::io::{self, Write};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use wasmtime::Engine;

/// Options of a recording. Only the sink is required.
pub struct Builder {
    settings: Settings,
    symbols: Vec<Vec<u8>>,
    command: Vec<String>,
    parent: Option<TraceContext>,
    to: Option<To>,
    keep: Option<Keep>,
    calibrate: bool,
}

/// Begins a trace.
type To = Box<dyn FnOnce(Header) -> io::Result<Files>>;

impl Default for Builder {
    fn default() -> Builder {
        Builder {
            settings: Settings::default(),
            symbols: Vec::new(),
            command: Vec::new(),
            parent: None,
            to: None,
            keep: None,
            calibrate: true,
        }
    }
}

impl Recorder {
    /// Begins to describe a recording.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Builder {
    /// How many bytes may wait for the writer by default: 256 full blocks, 31 MiB.
    pub const QUEUE_BYTES: usize = queue::USUAL;

    /// How guests learn the time; [`ClockChoice::Precise`] by default.
    pub fn clock(mut self, clock: ClockChoice) -> Builder {
        self.settings.clock = clock;
        self
    }

    /// Adds the symbol table of a probed module: the bytes of its custom section `kperf.symbols`.
    pub fn symbols(mut self, table: impl Into<Vec<u8>>) -> Builder {
        self.symbols.push(table.into());
        self
    }

    /// The command line, for the trace to keep.
    pub fn command(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Builder {
        self.command = args.into_iter().map(Into::into).collect();
        self
    }

    /// The parent span of the whole run, usually from the environment's `TRACEPARENT`. For single calls
    /// [`Lane::set_parent`](crate::Lane::set_parent) sets another one.
    pub fn parent(mut self, context: Option<TraceContext>) -> Builder {
        self.parent = context;
        self
    }

    /// The recording has several runs of a program, one after the other: each instance that counts calls ends a run, and instances of
    /// modules that are only sampled belong to the next one that counts. Each has one window ([`Sampling::every`] is long). Reports
    /// then have the means of the runs.
    pub fn repeated(mut self, repeated: bool) -> Builder {
        self.settings.is_repeated = repeated;
        self
    }

    /// The trace's sink, usually a file. It gets whole chunks, one by one, so it needs no buffer.
    ///
    /// After a failed write the recording continues: the chunk is lost and counted, and the next one is tried. If the
    /// sink is a [`File`](std::fs::File), a partly written chunk is removed; in other sinks it stays, and readers skip it.
    pub fn sink(mut self, sink: impl Write + Send + 'static) -> Builder {
        let sink: Box<dyn Sink> = Box::new(sink);
        self.to = Some(Box::new(|header| Files::one(sink, header)));
        self
    }

    /// Writes the trace to a sequence of files. `open` opens each of them; it is called with 0, 1, 2 and so on, and may delete
    /// old ones. This replaces [`sink`](Builder::sink).
    ///
    /// Each file is a whole trace. It has the symbols that are known so far, and begins with the open calls, as if they
    /// were entered there; at the end of the previous file they end as unfinished. So a long call is counted in each file.
    ///
    /// ```
    /// # use kperf_wasmtime::{Recorder, Rotation};
    /// # use std::fs::File;
    /// # use std::time::Duration;
    /// let hourly = Rotation { bytes: Some(1 << 30), age: Some(Duration::from_secs(3600)) };
    /// let builder = Recorder::builder().rotate(hourly, |number| {
    ///     // Keeps the last ten.
    ///     if let Some(old) = number.checked_sub(10) {
    ///         std::fs::remove_file(format!("server.{old}.kperf"))?;
    ///     }
    ///     File::create(format!("server.{number}.kperf"))
    /// });
    /// # drop(builder);
    /// ```
    pub fn rotate<S: Write + Send + 'static>(
        mut self,
        rotation: Rotation,
        mut open: impl FnMut(u32) -> io::Result<S> + Send + 'static,
    ) -> Builder {
        let open = move |number| open(number).map(|sink| Box::new(sink) as Box<dyn Sink>);
        self.to = Some(Box::new(move |header| Files::several(rotation, Box::new(open), header)));
        self
    }

    /// Makes a flight recorder: the last events stay in memory, and are written when something goes wrong or the host asks for it
    /// ([`Keep::to`], [`Recorder::dump`], [`Recorder::request_dump`]). This replaces [`sink`](Builder::sink). Guests do what they do for a
    /// trace; the memory comes on top of the [limit](Builder::memory_limit), twice while a dump is written.
    ///
    /// Each dump is a trace, written whole or not at all by a thread of its own, while the recording goes on. It begins with the calls that
    /// were open, as if they were entered there. It has the number of calls of each function since the beginning, as
    /// [`Kept`](kperf_trace::Kept). [`Notice::Dumped`] and [`Notice::DumpFailed`] report it. Without one, a recording leaves no file.
    ///
    /// ```
    /// # use kperf_wasmtime::{Keep, Recorder};
    /// # use std::time::Duration;
    /// let last = Keep::last(Duration::from_secs(10))
    ///     .to("server.kperf")
    ///     .slower_than(Duration::from_millis(50), |name| name.ends_with("::handle"));
    /// let builder = Recorder::builder().keep(last).on_notice(|notice| eprintln!("{notice}"));
    /// # drop(builder);
    /// ```
    pub fn keep(mut self, keep: Keep) -> Builder {
        self.keep = Some(keep);
        self
    }

    /// How many bytes may wait for the writer; [`Builder::QUEUE_BYTES`] by default. What happens then says
    /// [`when_full`](Builder::when_full). A single block of events always has room; a full one has 124 KiB.
    pub fn queue_bytes(mut self, bytes: usize) -> Builder {
        self.settings.queue_bytes = bytes;
        self
    }

    /// How much memory recording may take, in bytes: 1 GiB by default, at least 1 MiB. This is the memory of lanes, the queue and
    /// buffers ([`Stats::memory_bytes`](crate::Stats::memory_bytes)). The queue gets at most a quarter of it.
    ///
    /// A lane of host functions takes 16 KiB, and up to 128 KiB while its block fills. Near the limit blocks are handed over before they
    /// are that long, and nothing is lost. Other lanes take 128 KiB, an instance of a profile at least 144 KiB; this is address space,
    /// of which short lanes touch a part. A store or instance that doesn't fit is not recorded:
    /// [`Stats::refused_lanes`](crate::Stats::refused_lanes), [`Notice::MemoryFull`] and the trace say so. Events that its host
    /// functions get are counted as lost.
    ///
    /// Symbol tables, and a profile's tree of up to 2^18 paths for each instance, come on top.
    pub fn memory_limit(mut self, bytes: usize) -> Builder {
        self.settings.memory_limit = bytes;
        self
    }

    /// How often what lanes have recorded is written, if their blocks are not full: each second by default. So a sink has the events
    /// of a slow guest soon, and a killed process loses the last second at most. The writer's thread does it; guests don't wait. Times
    /// below a millisecond count as one. `None`: only full blocks are written, and the last of each lane.
    ///
    /// Under [`ClockChoice::Test`] and [`ClockChoice::Instructions`], whose traces are repeatable, the default is `None`.
    pub fn flush_every(mut self, time: Option<Duration>) -> Builder {
        self.settings.flush_every = time.map_or(FlushEvery::Never, FlushEvery::Time);
        self
    }

    /// How long [`finish`](Recorder::finish) waits for a sink that takes nothing: a minute by default. Then it fails and says what is
    /// lost ([`ErrorKind::SinkBlocks`]). `None`: for ever.
    pub fn give_up_after(mut self, time: Option<Duration>) -> Builder {
        self.settings.give_up_after = time;
        self
    }

    /// What happens to a block of events for which the queue has no room. By default guests wait for the writer, but not in
    /// asynchronous calls: there the block is dropped. What is dropped is counted, and the trace says which lane has lost how
    /// many events, and where.
    pub fn when_full(mut self, when_full: WhenFull) -> Builder {
        self.settings.when_full = when_full;
        self
    }

    /// Reports problems when they happen: a write fails, the queue is full, the sink blocks or panics. `report` is called by the thread
    /// that notices it, which may be a guest's. So it should only log or count.
    pub fn on_notice(mut self, report: impl Fn(&Notice<'_>) + Send + Sync + 'static) -> Builder {
        self.settings.notices = Notices::new(report);
        self
    }

    /// Whether [`finish`](Recorder::finish) measures what a probe costs here, so that reports can subtract it. That takes some
    /// five milliseconds. On by default. Never done under the test clock, or if guests had probes of several kinds.
    pub fn calibrate(mut self, calibrate: bool) -> Builder {
        self.calibrate = calibrate;
        self
    }

    /// How to sample profiled guests: by default every 100 us, on native stacks every millisecond. The sampler's thread reads the
    /// time, whatever the clock. Under the test clock it takes no samples, and calls are only counted.
    pub fn sampling(mut self, sampling: Sampling) -> Builder {
        self.settings.sampling = Some(sampling);
        self
    }

    /// Lets a timer of the guests' own threads renew the time of a [`ClockChoice::Ticker`] where the ticker's thread isn't run. It
    /// raises `SIGPROF`, whose handler stays in the process. Only on Linux on x86-64; elsewhere this changes nothing.
    pub fn signals(mut self, allowed: bool) -> Builder {
        self.settings.signals = allowed;
        self
    }

    /// Begins the recording of guests in an engine's stores. Starts a thread that writes and, with
    /// [`ClockChoice::Ticker`], one that renews the time.
    ///
    /// # Errors
    ///
    /// If there is no sink or it fails at once, if a symbol table can't be read or shares ids with another, or if the sampling
    /// period is zero or longer than a second.
    pub fn build(mut self, engine: &Engine) -> Result<Recorder> {
        let mut ids = Vec::new();
        for table in &self.symbols {
            add_ids(&mut ids, ids_of(table)?)?;
        }
        if self.to.is_none() && self.keep.is_none() {
            return Err(ErrorKind::NoSink.into());
        }
        let Sampling { period, .. } = self.settings.sampling.unwrap_or_default();
        if period.is_zero() || period > Duration::from_secs(1) {
            return Err(ErrorKind::Period(period).into());
        }
        let repeated = self.settings.is_repeated;
        let choice = self.settings.clock.for_this_machine();
        self.settings.clock = choice;
        self.settings.keeps = match &self.keep {
            None => Keeps::Nothing,
            Some(Keep { to: None, .. }) => Keeps::Events,
            Some(_) => Keeps::Numbered,
        };
        let flush_every = self.settings.flush_every.period(choice);
        let recorder = Recorder { recording: Recording::new(engine, self.settings)? };
        let outlet = recorder.recording.outlet.clone();
        // A probe takes time, but executes no instruction of the guest's.
        #[cfg(feature = "compiler")]
        if self.calibrate && !matches!(choice, ClockChoice::Test | ClockChoice::Instructions) {
            *recorder.recording.measure.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(calibrate::probe_cost);
        }
        let header = Header {
            clock: outlet.clock.info(choice),
            probe_cost: None,
            anchor: outlet.clock.anchor(),
            host: host(),
            command: self.command,
            parent: self.parent,
            repeated,
        };
        let failed = |source| ErrorKind::Write { source, dropped_events: 0 };
        let (mut files, mut keeper) = match (self.keep, self.to) {
            (Some(keep), _) => {
                let age = match (keep.age, choice) {
                    (Some(_), ClockChoice::Instructions) => return Err(ErrorKind::NoAge.into()),
                    (Some(age), _) => outlet.clock.ticks(age),
                    (None, _) => u64::MAX,
                };
                let ring = Arc::new(Mutex::new(Ring::new(keep.bytes, age)));
                let files = Files::one(Box::new(RingSink(ring.clone())), header.clone()).map_err(failed)?;
                (files, Some(Keeper::new(keep, ring, header, outlet.clone())))
            }
            (None, Some(to)) => (to(header).map_err(failed)?, None),
            (None, None) => return Err(ErrorKind::NoSink.into()),
        };
        for (table, ids) in self.symbols.into_iter().zip(&ids) {
            if let Some(keeper) = &mut keeper {
                keeper.add_symbols(&table);
            }
            files.add_symbols(table, ids.end - ids.start);
        }
        files.symbols_and(|_| Ok(())).map_err(failed)?;
        *recorder.recording.ids.lock().unwrap_or_else(PoisonError::into_inner) = ids;
        let anchors = Anchors::new(outlet.clock.clone());
        let lanes = recorder.recording.lanes.clone();
        let flushes = Flushes::new(flush_every, move |room| Lanes::take_words(&lanes, room));
        let thread = std::thread::Builder::new()
            .name(writer::THREAD.into())
            .spawn(move || {
                let write = || writer::write(files, &outlet, anchors, flushes, keeper);
                std::panic::catch_unwind(AssertUnwindSafe(write)).unwrap_or_else(|panic| {
                    outlet.notices.report(&Notice::SinkPanicked);
                    std::panic::resume_unwind(panic)
                })
            })
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
        let manifest = include_str!("../../../../Cargo.toml");
        assert!(manifest.contains(&format!("\nwasmtime = {{ version = \"{WASMTIME}\"")));
    }
}
