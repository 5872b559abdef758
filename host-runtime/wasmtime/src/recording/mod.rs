//! A recording: what all its lanes share.

pub(crate) mod answered;
pub(crate) mod ids;
mod lanes;
pub(crate) mod settings;

use crate::clock::preempted::Watched;
use crate::clock::source::{Clock, ClockChoice};
use crate::clock::ticker::Ticker;
use crate::clock::waits::WaitQuality;
use crate::error::{ErrorKind, Result};
use crate::keep::Keeps;
use crate::lanes::core::LaneCore;
use crate::outlet::memory_use::{Division, Grant, MemoryUse};
use crate::outlet::process::Process;
use crate::outlet::queue::{Message, Queue};
use crate::outlet::runs::Runs;
use crate::outlet::sink_watch::SinkWatch;
use crate::outlet::stats::{Progress, Stats};
use crate::outlet::{Outlet, Refused};
use crate::profile::sampling::Sampling;
use crate::profile::{self, Code, Pace, Sampler};
use crate::writer::Written;
use answered::Answered;
use cpu_time::ProcessTime;
use ids::{add_ids, ids_of};
use kperf_abi::SymbolTable;
#[cfg(feature = "compiler")]
use kperf_abi::recorder::Form;
use kperf_abi::word::Reason;
use kperf_trace::{ProbeCost, Summary};
pub(crate) use lanes::Lanes;
use settings::Settings;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use wasmtime::{Engine, Module, SharedMemory};

/// Measures what a probe costs: `recorder::calibrate::probe_cost`, passed as a function, since it makes a recording of its own.
pub(crate) type Measure = fn(&Engine, ClockChoice, Answered) -> Option<ProbeCost>;

pub(crate) struct Recording {
    pub(crate) engine: Engine,
    pub(crate) outlet: Arc<Outlet>,
    /// Samples the guests of a profile.
    pub(crate) sampler: Sampler,
    /// How to sample; `None` for the default.
    pub(crate) sampling: Option<Sampling>,
    /// How fast samples on native stacks come.
    pub(crate) pace: Arc<Pace>,
    /// The code of modules that are sampled on native stacks.
    pub(crate) codes: Mutex<Vec<Arc<Code>>>,
    pub(crate) lanes: Arc<Mutex<Lanes>>,
    /// The recorder module, compiled when it is first linked: an embedder with host functions needs none.
    pub(crate) module: OnceLock<Result<Module, String>>,
    /// Locked by the thread that ends the recording, until it has ended.
    pub(crate) writer: Mutex<Option<JoinHandle<Written>>>,
    /// The ids that the symbol tables have claimed.
    pub(crate) ids: Mutex<Vec<Range<u32>>>,
    pub(crate) spare_memories: Mutex<Vec<(SharedMemory, Grant)>>,
    refused_memory: Mutex<Option<SharedMemory>>,
    /// The stores for components.
    #[cfg(feature = "component-model")]
    pub(crate) stores: crate::component::Stores,
    /// Ended lanes of host functions, for reuse: zeroing a memory takes ten times as long as everything else.
    spare_lanes: Mutex<Vec<Arc<LaneCore>>>,
    /// What a flight recorder keeps.
    pub(crate) keeps: Keeps,
    /// How long the end waits for a sink that takes nothing.
    give_up_after: Option<Duration>,
    /// The clock that the embedder chose.
    choice: ClockChoice,
    /// Measures what probes cost, at the end; `None` if not wanted.
    pub(crate) measure: Mutex<Option<Measure>>,
    /// What the guests' probes call, each kind once.
    answered: Mutex<Vec<Answered>>,
    /// The processor time of the process when the recording began. `None` under the test clock.
    began: Option<ProcessTime>,
    /// The threads on which lanes were opened. Empty under the test clock.
    watched: Option<Arc<Watched>>,
}

impl Recording {
    /// A recording without a writer: the caller starts one. If the clock is a ticker, this starts its thread.
    pub(crate) fn new(engine: &Engine, settings: Settings) -> Result<Arc<Recording>> {
        let clock = Clock::new(settings.clock);
        let ticker = match settings.clock {
            ClockChoice::Ticker { period } => Some(Ticker::start(engine, &clock, period)?),
            ClockChoice::Precise | ClockChoice::Instructions | ClockChoice::Test => None,
        };
        Ok(Recording::with_clock(engine, settings, (clock, ticker)))
    }

    /// A recording for a trial. Its ticker doesn't tick.
    #[cfg(feature = "compiler")]
    pub(crate) fn for_trial(engine: &Engine, choice: ClockChoice) -> Arc<Recording> {
        let clock = Clock::new(choice);
        let is_ticker = matches!(choice, ClockChoice::Ticker { .. });
        let ticker = is_ticker.then(|| Ticker::standing(engine, &clock));
        Recording::with_clock(engine, Settings { clock: choice, ..Settings::default() }, (clock, ticker))
    }

    fn with_clock(
        engine: &Engine,
        settings: Settings,
        (clock, ticker): (Clock, Option<Ticker>),
    ) -> Arc<Recording> {
        let Settings {
            clock: choice,
            queue_bytes,
            memory_limit,
            when_full,
            is_repeated,
            sampling,
            notices,
            signals,
            flush_every: _,
            give_up_after,
            keeps,
        } = settings;
        if let Some(ticker) = ticker.as_ref().filter(|_| signals) {
            ticker.allow_signals();
        }
        let division = Division::of(memory_limit, queue_bytes);
        let queue = Queue::new(division.queue);
        let progress = Progress::default();
        Arc::new(Recording {
            engine: engine.clone(),
            outlet: Arc::new(Outlet {
                clock,
                process: Process::this(),
                ticker,
                queue,
                memory: MemoryUse::new(division.lanes),
                refused: Refused::default(),
                when_full,
                sink: SinkWatch::default(),
                notices,
                unsampled: Mutex::default(),
                waits: WaitQuality::default(),
                runs: is_repeated.then(Runs::default),
                progress,
            }),
            #[cfg(feature = "component-model")]
            stores: crate::component::Stores::default(),
            sampler: Sampler::new(sampling.unwrap_or_default().period, choice != ClockChoice::Test),
            sampling,
            keeps,
            codes: Mutex::default(),
            lanes: Arc::default(),
            module: OnceLock::new(),
            writer: Mutex::new(None),
            ids: Mutex::default(),
            spare_memories: Mutex::default(),
            spare_lanes: Mutex::default(),
            refused_memory: Mutex::default(),
            give_up_after,
            choice,
            measure: Mutex::default(),
            answered: Mutex::default(),
            pace: Arc::new(Pace::new(is_repeated)),
            watched: (choice != ClockChoice::Test).then(Arc::default),
            began: (choice != ClockChoice::Test).then(ProcessTime::try_now).and_then(std::io::Result::ok),
        })
    }

    /// Its counts so far.
    pub(crate) fn stats(&self) -> Stats {
        if self.is_of_parent() {
            return Stats::default();
        }
        let Outlet { queue, progress, .. } = &*self.outlet;
        let [events, blocks] = queue.dropped();
        Stats {
            events: Progress::get(&progress.events),
            bytes: Progress::get(&progress.bytes),
            files: Progress::get(&progress.files),
            lost_events: events + Progress::get(&progress.lost_events) + self.outlet.refused.events(),
            lost_blocks: blocks + Progress::get(&progress.lost_blocks),
            failed_writes: Progress::get(&progress.failed_writes),
            waits: queue.stalls(),
            flush_nanos: self.outlet.clock.nanos(Progress::get(&progress.flush_ticks)),
            queued_bytes: queue.bytes(),
            memory_bytes: self.outlet.memory.used() + queue.bytes() + queue.spare().bytes(),
            refused_lanes: self.outlet.refused_lanes(),
            lanes: self.lanes.lock().unwrap_or_else(PoisonError::into_inner).open.len(),
        }
    }

    /// Whether the guests count their instructions, which are the clock then.
    pub(crate) fn counts_instructions(&self) -> bool {
        self.choice == ClockChoice::Instructions
    }

    /// Fails if instructions are the clock, which a recorder beside the module doesn't have.
    pub(crate) fn check_clock_beside(&self) -> Result<()> {
        if self.counts_instructions() { Err(ErrorKind::ClockInside.into()) } else { Ok(()) }
    }

    /// Fails if a guest has another clock than the recording.
    pub(crate) fn check_counts(&self, counts: bool) -> wasmtime::Result<()> {
        match (counts, self.counts_instructions()) {
            (true, false) => Err(wasmtime::Error::msg(
                "the guest counts its instructions: record it with `ClockChoice::Instructions`",
            )),
            (false, true) => Err(wasmtime::Error::msg(
                "the guest doesn't count its instructions: rewrite the original to count them",
            )),
            _ => Ok(()),
        }
    }

    fn cpu_nanos(&self) -> Option<u64> {
        let elapsed = self.began?.try_elapsed().ok()?;
        u64::try_from(elapsed.as_nanos()).ok()
    }

    /// The form of the recorder module that fits the clock.
    #[cfg(feature = "compiler")]
    pub(crate) fn form(&self) -> Form {
        if self.outlet.ticker.is_some() { Form::Ticker } else { Form::Precise }
    }

    pub(crate) fn module(&self) -> Result<Module> {
        #[cfg(feature = "compiler")]
        let compile = || Module::new(&self.engine, self.form().wasm()).map_err(|error| format!("{error:#}"));
        #[cfg(not(feature = "compiler"))]
        let compile = || Err("kperf-wasmtime was built without its feature `compiler`".to_owned());
        let compiled = self.module.get_or_init(compile);
        compiled.clone().map_err(|error| ErrorKind::Engine(error.into()).into())
    }

    /// Hands the writer's thread over.
    pub(crate) fn begin(&self, writer: JoinHandle<Written>) {
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.is_of_parent() || self.lanes.lock().unwrap_or_else(PoisonError::into_inner).finished
    }

    /// Fails if nothing more is recorded.
    pub(crate) fn check_open(&self) -> Result<()> {
        self.check_process()?;
        if self.is_finished() { Err(ErrorKind::Finished.into()) } else { Ok(()) }
    }

    /// Fails in a child made by `fork`.
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.is_of_parent() { Err(ErrorKind::Forked.into()) } else { Ok(()) }
    }

    /// Whether this is a child of the process that records. Its locks may be locked for ever.
    fn is_of_parent(&self) -> bool {
        self.outlet.process.is_parent()
    }

    /// Adds the functions of one more module.
    pub(crate) fn add_symbols(&self, table: Vec<u8>) -> Result<()> {
        self.check_process()?;
        let ids = ids_of(&table)?;
        let functions = ids.end - ids.start;
        add_ids(&mut self.ids.lock().unwrap_or_else(PoisonError::into_inner), ids)?;
        self.outlet.queue.send(Message::Symbols { table, functions });
        Ok(())
    }

    /// Adds a module's compiled code, for samples on native stacks.
    pub(crate) fn add_code(&self, module: &Module, table: &[u8]) -> Result<()> {
        self.check_process()?;
        let symbols = SymbolTable::from_bytes(table).map_err(ErrorKind::Symbols)?;
        profile::prepare(&self.outlet.clock).map_err(ErrorKind::NativeStacks)?;
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = Code::new(module, &symbols).filter(|new| !codes.iter().any(|code| code.is(new))) {
            codes.push(Arc::new(code));
        }
        Ok(())
    }

    /// The code of a module's forms, the last added first.
    pub(crate) fn codes_of(&self, id_base: u32) -> Vec<Arc<Code>> {
        let codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.iter().rev().filter(|code| code.id_base() == id_base).cloned().collect()
    }

    /// Ends the recording: closes open frames with a reason, and writes the last block of every lane.
    pub(crate) fn end(&self, reason: Reason, outcome: &str) -> Result<Summary> {
        self.check_process()?;
        // First, since everything after this takes time.
        let preempted = self.watched.as_ref().and_then(|watched| watched.total());
        // Held to the end: a second caller returns only after all is done.
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(thread) = writer.take() else { return Err(ErrorKind::Finished.into()) };
        // A guest that waits for room has its lane, which is to be closed.
        if let Some(time) = self.give_up_after {
            self.outlet.queue.begin_end(time);
        }
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        self.settle_refused(&mut lanes);
        lanes.finished = true;
        let open: Vec<Arc<LaneCore>> = lanes.open.values().cloned().collect();
        let recorders = lanes.next;
        drop(lanes);
        let profiled = self.sampler.stop();
        let end_ticks = self.outlet.clock.now();
        for profiled in profiled {
            profiled.close(reason, end_ticks);
        }
        for window in self.outlet.runs.iter().flat_map(Runs::rest) {
            self.outlet.queue.send_window(Box::new(window), true);
        }
        for core in open {
            core.close(reason, || end_ticks);
        }
        let report = self.outlet.ticker.as_ref().map(Ticker::stop).unwrap_or_default();
        for stall in report.stalls {
            self.outlet.queue.send(Message::Stall(stall));
        }
        // An interrupted program has no time for it.
        let probe_cost = if reason == Reason::Unfinished { self.probe_cost() } else { None };
        self.outlet.queue.send(Message::Finish(Box::new(Summary {
            outcome: outcome.into(),
            end_ticks,
            recorders,
            ticker_stalls: report.stalled,
            ticks: report.ticks,
            probe_cost,
            count_nanos: self.count_nanos(),
            cpu_nanos: self.cpu_nanos(),
            preempted,
            waits: self.outlet.waits.worst(),
            writer_stalls: self.outlet.queue.stalls(),
            ..Summary::default()
        })));
        let progress = &self.outlet.progress;
        let written = || Progress::get(&progress.bytes) + Progress::get(&progress.dumped);
        if let Some(time) = self.give_up_after
            && !self.outlet.queue.wait_closed(time, written)
        {
            self.outlet.queue.close();
            let [dropped_events, _] = self.outlet.queue.dropped();
            return Err(ErrorKind::SinkBlocks { time, dropped_events }.into());
        }
        match thread.join() {
            Ok((summary, None)) => Ok(summary),
            Ok((summary, Some(source))) => {
                Err(ErrorKind::Write { source, dropped_events: summary.dropped_events }.into())
            }
            Err(_) => Err(ErrorKind::WriterPanicked.into()),
        }
    }
}

impl Drop for Recording {
    /// Ends the recording after the last handle and lane are dropped. An error of the sink can't be reported any more.
    fn drop(&mut self) {
        if self.is_of_parent() {
            // Its threads are the parent's.
            std::mem::forget(self.writer.get_mut().unwrap_or_else(PoisonError::into_inner).take());
            std::mem::forget(self.outlet.clone());
            return;
        }
        *self.measure.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        let _ = self.end(Reason::Unfinished, "the recorder was dropped");
    }
}
