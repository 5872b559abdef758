//! The thread that renews the time for recorders of the ticker's form.

use crate::clock::Clock;
use crate::error::{ErrorKind, Result};
use crate::memory::TickerCell;
use kperf_trace::{Stall, StallKind, StallTotal};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use wasmtime::Engine;

/// How many stalls are told one by one. The rest is only summed up: a machine that is busy otherwise has thousands.
const STALLS: usize = 1000;

/// While it lives, the time in its cell is renewed.
pub(crate) struct Ticker {
    cell: Arc<TickerCell>,
    others: Arc<Mutex<Others>>,
    stop: Arc<AtomicBool>,
    stalls: Arc<Mutex<Stalls>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The clocks of recorders that are inside of modules, by the numbers of their lanes.
type Others = BTreeMap<u32, TickerCell>;

/// When the ticker itself was not run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stalls {
    pub(crate) first: Vec<Stall>,
    pub(crate) total: StallTotal,
}

impl Stalls {
    fn add(&mut self, stall: Stall) {
        self.total.add(stall.nanos);
        if self.first.len() < STALLS {
            self.first.push(stall);
        }
    }
}

impl Ticker {
    /// Starts the thread. Fails where there is no processor for it.
    pub(crate) fn start(engine: &Engine, clock: &Clock, period: Duration) -> Result<Ticker> {
        if period.is_zero() || period > Duration::from_secs(1) {
            return Err(ErrorKind::Period(period).into());
        }
        if std::thread::available_parallelism().is_ok_and(|processors| processors.get() == 1) {
            return Err(ErrorKind::OneProcessor.into());
        }
        let cell = Arc::new(TickerCell::new(engine));
        let others = Arc::new(Mutex::new(Others::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let stalls = Arc::new(Mutex::new(Stalls::default()));
        // The first event must not be in the year 1970.
        cell.store(clock.now());
        let thread = std::thread::Builder::new()
            .name("kperf-ticker".into())
            .spawn({
                let (clock, stop, stalls) = (clock.clone(), stop.clone(), stalls.clone());
                let (cell, others) = (cell.clone(), others.clone());
                move || tick(&clock, period, &cell, &others, &stop, &stalls)
            })
            .map_err(ErrorKind::Thread)?;
        Ok(Ticker { cell, others, stop, stalls, thread: Mutex::new(Some(thread)) })
    }

    pub(crate) fn cell(&self) -> &Arc<TickerCell> {
        &self.cell
    }

    /// Renews the clock of a lane too, from now on.
    pub(crate) fn add(&self, lane: u32, cell: TickerCell) {
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        cell.store(self.cell.load());
        others.insert(lane, cell);
    }

    /// No longer renews the clock of a lane: when this returns nobody writes it.
    pub(crate) fn remove(&self, lane: u32) {
        self.others.lock().unwrap_or_else(PoisonError::into_inner).remove(&lane);
    }

    /// Forgets when it stood still before there was anything to record.
    pub(crate) fn forget_stalls(&self) {
        *self.stalls.lock().unwrap_or_else(PoisonError::into_inner) = Stalls::default();
    }

    /// Ends the thread; the time stands still from here on. Answers when it stood still before.
    pub(crate) fn stop(&self) -> Stalls {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // It doesn't panic; if it did, only stalls are unknown.
            let _ = thread.join();
        }
        self.stalls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop();
    }
}

fn tick(
    clock: &Clock,
    period: Duration,
    cell: &TickerCell,
    others: &Mutex<Others>,
    stop: &AtomicBool,
    stalls: &Mutex<Stalls>,
) {
    let period_ticks = clock.ticks(period).max(1);
    // Shorter gaps are the scheduler's and the memory's ordinary noise.
    let limit = clock.ticks((period * 10).max(Duration::from_micros(50)));
    let mut last = cell.load();
    loop {
        // Before the clock: how long it stood still before the end counts too.
        let stopping = stop.load(Ordering::Relaxed);
        let now = clock.now();
        let gap = now.saturating_sub(last);
        if gap > limit {
            let stall =
                Stall { kind: StallKind::Ticker, recorder: None, start_ticks: last, nanos: clock.nanos(gap) };
            stalls.lock().unwrap_or_else(PoisonError::into_inner).add(stall);
        }
        if stopping {
            return;
        }
        if gap < period_ticks {
            std::hint::spin_loop();
            continue;
        }
        cell.store(now);
        others.lock().unwrap_or_else(PoisonError::into_inner).values().for_each(|cell| cell.store(now));
        last = now;
    }
}
