//! The counts of an instance's calls.
#![allow(unsafe_code)] // A SharedMemory has no other access than by pointer.

use kperf_abi::FuncId;
use kperf_abi::shadow::COUNTS;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use wasmtime::SharedMemory;

/// The memory of a recorder of profiles, or the globals that have its counts. `kperf_abi::shadow` defines both.
#[derive(Clone)]
pub(crate) struct Counts {
    cells: NonNull<AtomicU64>,
    /// In cells.
    length: usize,
    /// The cell of the first count, and how many cells it is to the next.
    first: usize,
    step: usize,
    /// What keeps them there; `None` if their store does.
    _memory: Option<SharedMemory>,
    id_base: u32,
    functions: u32,
}

/// How many cells a count in a memory takes.
const DENSE: usize = 1;

// SAFETY: the cells are atomics, in memory that stays in place: a SharedMemory is Send and Sync, and for others the caller of
// `of_component` or `of_globals` has seen to it.
unsafe impl Send for Counts {}
// SAFETY: as above.
unsafe impl Sync for Counts {}

impl Counts {
    /// The counts of an instance with function ids from `id_base` on. `None` if the memory is too small for
    /// them.
    pub(crate) fn of_instance(memory: SharedMemory, id_base: u32, functions: u32) -> Option<Counts> {
        let (cells, bytes) = (NonNull::from(memory.data()).cast(), memory.data().len());
        let (first, length) = (COUNTS / 8, bytes / 8);
        Counts { cells, length, first, step: DENSE, _memory: Some(memory), id_base, functions }.whole()
    }

    /// The same for a memory of `bytes` bytes that isn't shared.
    ///
    /// # Safety
    ///
    /// The memory must stay at `address`, the start of a page, as long as this is used. Until then only the
    /// recorder and we write to it.
    pub(crate) unsafe fn of_component(
        address: NonNull<u8>,
        bytes: usize,
        id_base: u32,
        functions: u32,
    ) -> Option<Counts> {
        let (first, length) = (COUNTS / 8, bytes / 8);
        let cells = address.cast();
        Counts { cells, length, first, step: DENSE, _memory: None, id_base, functions }.whole()
    }

    /// Counts in globals: the first is at `first`, and so many bytes are between one and the next.
    ///
    /// # Safety
    ///
    /// The globals must stay there as long as this is used.
    pub(crate) unsafe fn of_globals(
        first: NonNull<AtomicU64>,
        step: usize,
        id_base: u32,
        functions: u32,
    ) -> Counts {
        let length = (functions as usize * step).saturating_sub(step - 1);
        Counts { cells: first, length, first: 0, step, _memory: None, id_base, functions }
    }

    fn whole(self) -> Option<Counts> {
        let needed = self.first as u64 + u64::from(self.functions);
        (self.length as u64 >= needed).then_some(self)
    }

    /// Whether it is the memory at this address.
    pub(crate) fn is_at(&self, address: usize) -> bool {
        self.cells.addr().get() == address
    }

    /// The whole memory, or all from the first count to the last.
    pub(crate) fn cells(&self) -> &[AtomicU64] {
        // SAFETY: `length` cells are at this address for as long as this lives (a SharedMemory never moves,
        // and begins at a page; a component's is as `of_component` requires). Concurrent writers use an
        // AtomicU64 too, or are compiled WebAssembly, which doesn't tear aligned accesses of eight bytes on
        // 64-bit processors.
        unsafe { std::slice::from_raw_parts(self.cells.as_ptr(), self.length) }
    }

    fn counts(&self) -> impl Iterator<Item = &AtomicU64> {
        let counts = self.cells().get(self.first..).unwrap_or_default();
        counts.iter().step_by(self.step).take(self.functions as usize)
    }

    /// How often each function was called so far, in the order of their ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FuncId, u64)> + '_ {
        (self.id_base..).map(FuncId).zip(self.counts().map(load))
    }

    /// How often a function was called so far. Takes no lock and no memory.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn of(&self, func: FuncId) -> Option<u64> {
        let place = func.0.checked_sub(self.id_base)?;
        (place < self.functions)
            .then(|| self.cells().get(self.first + place as usize * self.step).map(load))?
    }
}

/// In the order of the program, which a sampler goes by.
#[inline]
pub(crate) fn load(cell: &AtomicU64) -> u64 {
    u64::from_le(cell.load(Ordering::Acquire))
}
