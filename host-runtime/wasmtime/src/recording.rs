//! What all lanes of a recording share.

use crate::clock::Clock;
use crate::core::LaneCore;
use crate::error::{ErrorKind, Result};
use crate::memory::LaneMemory;
use crate::memory::TickerCell;
use crate::profile::{self, Code, Sampler};
use crate::queue::{Message, Queue};
use crate::sampling::Sampling;
use crate::ticker::Ticker;
use crate::writer::Written;
use kperf_abi::SymbolTable;
use kperf_abi::block::CLOCK_OFF;
use kperf_abi::recorder::Form;
use kperf_abi::word::Reason;
use kperf_trace::Summary;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use wasmtime::{Engine, Module, SharedMemory};

/// How many memories of lanes that have ended are kept for new ones.
const SPARE_MEMORIES: usize = 16;

pub(crate) struct Recording {
    pub(crate) engine: Engine,
    pub(crate) clock: Clock,
    /// `None` in a precise recording.
    pub(crate) ticker: Option<Ticker>,
    /// Looks at the guests that make a profile.
    pub(crate) sampler: Sampler,
    /// `None` if nothing was said.
    pub(crate) sampling: Option<Sampling>,
    /// That of the modules whose threads are asked.
    pub(crate) codes: Mutex<Vec<Arc<Code>>>,
    pub(crate) queue: Queue,
    pub(crate) lanes: Mutex<Lanes>,
    /// The recorder module, compiled when it is first linked: an embedder with host functions needs none.
    pub(crate) module: OnceLock<Result<Module, String>>,
    /// Taken by whoever ends the recording; held until it has ended.
    pub(crate) writer: Mutex<Option<JoinHandle<Written>>>,
    /// The ids that have a meaning.
    pub(crate) ids: Mutex<Vec<Range<u32>>>,
    pub(crate) spare_memories: Mutex<Vec<SharedMemory>>,
}

/// The lanes that are open, by number. A number is free again when its lane has ended, so a server with a store for each
/// request has as many as it serves at a time.
#[derive(Default)]
pub(crate) struct Lanes {
    open: BTreeMap<u32, Arc<LaneCore>>,
    free: BTreeSet<u32>,
    /// Numbers from here on were never used.
    next: u32,
    finished: bool,
}

impl Recording {
    /// The form of the recorder module that fits the clock.
    pub(crate) fn form(&self) -> Form {
        if self.ticker.is_some() { Form::Ticker } else { Form::Precise }
    }

    pub(crate) fn module(&self) -> Result<Module> {
        let compiled = self.module.get_or_init(|| {
            Module::new(&self.engine, self.form().wasm()).map_err(|error| format!("{error:#}"))
        });
        compiled.clone().map_err(|error| ErrorKind::Engine(error.into()).into())
    }

    /// Hands the writer's thread over; what was tried before (the calibration) is forgotten.
    pub(crate) fn begin(&self, writer: JoinHandle<Written>) {
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        *self.lanes.lock().unwrap_or_else(PoisonError::into_inner) = Lanes::default();
        if let Some(ticker) = &self.ticker {
            ticker.forget_stalls();
        }
    }

    /// Opens a lane, whose blocks may tell only slow calls that samples saw. In a recording that is finished it is closed
    /// from the start.
    pub(crate) fn open_lane(self: &Arc<Self>, memory: LaneMemory, spans: bool) -> Arc<LaneCore> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let number = lanes.free.pop_first().unwrap_or_else(|| {
            lanes.next += 1;
            lanes.next - 1
        });
        let core = Arc::new(LaneCore::new(self.clone(), number, memory, spans, lanes.finished));
        lanes.open.insert(number, core.clone());
        core
    }

    /// Sets the clock of a recorder that is inside of a module, or switches the recorder off.
    pub(crate) fn set_clock(&self, core: &LaneCore, on: bool) {
        let Some(memory) = core.memory.import() else { return };
        let cell = TickerCell::of_lane(memory);
        match &self.ticker {
            Some(ticker) if on => ticker.add(core.number, cell),
            Some(ticker) => {
                ticker.remove(core.number);
                cell.store(CLOCK_OFF);
            }
            None => cell.store(if on { 0 } else { CLOCK_OFF }),
        }
    }

    /// Forgets a lane that is closed.
    pub(crate) fn retire(&self, core: &Arc<LaneCore>) {
        // Before the number is another's.
        if let Some(ticker) = &self.ticker {
            ticker.remove(core.number);
        }
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if lanes.open.remove(&core.number).is_some() {
            lanes.free.insert(core.number);
        }
        drop(lanes);
        // An instance's own memory serves no other recorder.
        if let Some(memory) = core.memory.import().filter(|_| !core.memory.is_marked()) {
            let mut spare = self.spare_memories.lock().unwrap_or_else(PoisonError::into_inner);
            if spare.len() < SPARE_MEMORIES {
                spare.push(memory.clone());
            }
        }
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).finished
    }

    /// Adds the functions of one more module.
    pub(crate) fn add_symbols(&self, table: Vec<u8>) -> Result<()> {
        let ids = ids_of(&table)?;
        add_ids(&mut self.ids.lock().unwrap_or_else(PoisonError::into_inner), ids)?;
        self.queue.send(Message::Symbols(table));
        Ok(())
    }

    /// Tells where a module's functions are.
    pub(crate) fn add_code(&self, module: &Module, table: &[u8]) -> Result<()> {
        let symbols = SymbolTable::from_bytes(table).map_err(ErrorKind::Symbols)?;
        profile::prepare().map_err(ErrorKind::NativeStacks)?;
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = Code::new(module, &symbols).filter(|new| !codes.iter().any(|code| code.is(new))) {
            codes.push(Arc::new(code));
        }
        Ok(())
    }

    pub(crate) fn code_of(&self, id_base: u32) -> Option<Arc<Code>> {
        let codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.iter().rev().find(|code| code.id_base() == id_base).cloned()
    }

    /// Ends the recording: every lane's rest is written, with what is open closed for a reason.
    pub(crate) fn end(&self, reason: Reason, outcome: &str) -> Result<Summary> {
        // Held to the end: who comes second learns that all is done only when it is.
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(thread) = writer.take() else { return Err(ErrorKind::Finished.into()) };
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.finished = true;
        let open: Vec<Arc<LaneCore>> = lanes.open.values().cloned().collect();
        let recorders = lanes.next;
        drop(lanes);
        let profiled = self.sampler.stop();
        let end_ticks = self.clock.now();
        for profiled in profiled {
            profiled.close(reason, end_ticks);
        }
        for core in open {
            core.close(reason, || end_ticks);
        }
        let stalls = self.ticker.as_ref().map(Ticker::stop).unwrap_or_default();
        for stall in stalls.first {
            self.queue.send(Message::Stall(stall));
        }
        let ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let probes = ids.iter().map(|ids| ids.end - ids.start).sum();
        drop(ids);
        self.queue.send(Message::Finish(Box::new(Summary {
            outcome: outcome.into(),
            end_ticks,
            recorders,
            probes,
            ticker_stalls: stalls.total,
            writer_stalls: self.queue.stalls(),
            dropped_events: self.queue.refused_events(),
            ..Summary::default()
        })));
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
    /// The last handle and the last lane are gone. An error of the sink has nobody left to be told to.
    fn drop(&mut self) {
        let _ = self.end(Reason::Unfinished, "the recorder was dropped");
    }
}

/// The ids of a symbol table.
pub(crate) fn ids_of(table: &[u8]) -> Result<Range<u32>> {
    let table = SymbolTable::from_bytes(table).map_err(ErrorKind::Symbols)?;
    Ok(table.id_base..table.id_end())
}

/// Claims ids that nobody else has.
pub(crate) fn add_ids(all: &mut Vec<Range<u32>>, ids: Range<u32>) -> Result<()> {
    if let Some(first) = all.iter().find(|other| other.start < ids.end && ids.start < other.end) {
        return Err(ErrorKind::OverlappingIds { first: first.clone(), second: ids }.into());
    }
    all.push(ids);
    Ok(())
}
