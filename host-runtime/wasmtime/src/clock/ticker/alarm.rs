//! Wakes the ticker's thread when events ask for the time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::thread::{self, Thread};

/// How many readings of the clock, of 50 ns each, cost as much as waking a thread: 150 to 200 us on a virtual machine. A short
/// call of a guest makes fewer, so its times are exact and no thread is woken.
const MANY: u32 = 4_000;
/// No thread sleeps.
const AWAKE: u32 = u32::MAX;

/// Wakes a sleeping thread after enough events have asked for the time.
#[derive(Debug)]
pub(crate) struct Alarm {
    /// How many events have asked while the thread sleeps.
    asked: AtomicU32,
    sleeper: OnceLock<Thread>,
}

impl Default for Alarm {
    fn default() -> Alarm {
        Alarm { asked: AtomicU32::new(AWAKE), sleeper: OnceLock::new() }
    }
}

impl Alarm {
    /// An event asks the host for the time.
    #[inline]
    pub(crate) fn ring(&self) {
        let asked = self.asked.load(Ordering::Relaxed);
        if asked < MANY {
            self.count(asked);
        }
    }

    #[cold]
    #[inline(never)]
    fn count(&self, asked: u32) {
        // Another guest may have counted, or the thread may be awake already: this event need not count.
        // The count that `set` began is seen together with the sleeping thread.
        let counted = self.asked.compare_exchange(asked, asked + 1, Ordering::Acquire, Ordering::Relaxed);
        if counted.is_ok() && asked + 1 == MANY {
            self.wake();
        }
    }

    /// Wakes the thread, which sleeps or is about to.
    pub(super) fn wake(&self) {
        self.asked.store(MANY, Ordering::Relaxed);
        if let Some(sleeper) = self.sleeper.get() {
            sleeper.unpark();
        }
    }

    /// Counts events from now on: the ones that see this thread's later writes.
    pub(super) fn set(&self) {
        self.sleeper.get_or_init(thread::current);
        self.asked.store(0, Ordering::Release);
        fence(Ordering::Release);
    }

    /// Waits for one event while `hopes` is true, and then sleeps until there were many. The code that makes `ends` true
    /// unparks the thread. Returns whether it slept.
    pub(super) fn wait(&self, hopes: impl Fn() -> bool, ends: impl Fn() -> bool) -> bool {
        let asked = || self.asked.load(Ordering::Relaxed);
        while asked() == 0 && !ends() && hopes() {
            std::hint::spin_loop();
        }
        let sleeps = asked() == 0;
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

    /// A thread that sleeps by an alarm.
    fn sleeper(alarm: &Arc<Alarm>, ends: &Arc<AtomicBool>) -> thread::JoinHandle<bool> {
        let (alarm, ends) = (alarm.clone(), ends.clone());
        thread::spawn(move || {
            alarm.set();
            alarm.wait(|| false, || ends.load(Ordering::Relaxed))
        })
    }

    #[test]
    fn one_question_ends_a_hope() {
        let alarm = Alarm::default();
        // No thread sleeps.
        alarm.ring();
        alarm.set();
        alarm.ring();
        assert!(!alarm.wait(|| true, || false));
        assert_eq!(alarm.asked.load(Ordering::Relaxed), AWAKE);
    }

    #[test]
    fn many_questions_end_a_sleep() {
        let slept = (0..20).any(|_| {
            let alarm = Arc::new(Alarm::default());
            let sleeper = sleeper(&alarm, &Arc::default());
            while alarm.asked.load(Ordering::Relaxed) != 0 {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(50));
            (1..MANY).for_each(|_| alarm.ring());
            thread::sleep(Duration::from_millis(20));
            if sleeper.is_finished() {
                // On a busy machine it may not have slept yet: then one event was enough.
                return false;
            }
            assert_eq!(alarm.asked.load(Ordering::Relaxed), MANY - 1);
            alarm.ring();
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
