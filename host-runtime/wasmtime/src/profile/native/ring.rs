//! A ring of samples from the sampled thread to the sampler's thread.
#![allow(unsafe_code)] // What a signal's handler needs is shared with it, and no lock may be taken there.

use super::target::Target;
use super::thread;
use super::unwinding::{Registers, Unwinding};
use crate::clock::source::Clock;
use kperf_abi::shadow::Slot;
use std::cell::UnsafeCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The samples of one instance on one thread. A ring is never freed, as a signal may come late: after its instance has ended, the
/// next one reuses it.
pub(super) struct Ring {
    is_taken: AtomicBool,
    /// The thread with the handler that writes here; 0 for none.
    thread: AtomicI32,
    /// How many handlers are writing, or checking whether they may.
    handlers: AtomicUsize,
    /// What the handler needs. While the ring runs, only the handler of its thread uses it; otherwise only the thread that stopped it.
    task: UnsafeCell<Option<Task>>,
    /// For each sample: its time; how many calls were open, with the flag [`WHOLE`]; where in its code the innermost is; and
    /// these calls, the innermost first.
    cells: Box<[AtomicU64]>,
    /// How many cells were written so far, and how many were read.
    written: AtomicUsize,
    read: AtomicUsize,
    /// How many samples were lost for lack of room.
    lost: AtomicU64,
    /// Until when no sample is taken, in ticks.
    rests_until: AtomicU64,
}

// SAFETY: `task` is touched by one side at a time, see there; all else is atomic.
unsafe impl Sync for Ring {}
// SAFETY: nothing in it is bound to a thread.
unsafe impl Send for Ring {}

/// A sample that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) time: u64,
    /// Whether it found out which calls are open.
    pub(crate) whole: bool,
    /// Where in its code the innermost call is; 0 if none is open.
    pub(crate) address: usize,
}

/// What a handler needs.
pub(super) struct Task {
    pub(super) target: Target,
    pub(super) clock: Clock,
    pub(super) unwinding: Unwinding,
}

const WHOLE: u64 = 1 << 63;
/// The number of cells before the calls of a sample.
const HEAD: usize = 3;
/// More than there are calls on a stack of 1 MiB.
const CELLS: usize = 1 << 16;
/// The rest after a sample, as a multiple of the time that the sample took. A stack of many thousand calls
/// takes longer than a period to walk, and the guest must get on.
const REST: u64 = 8;
/// The longest rest. It is enough after a walk of 65,000 calls. A handler that took longer waited for a processor, and more rest
/// would gain nothing.
const LONGEST_REST: Duration = Duration::from_millis(50);
/// How many instances can be sampled at a time.
const RINGS: usize = 256;

static ALL: [OnceLock<Ring>; RINGS] = [const { OnceLock::new() }; RINGS];

impl Ring {
    fn new() -> Ring {
        Ring {
            is_taken: AtomicBool::new(false),
            thread: AtomicI32::new(0),
            handlers: AtomicUsize::new(0),
            task: UnsafeCell::new(None),
            cells: std::iter::repeat_with(AtomicU64::default).take(CELLS).collect(),
            written: AtomicUsize::new(0),
            read: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            rests_until: AtomicU64::new(0),
        }
    }

    /// A free ring and its number; `None` if all are taken.
    pub(super) fn take() -> Option<(&'static Ring, usize)> {
        let rings = ALL.iter().map(|ring| ring.get_or_init(Ring::new)).zip(0..);
        rings.into_iter().find(|(ring, _)| !ring.is_taken.swap(true, Ordering::Acquire))
    }

    pub(super) fn of_number(number: usize) -> Option<&'static Ring> {
        ALL.get(number)?.get()
    }

    /// From now on the handler of this thread writes here.
    pub(super) fn begin(&self, thread: libc::pid_t, task: Task) {
        // SAFETY: it has been stopped, or never begun.
        unsafe { *self.task.get() = Some(task) };
        self.thread.store(thread, Ordering::SeqCst);
    }

    /// From now on no handler writes here. The handler itself must not call this.
    pub(super) fn stop(&self) {
        self.thread.store(0, Ordering::SeqCst);
        while self.handlers.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
        // SAFETY: no handler runs, and a later one returns because `thread` is 0.
        unsafe { *self.task.get() = None };
    }

    /// Frees the ring for the next instance. It must have been stopped.
    pub(super) fn give_back(&self) {
        self.read.store(self.written.load(Ordering::Acquire), Ordering::Release);
        self.lost.store(0, Ordering::Relaxed);
        self.is_taken.store(false, Ordering::Release);
    }

    fn cell(&self, place: usize) -> &AtomicU64 {
        &self.cells[place % CELLS]
    }

    /// Writes a sample of the running thread, which was interrupted there. For a signal's handler: takes no lock and no memory.
    pub(super) fn sample(&self, registers: Registers) {
        self.handlers.fetch_add(1, Ordering::SeqCst);
        if self.thread.load(Ordering::SeqCst) == thread::id() {
            // SAFETY: who sets it waits for this handler, and others are of other threads.
            if let Some(Task { target, clock, unwinding }) = unsafe { &mut *self.task.get() } {
                let now = clock.now();
                if now >= self.rests_until.load(Ordering::Relaxed) {
                    self.write(now, |found| unwinding.walk(registers, target, found));
                    let end = clock.now();
                    let rest = (REST * end.saturating_sub(now)).min(clock.ticks(LONGEST_REST));
                    self.rests_until.store(end + rest, Ordering::Relaxed);
                }
            }
        }
        self.handlers.fetch_sub(1, Ordering::SeqCst);
    }

    /// `walk` reports the calls and answers whether these were all. Its callback can say that it wants no more.
    fn write(&self, time: u64, walk: impl FnOnce(&mut dyn FnMut(Slot, usize) -> bool) -> bool) {
        let begin = self.written.load(Ordering::Relaxed);
        let end = self.read.load(Ordering::Acquire) + CELLS;
        let first = begin + HEAD;
        let mut next = first;
        let mut has_room = next <= end;
        let mut innermost = 0;
        let whole = walk(&mut |slot, address| {
            has_room = next < end;
            if has_room {
                innermost = if next == first { address } else { innermost };
                self.cell(next).store(slot.0, Ordering::Relaxed);
                next += 1;
            }
            has_room
        });
        if !has_room {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let length = (next - first) as u64;
        self.cell(begin).store(time, Ordering::Relaxed);
        self.cell(begin + 1).store(length | if whole { WHOLE } else { 0 }, Ordering::Relaxed);
        self.cell(begin + 2).store(innermost as u64, Ordering::Relaxed);
        self.written.store(next, Ordering::Release);
    }

    /// Reads the next sample into `path`, the outermost call first.
    pub(super) fn next(&self, path: &mut Vec<Slot>) -> Option<Sample> {
        let begin = self.read.load(Ordering::Relaxed);
        if begin == self.written.load(Ordering::Acquire) {
            return None;
        }
        let [time, length, address] = [0, 1, 2].map(|n| self.cell(begin + n).load(Ordering::Relaxed));
        let end = begin + HEAD + (length & !WHOLE) as usize;
        path.clear();
        path.extend((begin + HEAD..end).rev().map(|place| Slot(self.cell(place).load(Ordering::Relaxed))));
        self.read.store(end, Ordering::Release);
        Some(Sample { time, whole: length & WHOLE != 0, address: address as usize })
    }

    /// How many samples were lost since the last call.
    pub(super) fn lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(ring: &Ring, time: u64, slots: &[u64]) {
        ring.write(time, |found| slots.iter().all(|&slot| found(Slot(slot), 7 * slot as usize)));
    }

    fn next(ring: &Ring, path: &mut Vec<Slot>) -> Option<(u64, bool)> {
        ring.next(path).map(|sample| (sample.time, sample.whole))
    }

    #[test]
    fn samples_come_out_as_they_went_in() {
        let ring = Ring::new();
        let mut path = Vec::new();
        assert_eq!(ring.next(&mut path), None);
        write(&ring, 5, &[9, 1]);
        assert_eq!(ring.next(&mut path), Some(Sample { time: 5, whole: true, address: 63 }));
        // Far enough to go round.
        for n in 0..CELLS as u64 {
            write(&ring, n, &[3, 2, 1]);
            write(&ring, n + 1, &[]);
            assert_eq!((next(&ring, &mut path), &*path), (Some((n, true)), &[Slot(1), Slot(2), Slot(3)][..]));
            assert_eq!((next(&ring, &mut path), &*path), (Some((n + 1, true)), &[][..]));
        }
        assert_eq!((next(&ring, &mut path), ring.lost()), (None, 0));
        ring.write(7, |_| false);
        assert_eq!(next(&ring, &mut path), Some((7, false)));
    }

    #[test]
    fn samples_that_have_no_room_are_counted() {
        let ring = Ring::new();
        let mut path = Vec::new();
        let long = vec![1; CELLS / 2 - HEAD];
        for time in 0..3 {
            write(&ring, time, &long);
        }
        write(&ring, 3, &[]);
        assert_eq!(ring.lost(), 2);
        assert_eq!([(); 3].map(|()| next(&ring, &mut path)), [Some((0, true)), Some((1, true)), None]);
        write(&ring, 4, &[1]);
        assert_eq!((next(&ring, &mut path), path.len(), ring.lost()), (Some((4, true)), 1, 0));
        write(&ring, 5, &vec![1; CELLS + 1]);
        assert_eq!((next(&ring, &mut path), ring.lost()), (None, 1));
    }

    #[test]
    fn one_that_is_given_back_is_empty() {
        let (ring, number) = Ring::take().expect("there are 256");
        write(ring, 1, &[1]);
        ring.stop();
        ring.give_back();
        assert!(Ring::of_number(number).is_some_and(|other| std::ptr::eq(ring, other)));
        assert!(Ring::of_number(RINGS).is_none());
        assert_eq!(next(ring, &mut Vec::new()), None);
    }
}
