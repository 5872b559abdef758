//! The counts of an instance's calls, in its recorder's memory.
#![allow(unsafe_code)] // A SharedMemory has no other access than by pointer.

use kperf_abi::FuncId;
use kperf_abi::shadow::COUNTS;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use wasmtime::SharedMemory;

/// The memory of a recorder of profiles. `kperf_abi::shadow` defines its layout.
#[derive(Clone)]
pub(crate) struct Counts {
    cells: NonNull<AtomicU64>,
    /// In cells.
    length: usize,
    /// What keeps them there; `None` for a memory that its store keeps.
    _memory: Option<SharedMemory>,
    id_base: u32,
    functions: u32,
}

// SAFETY: the cells are atomics, in memory that stays in place: a SharedMemory is Send and Sync, and for a component the caller of
// `of_store` has seen to it.
unsafe impl Send for Counts {}
// SAFETY: as above.
unsafe impl Sync for Counts {}

impl Counts {
    /// The counts of an instance with function ids from `id_base` on. `None` if the memory is too small for
    /// them.
    pub(crate) fn of_instance(memory: SharedMemory, id_base: u32, functions: u32) -> Option<Counts> {
        let (cells, bytes) = (NonNull::from(memory.data()).cast(), memory.data().len());
        Counts { cells, length: bytes / 8, _memory: Some(memory), id_base, functions }.whole()
    }

    /// The same for a memory of `bytes` bytes that isn't shared.
    ///
    /// # Safety
    ///
    /// The memory must stay at `address`, the start of a page, as long as this is used. Until then only the
    /// recorder and we write to it.
    pub(crate) unsafe fn of_store(
        address: NonNull<u8>,
        bytes: usize,
        id_base: u32,
        functions: u32,
    ) -> Option<Counts> {
        Counts { cells: address.cast(), length: bytes / 8, _memory: None, id_base, functions }.whole()
    }

    fn whole(self) -> Option<Counts> {
        let needed = COUNTS as u64 / 8 + u64::from(self.functions);
        (self.length as u64 >= needed).then_some(self)
    }

    /// Whether it is the memory at this address.
    pub(crate) fn is_at(&self, address: usize) -> bool {
        self.cells.addr().get() == address
    }

    /// The whole memory.
    pub(crate) fn cells(&self) -> &[AtomicU64] {
        // SAFETY: `length` cells are at this address for as long as this lives (a SharedMemory never moves,
        // and begins at a page; others are as `of_store` requires). Concurrent writers use an
        // AtomicU64 too, or are compiled WebAssembly, which doesn't tear aligned accesses of eight bytes on
        // 64-bit processors.
        unsafe { std::slice::from_raw_parts(self.cells.as_ptr(), self.length) }
    }

    fn counts(&self) -> &[AtomicU64] {
        let counts = self.cells().get(COUNTS / 8..).unwrap_or_default();
        counts.get(..self.functions as usize).unwrap_or_default()
    }

    /// How often each function was called so far, in the order of their ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FuncId, u64)> + '_ {
        (self.id_base..).map(FuncId).zip(self.counts().iter().map(load))
    }

    /// How often a function was called so far. Takes no lock and no memory.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn of(&self, func: FuncId) -> Option<u64> {
        let place = func.0.checked_sub(self.id_base)?;
        self.counts().get(place as usize).map(load)
    }
}

/// In the order of the program, which a sampler goes by.
#[inline]
pub(crate) fn load(cell: &AtomicU64) -> u64 {
    u64::from_le(cell.load(Ordering::Acquire))
}
