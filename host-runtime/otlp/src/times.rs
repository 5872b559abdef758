//! Ticks as Unix nanoseconds, for millions of spans.

use kperf_trace::{Anchor, Header};

/// What [`Header::unix_nanos`] computes, with the division done once and the last answer kept: under a ticker hundreds of
/// calls in a row begin and end at the same tick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    anchor: Anchor,
    nanos_per_tick: f64,
    last_ticks: u64,
    last_nanos: u64,
}

impl Times {
    pub(crate) fn new(header: &Header) -> Times {
        let nanos_per_tick = 1e9 / header.clock.ticks_per_second;
        let (last_ticks, last_nanos) = (header.anchor.ticks, header.anchor.unix_nanos);
        Times { anchor: header.anchor, nanos_per_tick, last_ticks, last_nanos }
    }

    /// Nanoseconds from 1970-01-01 00:00 UTC to a reading of the clock.
    #[inline]
    pub(crate) fn unix_nanos(&mut self, ticks: u64) -> u64 {
        if ticks != self.last_ticks {
            let since = (ticks.abs_diff(self.anchor.ticks) as f64 * self.nanos_per_tick).round();
            let since = (since as u64).min(i64::MAX as u64);
            self.last_ticks = ticks;
            self.last_nanos = match ticks < self.anchor.ticks {
                true => self.anchor.unix_nanos.saturating_sub(since),
                false => self.anchor.unix_nanos.saturating_add(since),
            };
        }
        self.last_nanos
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kperf_trace::ClockInfo;

    #[test]
    fn times_are_those_of_the_header() {
        for ticks_per_second in [1e9, 2.6e9, 2_599_999_123.0, 1e-9, 10.0, 3e12] {
            let clock = ClockInfo { ticks_per_second, ..ClockInfo::default() };
            let anchor = Anchor { ticks: 1 << 40, unix_nanos: 1_700_000_000_123_456_789 };
            let header = Header { clock, anchor, ..Header::default() };
            let mut times = Times::new(&header);
            let mut ticks = 1u64;
            for n in 0..2000 {
                ticks = ticks.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let ticks = ticks >> (n % 64);
                assert_eq!(
                    times.unix_nanos(ticks),
                    header.unix_nanos(ticks),
                    "{ticks} at {ticks_per_second}"
                );
            }
            let near = [anchor.ticks - 3, anchor.ticks, anchor.ticks, anchor.ticks + 7, u64::MAX, 0];
            assert_eq!(near.map(|ticks| times.unix_nanos(ticks)), near.map(|ticks| header.unix_nanos(ticks)));
        }
    }
}
