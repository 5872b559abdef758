//! The time that a ticker writes and recorders load.
#![allow(unsafe_code)] // A SharedMemory has no other access than by pointer.

use kperf_abi::block::{CLOCK, CLOCK_OFF, LIMIT};
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use wasmtime::{Engine, MemoryType, SharedMemory};

/// The time that a ticker renews, at the front of a memory that recorder modules can import.
pub(crate) struct TickerCell {
    front: NonNull<Front>,
    owner: Owner,
}

/// The front of a lane's memory.
#[repr(C)]
pub(crate) struct Front {
    time: AtomicU64,
    /// 0 makes the next event load the time. A module's recorder sets it after it did.
    limit: AtomicU32,
}

const _: () = assert!(offset_of!(Front, time) == CLOCK && offset_of!(Front, limit) == LIMIT);

enum Owner {
    Shared(SharedMemory),
    /// Alone in its cache line, so that writing it slows down nothing else.
    Own {
        _line: OwnLine,
    },
    /// A lane's memory. The ticker gives the cell back before the lane is retired.
    Component,
}

/// A line that is freed when this is dropped. It is no `Box`: that would be the only way to it.
struct OwnLine(NonNull<Line>);

impl Drop for OwnLine {
    fn drop(&mut self) {
        // SAFETY: it was leaked in `TickerCell::new`, and no reference to it is left.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

#[repr(C, align(128))]
struct Line(Front);

// SAFETY: the front has only atomics in memory that `owner` keeps alive and in place; both owners are Send and Sync.
unsafe impl Send for TickerCell {}
// SAFETY: as above.
unsafe impl Sync for TickerCell {}

impl TickerCell {
    /// In shared memory if the engine has it, otherwise only for host functions.
    pub(crate) fn new(engine: &Engine) -> TickerCell {
        match SharedMemory::new(engine, MemoryType::shared(1, 1)) {
            Ok(memory) => {
                TickerCell { front: NonNull::from(memory.data()).cast(), owner: Owner::Shared(memory) }
            }
            Err(_) => {
                let front = Front { time: AtomicU64::new(0), limit: AtomicU32::new(0) };
                let line = NonNull::from(Box::leak(Box::new(Line(front))));
                TickerCell { front: line.cast(), owner: Owner::Own { _line: OwnLine(line) } }
            }
        }
    }

    /// The clock at the front of a lane's memory.
    pub(crate) fn of_lane(memory: &SharedMemory) -> TickerCell {
        let data = memory.data();
        assert!(data.len() >= size_of::<Front>());
        TickerCell { front: NonNull::from(data).cast(), owner: Owner::Shared(memory.clone()) }
    }

    /// The clock at the front of a lane's memory in a component.
    ///
    /// # Safety
    ///
    /// It stays there as long as the cell is used.
    pub(crate) unsafe fn of_component(front: NonNull<Front>) -> TickerCell {
        TickerCell { front, owner: Owner::Component }
    }

    /// The memory for the recorder module's import.
    pub(crate) fn import(&self) -> Option<&SharedMemory> {
        match &self.owner {
            Owner::Shared(memory) => Some(memory),
            Owner::Own { .. } | Owner::Component => None,
        }
    }

    /// Whether events that find 0 can ask the host. A component's sometimes can't.
    pub(crate) fn can_ask(&self) -> bool {
        !matches!(self.owner, Owner::Component)
    }

    #[inline]
    fn front(&self) -> &Front {
        // SAFETY: `owner` holds it there; a memory begins at a page and has one page at least.
        unsafe { self.front.as_ref() }
    }

    /// Makes the next event load the time, which has just been written.
    #[inline]
    fn show(&self) {
        self.front().limit.store(0, Ordering::Release);
    }

    /// The time, in ticks.
    #[inline]
    pub(crate) fn load(&self) -> u64 {
        u64::from_le(self.front().time.load(Ordering::Relaxed))
    }

    /// If the time is more than `patience` ticks old, writes 0 instead, so that events ask the host. Returns whether it did.
    pub(crate) fn doubt(&self, now: u64, patience: u64) -> bool {
        let seen = self.load();
        let is_old = seen != 0 && seen != CLOCK_OFF && now.saturating_sub(seen) > patience;
        // If it was renewed meanwhile, there is nothing to doubt.
        let time = &self.front().time;
        let doubts =
            is_old && time.compare_exchange(seen.to_le(), 0, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if doubts {
            self.show();
        }
        doubts
    }

    /// Renews the time.
    #[inline]
    pub(crate) fn store(&self, ticks: u64) {
        self.front().time.store(ticks.to_le(), Ordering::Relaxed);
        self.show();
    }
}
