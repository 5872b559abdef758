//! A ring of samples from the sampled thread to the sampler's thread.
#![allow(unsafe_code)] // What a signal's handler needs is shared with it, and no lock may be taken there.

use super::pace::{self, Pace};
use super::registers::Registers;
use super::sample::Sample;
use super::thread;
use crate::clock::perf;
use crate::clock::source::Clock;
use crate::profile::spent::Spent;
use kperf_abi::shadow::Slot;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

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
    /// The file of the event that interrupts the thread; -1 for none.
    event: AtomicI32,
    /// How often the event is due on average, in nanoseconds.
    due: AtomicU64,
    /// Draws how often it is due next.
    random: AtomicU64,
    /// For each sample: its time; how many calls were open, with the flag [`WHOLE`]; where in its code the innermost is; how long
    /// the thread was on a processor, how long of it for samples, how long it waited for one, and how often for something else; and
    /// these calls, the innermost first.
    cells: Box<[AtomicU64]>,
    /// How many cells were written so far, and how many were read.
    written: AtomicUsize,
    read: AtomicUsize,
    /// How many samples were lost for lack of room.
    lost: AtomicU64,
    /// Until when no sample is taken, in nanoseconds of the thread's processor time.
    rests_until: AtomicU64,
    /// How long samples have taken, in nanoseconds of the thread's processor time.
    taken: AtomicU64,
    /// How often the thread was interrupted.
    signals: AtomicU64,
}

// SAFETY: `task` is touched by one side at a time, see there; all else is atomic.
unsafe impl Sync for Ring {}
// SAFETY: nothing in it is bound to a thread.
unsafe impl Send for Ring {}

/// What a handler needs.
pub(super) struct Task {
    pub(super) job: Box<dyn Job>,
    pub(super) clock: Clock,
    pub(super) pace: Arc<Pace>,
    /// How often the event is due in the end, in nanoseconds.
    pub(super) period: u64,
}

/// What a handler does.
pub(super) trait Job: Send {
    /// It takes no lock and no memory.
    fn interrupted(&mut self, at: &Interruption<'_>);
}

/// An interruption of the running thread.
pub(super) struct Interruption<'a> {
    pub(super) ring: &'a Ring,
    pub(super) pace: &'a Pace,
    /// Where the thread was.
    pub(super) registers: Registers,
    pub(super) now: u64,
}

/// So many distances between samples are alike. To set one costs a call of the kernel.
const ALIKE: u64 = 4;
/// Of Knuth's generator of random numbers.
const FACTOR: u64 = 6_364_136_223_846_793_005;
const STEP: u64 = 1_442_695_040_888_963_407;

/// A distance from three to five quarters of `period`: a loop of the guest's that keeps step with the samples would have them all at one
/// place. Only the upper half of a random number is used.
fn about(period: u64, random: u64) -> u64 {
    period - period / 4 + (((random >> 32) * (period / 2)) >> 32)
}

const WHOLE: u64 = 1 << 63;
/// The number of cells before the calls of a sample.
const HEAD: usize = 7;
/// More than there are calls on a stack of 1 MiB.
const CELLS: usize = 1 << 16;
/// The rest after a sample, as a multiple of the time that the sample took. A stack of many thousand calls
/// takes longer than a period to walk, and the guest must get on.
const REST: u64 = 8;
/// The longest rest, in nanoseconds. It is enough after a walk of 65,000 calls.
const LONGEST_REST: u64 = 50_000_000;
/// How many instances can be sampled at a time.
const RINGS: usize = 256;

static ALL: [OnceLock<Ring>; RINGS] = [const { OnceLock::new() }; RINGS];

impl Ring {
    fn new() -> Ring {
        Ring {
            is_taken: AtomicBool::new(false),
            thread: AtomicI32::new(0),
            handlers: AtomicUsize::new(0),
            event: AtomicI32::new(-1),
            due: AtomicU64::new(0),
            random: AtomicU64::new(0),
            task: UnsafeCell::new(None),
            // SAFETY: zeros are atomics. No page of them is touched before it is needed.
            cells: unsafe { Box::new_zeroed_slice(CELLS).assume_init() },
            written: AtomicUsize::new(0),
            read: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            rests_until: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            signals: AtomicU64::new(0),
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

    /// The ring of an event's file.
    pub(super) fn of_event(file: libc::c_int) -> Option<&'static Ring> {
        let mut rings = ALL.iter().map_while(OnceLock::get);
        rings.find(|ring| ring.event.load(Ordering::Acquire) == file)
    }

    /// This event interrupts the thread from now on.
    pub(super) fn listen_to(&self, event: libc::c_int) {
        self.event.store(event, Ordering::Release);
    }

    /// How often the event is due now, in nanoseconds.
    pub(super) fn period(&self) -> u64 {
        self.due.load(Ordering::Relaxed)
    }

    /// From now on the handler of this thread writes here.
    pub(super) fn begin(&self, thread: libc::pid_t, task: Task) {
        self.due.store(task.pace.period(task.period), Ordering::Relaxed);
        // SAFETY: it has been stopped, or never begun.
        unsafe { *self.task.get() = Some(task) };
        self.thread.store(thread, Ordering::SeqCst);
    }

    /// From now on no handler writes here. The handler itself must not call this.
    pub(super) fn stop(&self) {
        self.thread.store(0, Ordering::SeqCst);
        self.event.store(-1, Ordering::SeqCst);
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
        self.taken.store(0, Ordering::Relaxed);
        self.signals.store(0, Ordering::Relaxed);
        self.rests_until.store(0, Ordering::Relaxed);
        self.is_taken.store(false, Ordering::Release);
    }

    fn cell(&self, place: usize) -> &AtomicU64 {
        &self.cells[place % CELLS]
    }

    /// The running thread was interrupted there. For a signal's handler: takes no lock and no memory.
    pub(super) fn interrupt(&self, registers: Registers) {
        self.handlers.fetch_add(1, Ordering::SeqCst);
        if self.thread.load(Ordering::SeqCst) == thread::id() {
            // SAFETY: who sets it waits for this handler, and others are of other threads.
            if let Some(Task { job, clock, pace, period }) = unsafe { &mut *self.task.get() } {
                let now = clock.now();
                self.signals.fetch_add(1, Ordering::Relaxed);
                self.keep_pace(pace, *period, now);
                job.interrupted(&Interruption { ring: self, pace, registers, now });
            }
        }
        self.handlers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Makes the event slower after the first samples, and draws anew how often it is due.
    fn keep_pace(&self, pace: &Pace, period: u64, now: u64) {
        let (asked, next) = pace.asked_once_more(period);
        let before = self.due.swap(next, Ordering::Relaxed);
        let event = self.event.load(Ordering::Relaxed);
        if (before != next || asked.is_multiple_of(ALIKE)) && event >= 0 {
            let random = (self.random.load(Ordering::Relaxed) ^ now).wrapping_mul(FACTOR).wrapping_add(STEP);
            self.random.store(random, Ordering::Relaxed);
            perf::set_period(event, about(next, random));
        }
    }

    /// Whether a sample may be taken when the thread has run so long, in nanoseconds.
    pub(super) fn is_rested(&self, running: u64) -> bool {
        running >= self.rests_until.load(Ordering::Relaxed)
    }

    /// A sample took so long, until the thread had run until `end`; both in nanoseconds of its processor time.
    pub(super) fn took(&self, pace: &Pace, took: u64, end: u64) {
        self.taken.fetch_add(took, Ordering::Relaxed);
        if pace.takes(took) {
            let rest = (REST * took).min(LONGEST_REST);
            self.rests_until.store(end + rest, Ordering::Relaxed);
        }
    }

    /// `walk` reports the calls and answers whether these were all. Its callback can say that it wants no more.
    pub(super) fn write(
        &self,
        time: u64,
        spent: Spent,
        walk: impl FnOnce(&mut dyn FnMut(Slot, usize) -> bool) -> bool,
    ) {
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
        self.cell(begin + 3).store(spent.running, Ordering::Relaxed);
        self.cell(begin + 4).store(spent.waiting, Ordering::Relaxed);
        self.cell(begin + 5).store(spent.waits.unwrap_or(u64::MAX), Ordering::Relaxed);
        self.cell(begin + 6).store(spent.sampling, Ordering::Relaxed);
        self.written.store(next, Ordering::Release);
    }

    /// Reads the next sample into `path`, the outermost call first.
    pub(super) fn next(&self, path: &mut Vec<Slot>) -> Option<Sample> {
        let begin = self.read.load(Ordering::Relaxed);
        if begin == self.written.load(Ordering::Acquire) {
            return None;
        }
        let [time, length, address, running, waiting, waits, sampling] =
            [0, 1, 2, 3, 4, 5, 6].map(|n| self.cell(begin + n).load(Ordering::Relaxed));
        let end = begin + HEAD + (length & !WHOLE) as usize;
        path.clear();
        path.extend((begin + HEAD..end).rev().map(|place| Slot(self.cell(place).load(Ordering::Relaxed))));
        self.read.store(end, Ordering::Release);
        let spent = (running > 0).then_some(Spent {
            running,
            sampling,
            waiting,
            waits: Some(waits).filter(|&waits| waits < u64::MAX),
        });
        Some(Sample { time, whole: length & WHOLE != 0, address: address as usize, spent })
    }

    /// How long samples have taken, in nanoseconds of the thread's processor time: the handler, and what an interruption costs beside it.
    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed) + self.signals() * pace::interruption()
    }

    /// How often the thread was interrupted.
    pub(super) fn signals(&self) -> u64 {
        self.signals.load(Ordering::Relaxed)
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
        ring.write(time, Spent::default(), |found| {
            slots.iter().all(|&slot| found(Slot(slot), 7 * slot as usize))
        });
    }

    fn next(ring: &Ring, path: &mut Vec<Slot>) -> Option<(u64, bool)> {
        ring.next(path).map(|sample| (sample.time, sample.whole))
    }

    #[test]
    fn distances_differ_around_the_period() {
        assert_eq!([0, 1 << 63, u64::MAX].map(|random| about(1000, random)), [750, 1000, 1249]);
        // The longest period there is.
        assert_eq!(about(1_000_000_000, u64::MAX), 1_249_999_999);
    }

    #[test]
    fn samples_come_out_as_they_went_in() {
        let ring = Ring::new();
        let mut path = Vec::new();
        assert_eq!(ring.next(&mut path), None);
        write(&ring, 5, &[9, 1]);
        assert_eq!(ring.next(&mut path), Some(Sample { time: 5, whole: true, address: 63, spent: None }));
        // Far enough to go round.
        for n in 0..CELLS as u64 {
            write(&ring, n, &[3, 2, 1]);
            write(&ring, n + 1, &[]);
            assert_eq!((next(&ring, &mut path), &*path), (Some((n, true)), &[Slot(1), Slot(2), Slot(3)][..]));
            assert_eq!((next(&ring, &mut path), &*path), (Some((n + 1, true)), &[][..]));
        }
        assert_eq!((next(&ring, &mut path), ring.lost()), (None, 0));
        ring.write(7, Spent::default(), |_| false);
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
