//! The clocks of the thread that runs a guest, for a sampler on another thread.

use super::spent::Spent;
#[cfg(target_os = "linux")]
use crate::clock::delay::Delay;
#[cfg(target_os = "linux")]
use crate::clock::processor_time::processor_nanos;
use crate::clock::source::Clock;
use std::time::Duration;

/// The thread that runs a guest. Only Linux lets other threads read its clocks.
pub(super) struct GuestThread {
    id: i32,
    #[cfg(target_os = "linux")]
    delay: Option<Delay>,
}

/// The sampler may lose its processor between two clocks. If they were read in less time, it hasn't.
const CLOSE: Duration = Duration::from_micros(10);
const TRIES: usize = 3;

impl GuestThread {
    pub(super) fn new(id: i32) -> GuestThread {
        GuestThread {
            id,
            #[cfg(target_os = "linux")]
            delay: Delay::of_thread(id),
        }
    }

    pub(super) fn id(&self) -> i32 {
        self.id
    }

    /// How the thread has spent its time so far, and the time; `None` if it has ended, or where that can't be read.
    pub(super) fn spent(&self, clock: &Clock) -> Option<(u64, Spent)> {
        // A clock that counts its readings is read once, by the caller.
        clock.stopwatch()?;
        let mut closest: Option<(u64, (u64, Spent))> = None;
        for _ in 0..TRIES {
            let before = clock.now();
            let spent = self.read()?;
            let after = clock.now();
            let distance = after.saturating_sub(before);
            if closest.is_none_or(|(closest, _)| distance < closest) {
                closest = Some((distance, (before + distance / 2, spent)));
            }
            if distance < clock.ticks(CLOSE) {
                break;
            }
        }
        closest.map(|(_, spent)| spent)
    }

    #[cfg(target_os = "linux")]
    fn read(&self) -> Option<Spent> {
        let running = processor_nanos(self.id)?;
        let waiting = self.delay.as_ref().and_then(Delay::nanos).unwrap_or(0);
        Some(Spent { running, sampling: 0, waiting, waits: None })
    }

    #[cfg(not(target_os = "linux"))]
    fn read(&self) -> Option<Spent> {
        None
    }
}
