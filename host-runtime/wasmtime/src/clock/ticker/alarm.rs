//! Wakes the ticker's thread when events ask for the time too often.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::thread::{self, Thread};

/// How many events make a rate.
const MANY: u32 = 4_000;
/// No thread sleeps.
const AWAKE: u32 = u32::MAX;

/// Wakes a sleeping thread when events ask for the time too often.
#[derive(Debug)]
pub(super) struct Alarm {
    /// How many events have asked since `since`, while the thread sleeps.
    asked: AtomicU32,
    /// In ticks of the clock.
    since: AtomicU64,
    /// [`MANY`] events in fewer ticks are too many.
    min_ticks: AtomicU64,
    sleeper: OnceLock<Thread>,
}

impl Default for Alarm {
    fn default() -> Alarm {
        Alarm {
            asked: AtomicU32::new(AWAKE),
            since: AtomicU64::new(0),
            min_ticks: AtomicU64::new(u64::MAX),
            sleeper: OnceLock::new(),
        }
    }
}

impl Alarm {
    /// An event has asked the host for the time, which was `now`. Returns whether events ask too often: then the caller
    /// [wakes](Self::wake) the thread.
    #[inline]
    pub(super) fn ring(&self, now: u64) -> bool {
        let asked = self.asked.load(Ordering::Relaxed);
        asked < MANY && self.count(asked, now)
    }

    #[cold]
    #[inline(never)]
    fn count(&self, asked: u32, now: u64) -> bool {
        if asked + 1 < MANY {
            // Another guest may have counted, or the thread may be awake already: this event need not count.
            // The count that `set` began is seen together with the sleeping thread.
            let _ = self.asked.compare_exchange(asked, asked + 1, Ordering::Acquire, Ordering::Relaxed);
            return false;
        }
        if now.saturating_sub(self.since.load(Ordering::Relaxed)) < self.min_ticks.load(Ordering::Relaxed) {
            return self.asked.compare_exchange(asked, MANY, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        }
        self.since.store(now, Ordering::Relaxed);
        let _ = self.asked.compare_exchange(asked, 0, Ordering::Relaxed, Ordering::Relaxed);
        false
    }

    /// Wakes the thread, which sleeps or is about to.
    pub(super) fn wake(&self) {
        self.asked.store(MANY, Ordering::Relaxed);
        if let Some(sleeper) = self.sleeper.get() {
            sleeper.unpark();
        }
    }

    /// Counts events from `now` on: the ones that see this thread's later writes. `rate`: so many events a tick of the clock
    /// are too many.
    pub(super) fn set(&self, now: u64, rate: f64) {
        self.sleeper.get_or_init(thread::current);
        self.since.store(now, Ordering::Relaxed);
        self.min_ticks.store((f64::from(MANY) / rate) as u64, Ordering::Relaxed);
        self.asked.store(0, Ordering::Release);
        fence(Ordering::Release);
    }

    /// Counts events while `looks` is true. If there are no more than `few`, sleeps until there are too many. The code that
    /// makes `ends` true unparks the thread. Returns whether it slept.
    pub(super) fn wait(&self, few: u32, looks: impl Fn() -> bool, ends: impl Fn() -> bool) -> bool {
        let asked = || self.asked.load(Ordering::Relaxed);
        while asked() <= few && !ends() && looks() {
            std::hint::spin_loop();
        }
        let sleeps = asked() <= few;
        while sleeps && asked() < MANY && !ends() {
            thread::park();
        }
        self.asked.store(AWAKE, Ordering::Relaxed);
        sleeps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    /// One event in a tick is too many.
    const RATE: f64 = 1.0;

    /// A thread that sleeps by an alarm.
    fn sleeper(alarm: &Arc<Alarm>, ends: &Arc<AtomicBool>) -> thread::JoinHandle<bool> {
        let (alarm, ends) = (alarm.clone(), ends.clone());
        thread::spawn(move || {
            alarm.set(0, RATE);
            alarm.wait(0, || false, || ends.load(Ordering::Relaxed))
        })
    }

    #[test]
    fn more_than_a_few_events_end_a_look() {
        let alarm = Alarm::default();
        // No thread sleeps.
        assert!(!alarm.ring(0));
        alarm.set(0, RATE);
        (0..3).for_each(|_| assert!(!alarm.ring(0)));
        assert!(!alarm.wait(2, || true, || false));
        assert_eq!(alarm.asked.load(Ordering::Relaxed), AWAKE);
    }

    #[test]
    fn only_events_that_are_close_together_end_a_sleep() {
        let slept = (0..20).any(|_| {
            let alarm = Arc::new(Alarm::default());
            let sleeper = sleeper(&alarm, &Arc::default());
            while alarm.asked.load(Ordering::Relaxed) != 0 {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(50));
            // Slower than the rate.
            (0..u64::from(5 * MANY)).for_each(|n| assert!(!alarm.ring(2 * n)));
            thread::sleep(Duration::from_millis(20));
            if sleeper.is_finished() {
                // On a busy machine it may not have slept yet: then one event was enough.
                return false;
            }
            let now = u64::from(10 * MANY);
            assert_eq!((0..2 * MANY).filter(|_| alarm.ring(now)).count(), 1);
            alarm.wake();
            let slept = sleeper.join().expect("it wakes");
            assert_eq!(alarm.asked.load(Ordering::Relaxed), AWAKE);
            slept
        });
        assert!(slept);
    }

    #[test]
    fn a_sleep_has_an_end() {
        let (alarm, ends) = (Arc::new(Alarm::default()), Arc::new(AtomicBool::new(false)));
        let sleeper = sleeper(&alarm, &ends);
        ends.store(true, Ordering::Relaxed);
        sleeper.thread().unpark();
        sleeper.join().expect("it wakes");
    }
}
