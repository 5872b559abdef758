//! Divides the time between two samples.

use super::native::Spent;
use crate::clock::source::Clock;
use std::time::Duration;

/// Shorter waits than this are the noise of two clocks that aren't read at once, and of a hypervisor at each interruption: 3 us.
const NOISE: Duration = Duration::from_micros(50);

/// Of `elapsed` ticks between two samples, how many the thread ran, waited for a processor, and waited for something else.
pub(super) fn split(elapsed: u64, spent: Option<(Spent, Spent)>, clock: &Clock) -> [u64; 3] {
    let Some((before, now)) = spent else { return [elapsed, 0, 0] };
    let ticks = |nanos: u64| clock.ticks(Duration::from_nanos(nanos));
    let running = ticks(now.running.saturating_sub(before.running)).min(elapsed);
    // The recorder's time is none of theirs.
    let sampling = ticks(now.sampling.saturating_sub(before.sampling));
    let rest = (elapsed - running).saturating_sub(sampling);
    if rest < clock.ticks(NOISE) {
        return [running, 0, 0];
    }
    // A thread that never gave its processor up has lost it, if not to another thread, then to another virtual machine.
    let never_gave_up = before.waits.is_some() && before.waits == now.waits;
    let for_processor = match never_gave_up {
        true => rest,
        false => ticks(now.waiting.saturating_sub(before.waiting)).min(rest),
    };
    let waiting = rest - for_processor;
    if waiting < clock.ticks(NOISE) { [running, for_processor, 0] } else { [running, for_processor, waiting] }
}
