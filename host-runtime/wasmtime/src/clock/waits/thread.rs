//! The waits of a thread, in ticks of the recordings' clock.

use super::sums::{Found, Sums};
use super::switches::{Record, Switches};
use super::{Clock, Pause, Position, Unplaced, Waits};
use crate::clock::delay::Delay;
use crate::clock::unplaced::UnplacedTicks;
use kperf_trace::Wait;
use std::cell::OnceCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many waits are kept for lanes that have not read them yet.
const KEPT: usize = 1 << 13;
/// How often the sum is read at most, where nothing else is known.
const SUM_PERIOD: Duration = Duration::from_millis(1);
/// Readings of two clocks that are closer together don't show how fast these run.
const RATE_NANOS: u64 = 1_000_000;

/// The waits of a thread since a lane first asked for them.
pub(super) struct ThreadWaits {
    switches: Option<Switches>,
    /// How many waits there were.
    count: AtomicU64,
    inner: Mutex<Inner>,
}

struct Inner {
    /// The last ones, in order.
    waits: VecDeque<Pause>,
    /// The sum of those without a place.
    unplaced: UnplacedTicks,
    /// When the thread lost its processor, if it doesn't have it.
    out: Option<(u64, Wait)>,
    /// The last reading of both clocks.
    moment: Moment,
    delay: Option<Delay>,
    /// The part of its sum that is in `waits` or in `unplaced`, and what it was before, in nanoseconds.
    delay_nanos: u64,
    /// Of a thread without switches.
    sums: Option<Sums>,
    quality: Waits,
}

thread_local! {
    static THIS: OnceCell<Option<Arc<ThreadWaits>>> = const { OnceCell::new() };
}

impl ThreadWaits {
    /// Gives the calling thread's to `act`; `None` if nothing is known of its waits.
    pub(super) fn of_this_thread<R>(clock: &Clock, act: impl FnOnce(Option<&Arc<ThreadWaits>>) -> R) -> R {
        let mut act = Some(act);
        let known = THIS.try_with(|this| {
            let known = this.get_or_init(|| ThreadWaits::begin(clock, true));
            act.take().map(|act| act(known.as_ref()))
        });
        // A thread that is ending has no data any more.
        match (known, act) {
            (Ok(Some(result)), _) => result,
            (_, Some(act)) => act(None),
            _ => unreachable!("it acts once"),
        }
    }

    /// Begins with the calling thread. `None` if nothing is known of its waits.
    fn begin(clock: &Clock, try_switches: bool) -> Option<Arc<ThreadWaits>> {
        let delay = Delay::of_this_thread();
        let switches = if try_switches { Switches::of_this_thread().ok() } else { None };
        let quality = if switches.is_some() { Waits::Exact } else { Waits::Estimated };
        if switches.is_none() && delay.is_none() {
            return None;
        }
        let delay_nanos = delay.as_ref().and_then(Delay::nanos).unwrap_or(0);
        let inner = Inner {
            waits: VecDeque::new(),
            unplaced: UnplacedTicks::default(),
            sums: if switches.is_none() { Sums::of_this_thread(clock, delay.as_ref()) } else { None },
            out: None,
            moment: Moment::now(clock),
            delay,
            delay_nanos,
            quality,
        };
        Some(Arc::new(ThreadWaits { switches, count: AtomicU64::new(0), inner: Mutex::new(inner) }))
    }

    /// Whether there are no more waits than these.
    pub(super) fn is_at(&self, count: u64) -> bool {
        let has_more = self.switches.as_ref().is_some_and(Switches::has_more);
        !has_more && self.count.load(Ordering::Relaxed) == count
    }

    pub(super) fn position(&self, clock: &Clock) -> Position {
        let inner = self.read(clock);
        Position { count: self.count.load(Ordering::Relaxed), unplaced: inner.unplaced }
    }

    /// Gives the waits since a position to `each`. Returns the position after them, and the ticks without a place since then.
    pub(super) fn since(
        &self,
        from: Position,
        clock: &Clock,
        each: impl FnMut(Pause),
    ) -> (Position, Unplaced) {
        let mut inner = self.read(clock);
        let count = self.count.load(Ordering::Relaxed);
        let new = usize::try_from(count.saturating_sub(from.count)).unwrap_or(usize::MAX);
        if new > inner.waits.len() {
            inner.quality = Waits::Unknown;
        }
        let kept = inner.waits.len();
        inner
            .waits
            .iter()
            .skip(kept.saturating_sub(new))
            .copied()
            .chain(inner.open_wait(clock))
            .for_each(each);
        let ticks = inner.unplaced.since(from.unplaced);
        (Position { count, unplaced: inner.unplaced }, Unplaced { ticks, quality: inner.quality })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what is new.
    fn read(&self, clock: &Clock) -> MutexGuard<'_, Inner> {
        let mut inner = self.lock();
        match &self.switches {
            Some(switches) if switches.has_more() => {
                let added = inner.read_switches(switches, clock);
                self.count.fetch_add(added, Ordering::Relaxed);
            }
            Some(_) => {}
            None => {
                let now = clock.now();
                if now.saturating_sub(inner.moment.ticks) >= clock.ticks(SUM_PERIOD) {
                    inner.moment.ticks = now;
                    inner.add_unplaced(clock);
                    inner.add_sums(now, clock);
                }
            }
        }
        inner
    }
}

impl Inner {
    /// Returns how many waits have ended.
    fn read_switches(&mut self, switches: &Switches, clock: &Clock) -> u64 {
        let now = Moment::now(clock);
        let rate = now.rate(&self.moment, clock);
        let (mut added, mut is_lost) = (0, false);
        switches.take(|record| match record {
            Record::Out { nanos, is_ready } => {
                self.out = Some((nanos, if is_ready { Wait::Processor } else { Wait::Own }));
            }
            Record::In { nanos } => {
                let Some((out, wait)) = self.out.take() else { return };
                if wait == Wait::Processor {
                    self.delay_nanos = self.delay_nanos.saturating_add(nanos.saturating_sub(out));
                }
                if self.waits.len() >= KEPT {
                    self.waits.pop_front();
                }
                let [start, end] = [out, nanos].map(|nanos| now.ticks_at(nanos, rate));
                self.waits.push_back(Pause { start, end, wait: Some(wait) });
                added += 1;
            }
            Record::Lost => {
                self.out = None;
                is_lost = true;
            }
        });
        self.moment = now;
        if is_lost {
            self.quality = if self.delay.is_some() { Waits::Estimated } else { Waits::Unknown };
            self.add_unplaced(clock);
        }
        added
    }

    /// Adds the time in which the thread was ready to run, as far as it is in no wait.
    fn add_unplaced(&mut self, clock: &Clock) {
        let Some(nanos) = self.delay.as_ref().and_then(Delay::nanos) else { return };
        let missing = nanos.saturating_sub(self.delay_nanos);
        self.delay_nanos = self.delay_nanos.max(nanos);
        let processor = clock.ticks(Duration::from_nanos(missing));
        self.unplaced = self.unplaced.plus(UnplacedTicks { processor, ..UnplacedTicks::default() });
    }

    /// Adds the time in which the thread neither ran nor was ready to run.
    fn add_sums(&mut self, now: u64, clock: &Clock) {
        let Some(sums) = &mut self.sums else { return };
        let Found { stolen, own } = sums.read(now, clock, self.delay.as_ref());
        self.unplaced = self.unplaced.plus(UnplacedTicks { processor: stolen, own, until: now });
    }

    /// The wait that has not ended, for another thread that reads.
    fn open_wait(&self, clock: &Clock) -> Option<Pause> {
        let (out, wait) = self.out?;
        let now = Moment::now(clock);
        let start = now.ticks_at(out, now.rate(&self.moment, clock));
        Some(Pause { start, end: now.ticks, wait: Some(wait) })
    }
}

/// A reading of the system's monotonic clock, and of a recording's at the same time.
#[derive(Clone, Copy)]
struct Moment {
    nanos: u64,
    ticks: u64,
}

impl Moment {
    fn now(clock: &Clock) -> Moment {
        // The closest of a few tries: the thread may lose its processor between two readings.
        let tries = (0..3).map(|_| {
            let (before, nanos, after) = (clock.now(), monotonic_nanos(), clock.now());
            let distance = after.saturating_sub(before);
            (distance, Moment { nanos, ticks: before + distance / 2 })
        });
        tries
            .min_by_key(|(distance, _)| *distance)
            .map_or(Moment { nanos: 0, ticks: 0 }, |(_, moment)| moment)
    }

    /// Ticks in a nanosecond, since an earlier moment.
    fn rate(&self, before: &Moment, clock: &Clock) -> f64 {
        let nanos = self.nanos.saturating_sub(before.nanos);
        if nanos < RATE_NANOS {
            return clock.ticks_per_second() / 1e9;
        }
        self.ticks.saturating_sub(before.ticks) as f64 / nanos as f64
    }

    fn ticks_at(&self, nanos: u64, rate: f64) -> u64 {
        let distance = (nanos.abs_diff(self.nanos) as f64 * rate) as u64;
        if nanos < self.nanos { self.ticks.saturating_sub(distance) } else { self.ticks + distance }
    }
}

#[allow(unsafe_code)] // A clock of the C library.
fn monotonic_nanos() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes the structure and nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClockChoice;
    use std::time::Instant;

    fn burn(time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {
            std::hint::spin_loop();
        }
    }

    /// The sum of a thread's waits by kind, and of those without a place (for a processor, own), in nanoseconds; its wall and processor
    /// time.
    fn waited(switches: bool) -> Option<([u64; 3], [u64; 2], u64, u64)> {
        let clock = Clock::new(ClockChoice::Precise);
        let thread = ThreadWaits::begin(&clock, switches)?;
        let from = thread.position(&clock);
        let (begun, cpu) = (Instant::now(), cpu_time::ThreadTime::now());
        for _ in 0..4 {
            burn(Duration::from_millis(50));
            std::thread::sleep(Duration::from_millis(10));
        }
        let (wall, cpu) = (begun.elapsed().as_nanos() as u64, cpu.elapsed().as_nanos() as u64);
        let (mut sums, mut last) = ([0; 3], 0);
        let (_, unplaced) = thread.since(from, &clock, |pause| {
            assert!(last <= pause.start && pause.start <= pause.end, "{pause:?} after {last}");
            last = pause.end;
            sums[pause.wait.map_or(2, |wait| wait as usize)] += clock.nanos(pause.end - pause.start);
        });
        let expected = if thread.switches.is_some() { Waits::Exact } else { Waits::Estimated };
        assert_eq!(unplaced.quality, expected);
        let UnplacedTicks { processor, own, .. } = unplaced.ticks;
        Some((sums, [processor, own].map(|ticks| clock.nanos(ticks)), wall, cpu))
    }

    /// More threads than processors, so that all of them wait.
    fn beside_others(work: impl Fn() + Sync) {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        std::thread::scope(|scope| (0..2 * processors).for_each(|_| drop(scope.spawn(&work))));
    }

    #[test]
    fn processor_time_and_waits_are_all_of_the_time() {
        beside_others(|| {
            for tries_left in (0..3).rev() {
                let Some((sums, unplaced, wall, cpu)) = waited(true) else { return };
                let [processor, own, other] = sums;
                assert_eq!(other, 0);
                if processor + own == 0 {
                    // It is forbidden here: the sum is known.
                    return;
                }
                let all = cpu + processor + own;
                // The thread may lose its processor between the readings of two clocks.
                if tries_left > 0 && (unplaced != [0, 0] || all.abs_diff(wall) >= wall / 50) {
                    continue;
                }
                assert_eq!(unplaced, [0, 0]);
                assert!(all.abs_diff(wall) < wall / 50, "{cpu} + {processor} + {own} of {wall}");
                assert!(own > 39_000_000, "{own}");
                assert!(processor > 1_000_000, "{processor}");
                return;
            }
        });
    }

    #[test]
    fn the_sum_is_known_without_switches() {
        beside_others(|| {
            let Some((sums, unplaced, wall, cpu)) = waited(false) else { return };
            assert_eq!(sums, [0; 3]);
            let (left, [processor, own]) = (wall - cpu, unplaced);
            assert!(own > 39_000_000, "{own}");
            assert!(processor > left / 20 && processor < left, "{processor} of {left}");
            assert!(processor + own <= left + left / 50, "{processor} + {own} of {left}");
        });
    }
}
