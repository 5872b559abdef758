//! The memory of a recorder of profiles: what the guest writes and the sampler reads. `kperf_abi::shadow` says what lies
//! where.
//!
//! The guest enters and leaves some calls in each nanosecond in which it is looked at, and goes on meanwhile. What makes a
//! look right is that the last line of the stack is read at once: eight loads from a line that this processor has just got
//! take less time than the guest's next write to it. That moment is the sample's. The lines below it are then read again:
//! if they haven't changed, they were so at that moment too.
#![allow(unsafe_code)] // A SharedMemory has no other access than by pointer.

use kperf_abi::shadow::{COUNTS, LAST, SLOTS, STACK, Slot};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use wasmtime::SharedMemory;

pub(crate) struct Shadow {
    memory: SharedMemory,
    /// How many functions have counts.
    functions: u32,
}

/// Slots in a cache line.
const LINE: usize = 8;
/// How often a path is read that changes meanwhile.
const TRIES: usize = 8;

const _: () = assert!(STACK.is_multiple_of(8 * LINE) && (SLOTS + 1).is_multiple_of(LINE));

impl Shadow {
    /// The memory of an instance. `None` if it is too small.
    pub(crate) fn of_instance(memory: SharedMemory, functions: u32) -> Option<Shadow> {
        let length = COUNTS as u64 + 8 * u64::from(functions);
        (memory.data().len() as u64 >= length).then_some(Shadow { memory, functions })
    }

    /// Whether it is this very memory.
    pub(crate) fn is(&self, memory: &SharedMemory) -> bool {
        std::ptr::eq(self.memory.data().as_ptr(), memory.data().as_ptr())
    }

    fn cells(&self) -> &[AtomicU64] {
        let data = self.memory.data();
        let cells = NonNull::from(data).cast::<AtomicU64>();
        // SAFETY: `memory` holds that many bytes at this place for as long as it lives (a SharedMemory never moves, and
        // begins at a page). Whoever writes them at the same time is an AtomicU64 too or compiled WebAssembly, whose
        // aligned accesses of eight bytes to shared memory are not torn where this crate's processors have 64 bits.
        unsafe { std::slice::from_raw_parts(cells.as_ptr(), data.len() / 8) }
    }

    /// The slots of the stack, and the one behind them that is always 0.
    fn slots(&self) -> &[AtomicU64] {
        self.cells().get(STACK / 8..COUNTS / 8).unwrap_or_default()
    }

    /// How often each function was called so far, in the order of their ids.
    pub(crate) fn counts(&self) -> impl Iterator<Item = u64> + '_ {
        let counts = self.cells().get(COUNTS / 8..).unwrap_or_default();
        counts.iter().take(self.functions as usize).map(load)
    }

    /// How many calls are open below the slot with this address.
    pub(crate) fn depth(top: u32) -> usize {
        (top as usize).clamp(STACK, LAST).saturating_sub(STACK) / 8
    }

    /// Declares the slots free from this address on.
    pub(crate) fn clear_from(&self, top: u32) {
        for slot in self.slots().iter().skip(Shadow::depth(top)) {
            if load(slot) == 0 {
                break;
            }
            slot.store(0, Ordering::Relaxed);
        }
    }

    /// Finds out which calls are open, the outermost first. Answers whether it did: the stack may change as often as it is
    /// looked at.
    pub(crate) fn look(&self, path: &mut Vec<Slot>) -> bool {
        (0..TRIES).any(|_| self.look_once(path))
    }

    fn look_once(&self, path: &mut Vec<Slot>) -> bool {
        path.clear();
        let (lines, _) = self.slots().as_chunks::<LINE>();
        for line in lines {
            let slots = line.each_ref().map(load);
            let Some(free) = slots.iter().position(|&slot| slot == 0) else {
                path.extend(slots.map(Slot));
                continue;
            };
            let below = path.len();
            path.extend(slots.iter().take(free).map(|&slot| Slot(slot)));
            // Did the line stay with us?
            let again = line.each_ref().map(load);
            let before = self.slots().iter().zip(path.iter().take(below));
            return slots == again && before.into_iter().all(|(slot, seen)| load(slot) == seen.0);
        }
        // Not even the last slot was free.
        false
    }
}

/// In the order of the program, which the sampler goes by.
#[inline]
fn load(slot: &AtomicU64) -> u64 {
    u64::from_le(slot.load(Ordering::Acquire))
}
