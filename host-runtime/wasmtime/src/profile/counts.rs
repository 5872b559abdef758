//! What an instance counts: its calls, in the memory that its recorder is given.
#![allow(unsafe_code)] // A SharedMemory has no other access than by pointer.

use kperf_abi::FuncId;
use kperf_abi::shadow::COUNTS;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use wasmtime::SharedMemory;

/// The memory of a recorder of profiles. `kperf_abi::shadow` says what lies where.
#[derive(Clone)]
pub(crate) struct Counts {
    memory: SharedMemory,
    id_base: u32,
    functions: u32,
}

impl Counts {
    /// Of an instance whose functions' ids begin with `id_base`. `None` if the memory is too small for so many.
    pub(crate) fn of_instance(memory: SharedMemory, id_base: u32, functions: u32) -> Option<Counts> {
        let length = COUNTS as u64 + 8 * u64::from(functions);
        (memory.data().len() as u64 >= length).then_some(Counts { memory, id_base, functions })
    }

    /// Whether it is this very memory.
    pub(crate) fn is(&self, memory: &SharedMemory) -> bool {
        std::ptr::eq(self.memory.data().as_ptr(), memory.data().as_ptr())
    }

    /// The whole memory.
    pub(crate) fn cells(&self) -> &[AtomicU64] {
        let data = self.memory.data();
        let cells = NonNull::from(data).cast::<AtomicU64>();
        // SAFETY: `memory` holds that many bytes at this place for as long as it lives (a SharedMemory never moves, and
        // begins at a page). Whoever writes them at the same time is an AtomicU64 too or compiled WebAssembly, whose
        // aligned accesses of eight bytes to shared memory are not torn where this crate's processors have 64 bits.
        unsafe { std::slice::from_raw_parts(cells.as_ptr(), data.len() / 8) }
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
