//! Shadow stacks: the guest writes its open calls, the sampler reads them.
//!
//! * The guest doesn't stop for a sample: it enters and leaves calls all the time. A reading is correct because it reads the
//!   innermost calls at one moment: the second load of a slot, from a cache line that this processor has just fetched, comes
//!   before the guest's next write to the line. That moment is the time of the sample. The outer calls are read before it and
//!   again after it. If they haven't changed, they were the same at that moment too.
//! * A failed reading does no harm by itself. But if readings fail where the stack is busy and succeed where it is quiet, samples
//!   show quiet code too often. So the sampler reads two lines at that moment, around the top of the last reading: then a loop
//!   whose calls cross the border of two lines is seen as often as any other. And it touches no other line just before, since a
//!   guest that lost a line stops at its next write to it, and then continues with all waiting writes at once.

use super::counts::{Counts, load};
use kperf_abi::shadow::{COUNTS, LAST, SLOTS, STACK, Slot};
use std::sync::atomic::{AtomicU64, Ordering};

/// It lies before the counts.
pub(crate) struct Shadow(Counts);

/// Slots in a cache line.
const LINE: usize = 8;
/// Some microsecond, in turns of a loop.
const PAUSE: usize = 32;
/// How often a path is read that changes meanwhile.
const TRIES: usize = 8;

const _: () = assert!(STACK.is_multiple_of(8 * LINE) && (SLOTS + 1).is_multiple_of(LINE));

impl Shadow {
    pub(crate) fn of_instance(counts: Counts) -> Shadow {
        Shadow(counts)
    }

    /// The slots of the stack, and the one after them, which is always 0.
    fn slots(&self) -> &[AtomicU64] {
        self.0.cells().get(STACK / 8..COUNTS / 8).unwrap_or_default()
    }

    /// How many calls are open below the slot with this address.
    pub(crate) fn depth(top: u32) -> usize {
        (top as usize).clamp(STACK, LAST).saturating_sub(STACK) / 8
    }

    /// Frees the slots from this address on.
    pub(crate) fn clear_from(&self, top: u32) {
        for slot in self.slots().iter().skip(Shadow::depth(top)) {
            if is_free(load(slot)) {
                break;
            }
            slot.store(0, Ordering::Relaxed);
        }
    }

    /// How many calls are open. Only valid while the guest doesn't run.
    #[cfg(feature = "component-model")]
    pub(crate) fn open(&self) -> usize {
        self.slots().iter().position(|slot| is_free(load(slot))).unwrap_or(SLOTS)
    }

    /// Whether a call is open in the slot with this address.
    pub(crate) fn is_open(&self, top: u32) -> bool {
        self.slots().get(Shadow::depth(top)).is_some_and(|slot| !is_free(load(slot)))
    }

    /// Reads the open calls into `path`, outermost first. Returns whether it succeeded: it fails if the stack changes during every
    /// try. `path` holds the calls of the last reading; the search begins at their depth.
    pub(crate) fn look(&self, path: &mut Vec<Slot>) -> bool {
        let mut depth = path.len();
        for _ in 0..TRIES {
            if self.look_near(depth, path) {
                return true;
            }
            depth = self.slots().iter().position(|slot| is_free(load(slot))).unwrap_or(SLOTS);
            // The guest must fetch the lines that it writes next, and then continues with all waiting writes at once.
            (0..PAUSE).for_each(|_| std::hint::spin_loop());
        }
        false
    }

    /// Succeeds if the innermost call is near this depth.
    fn look_near(&self, depth: usize, path: &mut Vec<Slot>) -> bool {
        let (lines, _) = self.slots().as_chunks::<LINE>();
        // The middle of the two lines is as near as possible.
        let first = ((depth + LINE / 2) / LINE).saturating_sub(1).min(lines.len() - 2);
        let (below, rest) = lines.split_at(first);
        let [line, next, ..] = rest else { return false };
        path.clear();
        path.extend(below.as_flattened().iter().map(|slot| Slot(load(slot))));
        let see = || [line.each_ref().map(load), next.each_ref().map(load)];
        let seen = see();
        if seen != see() {
            return false;
        }
        let seen = seen.as_flattened();
        let Some(free) = seen.iter().position(|&slot| is_free(slot)) else { return false };
        if free == 0 && first > 0 {
            return false;
        }
        // Unwound slots are cleared from below: the calls above a free slot are gone.
        let same = |(slot, seen): (&AtomicU64, &Slot)| load(slot) == seen.0 && !is_free(seen.0);
        let same = below.as_flattened().iter().zip(&*path).all(same);
        path.extend(seen.iter().take(free).map(|&slot| Slot(slot)));
        same
    }
}

fn is_free(slot: u64) -> bool {
    Slot(slot).func().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmtime::{Config, Engine, MemoryType, SharedMemory};

    #[test]
    fn a_stack_with_a_hole_is_seen_up_to_the_hole() {
        let mut config = Config::new();
        config.wasm_threads(true).shared_memory(true);
        let engine = Engine::new(&config).expect("an engine");
        let memory = SharedMemory::new(&engine, MemoryType::shared(17, 17)).expect("a memory");
        let shadow = Shadow::of_instance(Counts::of_instance(memory, 0, 1).expect("room for it"));
        let calls: Vec<Slot> = (1..41).map(Slot).collect();
        for (slot, call) in shadow.slots().iter().zip(&calls) {
            slot.store(call.0.to_le(), Ordering::Relaxed);
        }
        let mut path = Vec::new();
        assert!(shadow.look(&mut path));
        assert_eq!(path, calls);
        // The guest has caught something, and is about to clear what was above.
        shadow.slots()[4].store(0, Ordering::Relaxed);
        assert!(shadow.look(&mut path));
        assert_eq!(path, calls[..4]);
    }
}
