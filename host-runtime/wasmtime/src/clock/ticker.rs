//! The thread that writes the time for recorders with a ticker.
//!
//! If a processor is free, the thread spins and writes the time every period. If none is free, the scheduler stops a spinning
//! thread for milliseconds, and all events in between would get the same time. Times stay correct because:
//!
//! * The ticker's thread notices the gap and then naps between its ticks (`pace.rs`). The scheduler runs a thread that
//!   sleeps most of the time as soon as it wakes. Measured beside four busy processes on two processors: half of the time
//!   fell into gaps of 7.5 ms when the thread spun, and of 0.6 to 1.2 ms when it napped for 500 us.
//! * Where there are two processors at most, the writer's thread renews the time between the steps of its work
//!   ([`Ticker::also_tick`]): it has the processor that the ticker's thread would need.
//! * Where there is one processor, it never spins: its period is long there
//!   ([`ClockChoice::for_this_machine`](crate::ClockChoice::for_this_machine)).
//! * The guest's thread checks the time whenever it reaches the host anyway ([`Ticker::check`]). If the time is too old,
//!   it writes 0 instead: events then ask the host for the time until the next tick.
//!
//! While events are few, each of them reads the clock: at first, and whenever the thread finds that few ask. It finds out by writing 0
//! instead of the time, for half a millisecond. Then it sleeps until too many ask ([`Alarm`]). It doesn't sleep while a
//! component's recorder is open: events can't ask where calls out of the component are forbidden.

mod alarm;
mod beats;
mod pace;
mod slice;

use super::cell::TickerCell;
use super::processors::processors;
use super::source::Clock;
use crate::error::{ErrorKind, Result};
use alarm::Alarm;
use beats::Beats;
use kperf_trace::{Stall, StallKind, StallTotal, TickTotal};
use pace::Pace;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use wasmtime::Engine;

/// How many stalls are reported one by one. The rest are only summed up: a busy machine has thousands.
const STALLS: usize = 1000;

/// The kernel may wake a thread on the guest's processor, and both would compete for it for a millisecond. So the thread sleeps this
/// long before it spins: then it wakes on a free processor.
const BACK: Duration = Duration::from_micros(100);

/// The ticker: while it lives, its thread writes the time into its cell.
pub(crate) struct Ticker {
    shared: Arc<TickerCore>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Whether the guest's thread, the writer's and the ticker's can't all run at once.
    few: bool,
}

/// What the ticker's thread shares with the others.
struct TickerCore {
    clock: Clock,
    /// The time for all recorders without a cell.
    cell: Arc<TickerCell>,
    stop: AtomicBool,
    /// How old the time may be, in ticks, before events read the clock instead.
    patience: AtomicU64,
    /// The same while the thread spins.
    noise: u64,
    /// A tick's length, in ticks of the clock.
    period: u64,
    /// Until when a guest that has just begun reads the clock itself.
    new_until: AtomicU64,
    /// When a guest found the time too old last, in ticks: from there on until the next tick events read the clock.
    doubted: AtomicU64,
    /// What wakes the thread.
    alarm: Alarm,
    beats: Beats,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The clocks of recorders that are inside of modules, by the numbers of their lanes.
    cells: BTreeMap<u32, Arc<TickerCell>>,
    report: TickReport,
    /// Gaps before this time don't count: there was nothing to record.
    since: u64,
    /// The last tick.
    last: u64,
    /// Whether the thread sleeps, since no event may want the time.
    rests: bool,
}

/// What the ticker reports: its ticks and stalls.
#[derive(Clone, Debug, Default)]
pub(crate) struct TickReport {
    /// The first stalls: times in which the thread did not run.
    pub(crate) stalls: Vec<Stall>,
    pub(crate) stalled: StallTotal,
    pub(crate) ticks: TickTotal,
}

impl Ticker {
    /// Starts the thread.
    pub(crate) fn start(engine: &Engine, clock: &Clock, period: Duration) -> Result<Ticker> {
        if period.is_zero() || period > Duration::from_secs(1) {
            return Err(ErrorKind::Period(period).into());
        }
        let pace = Pace::new(period, |time| clock.ticks(time));
        let shared = TickerCore::new(engine, clock, [pace.patience(), pace.noise(), pace.period()]);
        let thread = std::thread::Builder::new()
            .name("kperf-ticker".into())
            .spawn({
                let shared = shared.clone();
                move || tick(&shared, pace)
            })
            .map_err(ErrorKind::Thread)?;
        Ok(Ticker { shared, thread: Mutex::new(Some(thread)), few: processors() <= 2 })
    }

    /// A ticker that never ticks, with a time that is never too old. It measures the cost of probes even on a
    /// busy machine.
    #[cfg(feature = "compiler")]
    pub(crate) fn standing(engine: &Engine, clock: &Clock) -> Ticker {
        Ticker { shared: TickerCore::new(engine, clock, [u64::MAX; 3]), thread: Mutex::new(None), few: false }
    }

    pub(crate) fn cell(&self) -> &Arc<TickerCell> {
        &self.shared.cell
    }

    /// An event of the running thread has asked the host for the time, which was `now`.
    #[inline]
    pub(crate) fn count_question(&self, now: u64) {
        self.shared.count_question(now);
    }

    /// What to tell when an event has asked the host for the time.
    pub(crate) fn asked(&self) -> Asked {
        Asked(self.shared.clone())
    }

    /// Renews the clock of a lane too, from now on.
    pub(crate) fn add(&self, lane: u32, cell: TickerCell) {
        let mut inner = self.shared.inner();
        cell.store(self.shared.cell.load());
        if inner.rests && !cell.can_ask() {
            self.shared.alarm.wake();
        }
        inner.cells.insert(lane, Arc::new(cell));
        // They have other cells.
        self.shared.beats.stop();
    }

    /// Stops writing the clock of a lane: after this returns, no thread writes it.
    pub(crate) fn remove(&self, lane: u32) {
        let mut inner = self.shared.inner();
        inner.cells.remove(&lane);
        self.shared.beats.stop();
    }

    /// From now on a signal's handler may renew the time on guests' own threads.
    pub(crate) fn allow_signals(&self) {
        self.shared.beats.allow();
    }

    /// If a cell's time is too old, since the ticker's thread doesn't run: makes the events that use the cell ask the host for the
    /// time, until the next tick.
    pub(crate) fn check(&self, cell: &TickerCell) {
        self.doubt(cell, self.shared.patience.load(Ordering::Relaxed));
    }

    /// The same at the beginning of a host's call: the time of a nap's tick would be off by half a nap.
    pub(crate) fn check_closely(&self, cell: &TickerCell) {
        self.doubt(cell, self.shared.noise);
    }

    fn doubt(&self, cell: &TickerCell, patience: u64) {
        let now = self.shared.clock.now();
        if cell.doubt(now, patience) {
            self.shared.doubted.fetch_max(now, Ordering::Relaxed);
        }
    }

    /// Renews the time too. For the writer's thread, every few microseconds while it works.
    pub(crate) fn also_tick(&self) {
        if !self.few || self.shared.stop.load(Ordering::Relaxed) || self.shared.beats.any() {
            return;
        }
        let now = self.shared.clock.now();
        let mut inner = self.shared.inner();
        // Nothing would renew it again while the thread sleeps.
        if !inner.rests && now.saturating_sub(inner.last) >= self.shared.period {
            let is_new = now < self.shared.new_until.load(Ordering::Relaxed);
            self.shared.tick(&mut inner, now, self.shared.patience.load(Ordering::Relaxed), is_new);
        }
    }

    /// Ticks that the time of a ticker that spins may be old.
    pub(crate) fn noise(&self) -> u64 {
        self.shared.noise
    }

    /// Forgets what was before: there was nothing to record.
    pub(crate) fn forget(&self) {
        let mut inner = self.shared.inner();
        *inner = Inner {
            cells: std::mem::take(&mut inner.cells),
            report: TickReport::default(),
            since: self.shared.clock.now(),
            last: self.shared.clock.now(),
            rests: inner.rests,
        };
    }

    /// The ticks so far.
    pub(crate) fn ticks(&self) -> TickTotal {
        self.shared.report().ticks
    }

    /// Ends the thread; the time doesn't advance after this. Returns the ticks and stalls.
    pub(crate) fn stop(&self) -> TickReport {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            thread.thread().unpark();
            // It doesn't panic; if it did, only its stalls are unknown.
            let _ = thread.join();
        }
        self.shared.beats.stop();
        self.shared.report()
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Counts events that ask for the time.
#[derive(Clone)]
pub(crate) struct Asked(Arc<TickerCore>);

impl Asked {
    /// An event of the running thread has asked the host for the time, which was `now`.
    #[inline]
    pub(crate) fn count(&self, now: u64) {
        self.0.count_question(now);
    }
}

impl TickerCore {
    #[inline]
    fn count_question(&self, now: u64) {
        if self.alarm.ring(now) {
            self.overload(now);
        }
    }

    /// The running thread asks for the time too often: until the ticker's thread runs, a timer of this thread renews the time.
    #[cold]
    fn overload(&self, now: u64) {
        let inner = self.inner();
        if self.beats.begin_here(&inner.cells_that_ask(&self.cell), &self.clock, now) {
            self.publish(&inner, now);
        }
        drop(inner);
        self.alarm.wake();
    }

    fn new(engine: &Engine, clock: &Clock, [patience, noise, period]: [u64; 3]) -> Arc<TickerCore> {
        let cell = TickerCell::new(engine);
        // The first event must not be in the year 1970.
        let now = clock.now();
        cell.store(now);
        Arc::new(TickerCore {
            clock: clock.clone(),
            cell: Arc::new(cell),
            stop: AtomicBool::new(false),
            patience: AtomicU64::new(patience),
            noise,
            period,
            new_until: AtomicU64::new(0),
            doubted: AtomicU64::new(0),
            alarm: Alarm::default(),
            beats: Beats::default(),
            inner: Mutex::new(Inner { since: now, last: now, ..Inner::default() }),
        })
    }

    /// Notes a tick and publishes the time. A guest that has just begun may see too few ticks (`is_new`): it reads the clock itself.
    fn tick(&self, inner: &mut Inner, now: u64, usual: u64, is_new: bool) {
        let doubted = self.doubted.load(Ordering::Relaxed);
        let last = std::mem::replace(&mut inner.last, now);
        inner.note(&self.clock, [last, doubted, now], usual);
        self.publish(inner, if is_new { 0 } else { now });
        if is_new {
            self.doubted.fetch_max(now, Ordering::Relaxed);
        }
    }

    /// Writes the time, or 0: then events ask the host for it.
    fn publish(&self, inner: &Inner, time: u64) {
        self.cell.store(time);
        inner.cells.values().for_each(|cell| cell.store(time));
    }

    /// Lets each event read the clock until there are too many, if all of them can. Returns the time then. The sleep is not a
    /// gap: events had exact times.
    fn rest(&self, pace: &mut Pace) -> u64 {
        let mut inner = self.inner();
        let begun = self.clock.now();
        if !inner.cells.values().all(|cell| cell.can_ask()) {
            return begun;
        }
        inner.rests = true;
        // Before an event can see the 0.
        self.alarm.set(begun, pace.sparse());
        self.tick(&mut inner, begun, pace.usual(), true);
        drop(inner);
        let looks = || self.clock.now().saturating_sub(begun) < pace.look();
        let stops = || self.stop.load(Ordering::Relaxed);
        let few = (pace.sparse() * pace.look() as f64) as u32;
        let slept = self.alarm.wait(few, looks, stops);
        let now = self.resume(|_| 0);
        if !slept || stops() {
            return now;
        }
        if self.beats.any() {
            pace.woke(now, now.saturating_sub(self.beats.begun()));
            return now;
        }
        std::thread::sleep(BACK);
        // No stall: it was meant to be.
        self.resume(|gap| gap)
    }

    /// Ticks, and returns the time. `coarse` turns the nanoseconds since the last tick into the gap that counts. A recording
    /// may have no other tick: then events read the clock.
    fn resume(&self, coarse: impl Fn(u64) -> u64) -> u64 {
        let mut inner = self.inner();
        let now = self.clock.now();
        let last = std::mem::replace(&mut inner.last, now);
        let gap = coarse(self.clock.nanos(now.saturating_sub(last)));
        inner.report.ticks.add(gap, gap);
        inner.rests = false;
        self.publish(&inner, now);
        now
    }

    /// What the ticker's thread and the guests' have done.
    fn report(&self) -> TickReport {
        let mut report = self.inner().report.clone();
        self.beats.add_to(&mut report.ticks);
        report
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// All cells in whose place events may ask the host.
    fn cells_that_ask(&self, of_all: &Arc<TickerCell>) -> Vec<Arc<TickerCell>> {
        self.cells.values().filter(|cell| cell.can_ask()).chain([of_all]).cloned().collect()
    }

    /// Notes a gap between two ticks. Events read the clock themselves after `doubted`. A gap of more than `usual` ticks is a stall.
    fn note(&mut self, clock: &Clock, [last, doubted, now]: [u64; 3], usual: u64) {
        let from = last.max(self.since);
        let until = if doubted >= last { doubted.min(now) } else { now };
        let nanos_between = |from: u64, until: u64| clock.nanos(until.saturating_sub(from));
        let coarse = nanos_between(from, until);
        self.report.ticks.add(nanos_between(from, now), coarse);
        if until.saturating_sub(from) > usual {
            self.report.stalled.add(coarse);
            if self.report.stalls.len() < STALLS {
                let stall =
                    Stall { kind: StallKind::Ticker, recorder: None, start_ticks: from, nanos: coarse };
                self.report.stalls.push(stall);
            }
        }
    }
}

fn tick(shared: &TickerCore, mut pace: Pace) {
    slice::ask_for_short_ones();
    let clock = &shared.clock;
    // The first events may be all.
    let mut last = if pace.rests() { shared.rest(&mut pace) } else { shared.inner().last };
    let mut awake_since = last;
    loop {
        // Read before the clock, so that a stall just before the end counts too.
        let stopping = shared.stop.load(Ordering::Relaxed);
        let now = clock.now();
        // The gap between this thread's own ticks shows whether the kernel runs it.
        let gap = now.saturating_sub(last);
        if !stopping && pace.is_early(gap) {
            std::hint::spin_loop();
            continue;
        }
        let mut inner = shared.inner();
        if stopping {
            if !shared.beats.any() {
                let times = [inner.last, shared.doubted.load(Ordering::Relaxed), now];
                inner.note(clock, times, pace.usual());
            }
            return;
        }
        // A guest that has just begun would see few ticks, if any: it reads the clock itself at first.
        let new_until = inner.since.saturating_add(pace.few_ticks());
        shared.new_until.store(new_until, Ordering::Relaxed);
        if shared.beats.any() {
            // The guests' own threads renew the time.
            inner.last = inner.last.max(now);
        } else if now > inner.last {
            // The writer may have been later.
            shared.tick(&mut inner, now, pace.usual(), now < new_until);
        }
        drop(inner);
        last = now;
        let begins_to_nap = pace.note(now, gap);
        shared.patience.store(pace.patience(), Ordering::Relaxed);
        if begins_to_nap {
            shared.beats.begin_again(&shared.inner().cells_that_ask(&shared.cell), clock);
        } else if pace.spins_well(now) {
            shared.beats.stop();
        }
        let beats = shared.beats.any();
        if !beats && (begins_to_nap && pace.rests() || pace.may_rest(now.saturating_sub(awake_since))) {
            last = shared.rest(&mut pace);
            awake_since = last;
            if shared.stop.load(Ordering::Relaxed) {
                // It may just have slept, and no event has used a tick since.
                return;
            }
        } else if let Some(nap) = if beats { pace.long_nap(now, clock) } else { pace.nap() } {
            // `stop` ends it.
            std::thread::park_timeout(nap);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::source::ClockChoice;

    const MS: u64 = 1_000_000;

    fn noted(gaps: &[[u64; 3]], since: u64) -> TickReport {
        // A tick of the test clock is a nanosecond.
        let clock = Clock::new(ClockChoice::Test);
        let mut inner = Inner { since, ..Inner::default() };
        gaps.iter().for_each(|&gap| inner.note(&clock, gap, MS));
        inner.report
    }

    #[test]
    fn gaps_are_stalls_until_events_read_the_clock_themselves() {
        let report = noted(&[[MS, 0, 2 * MS], [2 * MS, 0, 12 * MS], [12 * MS, 14 * MS, 32 * MS]], 0);
        let stalls: Vec<_> = report.stalls.iter().map(|stall| (stall.start_ticks, stall.nanos)).collect();
        assert_eq!(stalls, [(2 * MS, 10 * MS), (12 * MS, 2 * MS)]);
        assert_eq!(report.stalled, StallTotal { count: 2, nanos: 12 * MS, longest_nanos: 10 * MS });
        assert_eq!((report.ticks.count, report.ticks.nanos), (3, 31 * MS));
        assert_eq!(report.ticks.squares, 105e12);
    }

    #[test]
    fn what_was_before_the_recording_is_no_stall() {
        let report = noted(&[[0, 0, 50 * MS]], 49 * MS);
        assert_eq!((report.stalled.count, report.ticks.nanos), (0, MS));
        let report = noted(&[[0, 3 * MS, 50 * MS]], 20 * MS);
        assert_eq!((report.stalled.count, report.ticks.nanos, report.ticks.squares), (0, 30 * MS, 0.0));
    }

    #[test]
    fn an_old_time_is_doubted_once_and_nothing_else_is() {
        let cell = TickerCell::new(&Engine::default());
        cell.store(100);
        assert!(!cell.doubt(150, 50));
        assert!(!cell.doubt(90, 50));
        assert!(cell.doubt(151, 50));
        assert_eq!(cell.load(), 0);
        assert!(!cell.doubt(200, 50));
        cell.store(kperf_abi::block::CLOCK_OFF);
        assert!(!cell.doubt(200, 50));
        assert_eq!(cell.load(), kperf_abi::block::CLOCK_OFF);
    }
}
