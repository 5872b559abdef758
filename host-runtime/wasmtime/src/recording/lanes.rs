//! Opens and retires the lanes of a recording.

use super::Recording;
use crate::lanes::core::{LaneCore, LaneEvents, Room};
use crate::lanes::memory::{BYTES, LaneMemory};
use crate::outlet::memory_use::{Grant, MemoryUse};
use kperf_abi::block::CLOCK_OFF;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use wasmtime::SharedMemory;

/// How many memories of ended lanes are kept for new lanes.
const SPARE_MEMORIES: usize = 16;
/// The same for host functions, where a store may live for one request.
const SPARE_LANES: usize = 256;
/// The number of a lane that isn't in the trace.
const REFUSED: u32 = u32::MAX;

/// The lanes that are open, by number. A number is free again when its lane has ended, so a server with a store for each
/// request has as many as it serves at a time.
#[derive(Default)]
pub(crate) struct Lanes {
    pub(super) open: BTreeMap<u32, Arc<LaneCore>>,
    /// And when its previous lane ended, in ticks, if a new lane's times might be older.
    free: BTreeMap<u32, u64>,
    /// The first number that was never used.
    pub(super) next: u32,
    /// Whether a lane was ever opened.
    began: bool,
    pub(super) finished: bool,
}

impl Lanes {
    /// A number that no open lane has, and when its previous lane ended.
    fn take_number(&mut self) -> (u32, u64) {
        self.free.pop_first().unwrap_or_else(|| {
            self.next += 1;
            (self.next - 1, 0)
        })
    }

    /// Sends what each lane has recorded so far.
    pub(crate) fn take_words(lanes: &Mutex<Lanes>, room: Room) {
        let open: Vec<_> =
            lanes.lock().unwrap_or_else(PoisonError::into_inner).open.values().cloned().collect();
        open.iter().for_each(|core| core.take_words(room));
    }
}

impl Recording {
    /// Takes memory for a lane, if the limit allows it.
    pub(crate) fn grant(&self, bytes: usize) -> Option<Grant> {
        self.with_room(|memory| memory.grant(bytes))
    }

    /// Takes memory by `take`. If there is none, frees what is kept to be reused and takes it again. If there is still none, the lane
    /// is refused.
    fn with_room<R>(&self, take: impl Fn(&Arc<MemoryUse>) -> Option<R>) -> Option<R> {
        let memory = &self.outlet.memory;
        if let Some(taken) = take(memory) {
            return Some(taken);
        }
        if !self.is_of_parent() {
            drop(std::mem::take(&mut *self.spare_lanes.lock().unwrap_or_else(PoisonError::into_inner)));
            drop(std::mem::take(&mut *self.spare_memories.lock().unwrap_or_else(PoisonError::into_inner)));
        }
        let taken = take(memory);
        if taken.is_none() {
            self.outlet.note_refused();
        }
        taken
    }

    /// Opens a lane with a memory of its own, which takes `more` bytes elsewhere; `None` if the memory limit doesn't allow it.
    pub(crate) fn open_own_lane(&self, events: LaneEvents, more: usize) -> Option<Arc<LaneCore>> {
        let memory = self.with_room(|memory| {
            let own = LaneMemory::own(memory)?;
            own.grant.grow(more).then_some(own)
        })?;
        Some(self.open_lane(memory, events))
    }

    /// The memory of all recorder modules that were refused. What they write is not read.
    pub(crate) fn refused_memory<E>(
        &self,
        make: impl FnOnce() -> Result<SharedMemory, E>,
    ) -> Result<SharedMemory, E> {
        let mut memory = self.refused_memory.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(match &*memory {
            Some(memory) => memory.clone(),
            None => memory.insert(make()?).clone(),
        })
    }

    /// A lane that records nothing and isn't in the trace.
    pub(crate) fn refused_lane(&self, memory: SharedMemory) -> Arc<LaneCore> {
        let memory = LaneMemory::shared(memory, self.outlet.memory.nothing());
        Arc::new(LaneCore::new(self.outlet.clone(), REFUSED, memory, LaneEvents::AllCalls, true))
    }

    /// The events of refused stores become losses of a lane of their own.
    pub(super) fn settle_refused(&self, lanes: &mut Lanes) {
        let events = self.outlet.refused.take_events();
        if events > 0 {
            self.outlet.queue.lose(lanes.next, events);
            self.outlet.queue.count_dropped(events);
            lanes.next += 1;
        }
    }

    /// Opens a lane. After the recording is finished, it is closed from the start.
    pub(crate) fn open_lane(&self, memory: LaneMemory, events: LaneEvents) -> Arc<LaneCore> {
        self.open(|number, closed| {
            Arc::new(LaneCore::new(self.outlet.clone(), number, memory, events, closed))
        })
    }

    /// Opens a lane for host functions; `None` if the memory limit doesn't allow it.
    pub(crate) fn open_host_lane(&self) -> Option<Arc<LaneCore>> {
        let spare = match self.is_of_parent() {
            true => None,
            false => self.spare_lanes.lock().unwrap_or_else(PoisonError::into_inner).pop(),
        };
        if let Some(mut core) = spare
            && Arc::get_mut(&mut core).is_some()
        {
            return Some(self.open(|number, closed| {
                if let Some(unshared) = Arc::get_mut(&mut core) {
                    unshared.renew(number, closed);
                }
                core
            }));
        }
        match self.is_of_parent() {
            true => Some(self.open_lane(LaneMemory::unused(&self.outlet.memory), LaneEvents::AllCalls)),
            false => self.open_own_lane(LaneEvents::AllCalls, 0),
        }
    }

    /// Opens the lane that `make` makes of a number, and of whether it is closed from the start.
    fn open(&self, make: impl FnOnce(u32, bool) -> Arc<LaneCore>) -> Arc<LaneCore> {
        if self.is_of_parent() {
            return make(0, true);
        }
        if let Some(watched) = &self.watched {
            watched.watch();
        }
        self.outlet.note_granted();
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, begins) = lanes.take_number();
        if let Some(ticker) =
            self.outlet.ticker.as_ref().filter(|_| !std::mem::replace(&mut lanes.began, true))
        {
            // No event wanted the time before.
            ticker.forget();
        }
        let core = make(number, lanes.finished);
        core.begin_at(begins);
        lanes.open.insert(number, core.clone());
        drop(lanes);
        core.attend(u64::MAX);
        core
    }

    /// Removes a closed lane of host functions, and keeps it for reuse.
    pub(crate) fn retire_host_lane(&self, core: Arc<LaneCore>) {
        if self.is_of_parent() {
            return;
        }
        self.retire(&core);
        let mut spare = self.spare_lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < SPARE_LANES && !self.outlet.memory.is_half_used() {
            spare.push(core);
        }
    }

    /// Sets the clock of a recorder that is inside of a module, or switches the recorder off.
    pub(crate) fn set_clock(&self, core: &LaneCore, on: bool) {
        if self.is_of_parent() {
            return;
        }
        let Some(cell) = core.memory.clock() else { return };
        match &self.outlet.ticker {
            Some(ticker) if on => ticker.add(core.number, cell),
            Some(ticker) => {
                ticker.remove(core.number);
                cell.store(CLOCK_OFF);
            }
            None => cell.store(if on { 0 } else { CLOCK_OFF }),
        }
    }

    /// Removes a closed lane.
    pub(crate) fn retire(&self, core: &Arc<LaneCore>) {
        if self.is_of_parent() || core.number == REFUSED {
            return;
        }
        // Before the number is reused.
        let mut ended = 0;
        if let Some(ticker) = &self.outlet.ticker {
            ticker.remove(core.number);
            ended = self.outlet.clock.now();
        }
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if lanes.open.remove(&core.number).is_some() {
            lanes.free.insert(core.number, ended);
        }
        drop(lanes);
        // An instance's memory can't be reused.
        if let Some(memory) = core.memory.import().filter(|_| !core.memory.is_marked())
            && !self.outlet.memory.is_half_used()
            && let Some(grant) = self.outlet.memory.grant(BYTES)
        {
            let mut spare = self.spare_memories.lock().unwrap_or_else(PoisonError::into_inner);
            if spare.len() < SPARE_MEMORIES {
                spare.push((memory.clone(), grant));
            }
        }
    }
}
