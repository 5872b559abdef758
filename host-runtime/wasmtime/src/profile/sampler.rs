//! The thread that takes the samples.

use super::native::{Target, is_ours};
use super::profiled::Profiled;
use crate::error::{ErrorKind, Result};
use crate::outlet::process::Process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Samples the instances of profiles. Its thread starts with the first of them.
pub(crate) struct Sampler {
    instances: Arc<Instances>,
    period: Duration,
    /// Whether it has a thread: not under the test clock, whose readings are counted.
    threaded: bool,
    thread: Mutex<Option<JoinHandle<()>>>,
    process: Process,
}

#[derive(Default)]
struct Instances {
    profiled: Mutex<Vec<Arc<Profiled>>>,
    stop: AtomicBool,
}

impl Instances {
    fn profiled(&self) -> MutexGuard<'_, Vec<Arc<Profiled>>> {
        self.profiled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sampler {
    pub(crate) fn new(period: Duration, threaded: bool) -> Sampler {
        Sampler {
            instances: Arc::default(),
            period,
            threaded,
            thread: Mutex::default(),
            process: Process::this(),
        }
    }

    /// Samples one more instance, from now on.
    pub(crate) fn add(&self, profiled: Arc<Profiled>) -> Result<()> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        self.instances.profiled().push(profiled);
        if let Some(thread) = &*thread {
            // It rests while there is no instance.
            thread.thread().unpark();
        } else if self.threaded && !self.instances.stop.load(Ordering::Relaxed) {
            let (instances, period) = (self.instances.clone(), self.period);
            let builder = thread::Builder::new().name("kperf-sampler".into());
            *thread = Some(builder.spawn(move || run(&instances, period)).map_err(ErrorKind::Thread)?);
        }
        Ok(())
    }

    /// A call begins while no other was open.
    pub(crate) fn wake(&self) {
        if let Some(thread) = &*self.thread.lock().unwrap_or_else(PoisonError::into_inner) {
            thread.thread().unpark();
        }
    }

    /// Whether it already samples an instance that samples can't distinguish from this one.
    pub(crate) fn has_same(&self, target: &Target) -> bool {
        self.instances.profiled().iter().any(|profiled| profiled.is_same(target))
    }

    /// Stops sampling an instance. After this returns, the sampler no longer uses it.
    pub(crate) fn remove(&self, number: u32) {
        self.instances.profiled().retain(|profiled| profiled.core.number != number);
    }

    /// Ends the thread. Returns the instances.
    pub(crate) fn stop(&self) -> Vec<Arc<Profiled>> {
        self.instances.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            thread.thread().unpark();
            // It doesn't panic; if it did, the counts are still there.
            let _ = thread.join();
        }
        self.instances.profiled().clone()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        if self.process.is_parent() {
            std::mem::forget(self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take());
            return;
        }
        self.stop();
    }
}

/// How many samples are collected at a time from threads that sample themselves.
const COLLECTED: u32 = 8;

/// How long it continues while no call is open: the next one may come soon.
const LINGERS: Duration = Duration::from_millis(10);

/// Samples are due at fixed times, so that a late one doesn't delay the others. Missed samples are left out, and the next one counts
/// for their time.
fn run(instances: &Instances, period: Duration) {
    let mut due = Instant::now() + period;
    let mut busy = due;
    while !instances.stop.load(Ordering::Relaxed) {
        let now = Instant::now();
        if now < due {
            thread::park_timeout(due - now);
            continue;
        }
        let profiled = instances.profiled();
        profiled.iter().for_each(|profiled| profiled.sample());
        if profiled.iter().any(|profiled| profiled.is_native()) && !is_ours() {
            profiled.iter().for_each(|profiled| profiled.give_up());
        }
        if profiled.iter().any(|profiled| profiled.is_busy()) {
            busy = now;
        }
        let lingers = now.saturating_duration_since(busy) < LINGERS;
        let rest = profiled.is_empty()
            || !lingers && profiled.iter().filter(|profiled| !profiled.rest()).count() == 0;
        let only_collects = profiled.iter().all(|profiled| profiled.is_native());
        drop(profiled);
        due += if only_collects { period * COLLECTED } else { period };
        let now = Instant::now();
        if rest {
            thread::park();
            busy = Instant::now();
            due = busy + period;
        } else if due < now {
            let missed = (now - due).as_nanos() / period.as_nanos().max(1) + 1;
            due += period * missed.min(u32::MAX.into()) as u32;
        }
    }
}
