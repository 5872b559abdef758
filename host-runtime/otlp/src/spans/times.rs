//! Ticks as Unix nanoseconds, for millions of spans.

use kperf_trace::{Anchor, Calendar, Header};

/// A [`Calendar`] that caches its last result. With a ticker, hundreds of successive calls begin and end at the same tick.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    calendar: Calendar,
    last_ticks: u64,
    last_nanos: u64,
}

impl Times {
    pub(crate) fn new(header: &Header) -> Times {
        let Anchor { ticks: last_ticks, unix_nanos: last_nanos } = header.anchor;
        Times { calendar: Calendar::new(header), last_ticks, last_nanos }
    }

    /// Another anchor: one moment on the trace's clock and on the calendar.
    pub(crate) fn anchor(&mut self, anchor: &Anchor) {
        self.calendar.anchor(anchor);
        self.last_nanos = self.calendar.unix_nanos(self.last_ticks);
    }

    /// Nanoseconds from 1970-01-01 00:00 UTC to a reading of the clock. Never decreases.
    #[inline]
    pub(crate) fn unix_nanos(&mut self, ticks: u64) -> u64 {
        if ticks != self.last_ticks {
            self.last_ticks = ticks;
            self.last_nanos = self.calendar.unix_nanos(ticks);
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
