//! Ids that look random, never repeat within a trace, and are the same for the same seed.

use kperf_trace::Header;

/// A sequence of ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ids {
    trace: [u64; 2],
    span: u64,
}

impl Ids {
    /// Ids from a seed.
    pub(crate) fn new(seed: u64) -> Ids {
        let [high, low, span] = [1, 2, 3].map(|n| mix(seed.wrapping_add(STEP.wrapping_mul(n))));
        Ids { trace: [high, low], span }
    }

    /// Ids with a seed from the trace's header. The headers of two recordings differ at least in the clock's reading at their
    /// start.
    pub(crate) fn of(header: &Header) -> Ids {
        let mut seed = mix(header.anchor.unix_nanos);
        for number in [header.anchor.ticks, header.host.pid.into(), header.clock.ticks_per_second.to_bits()] {
            seed = mix(seed ^ number);
        }
        for byte in header.command.iter().flat_map(|arg| arg.bytes().chain([0])) {
            seed = mix(seed ^ u64::from(byte));
        }
        Ids::new(seed)
    }

    /// Other ids, which also depend on a number.
    pub(crate) fn with(self, number: u64) -> Ids {
        let Ids { trace: [high, low], span } = self;
        let other = |start: u64| mix(start.rotate_left(1) ^ number);
        Ids { trace: [other(high), other(low)], span: other(span) }
    }

    /// The id of the n-th trace.
    pub(crate) fn trace(&self, n: u64) -> [u8; 16] {
        let [high, low] = self.trace.map(|start| mix(start.wrapping_add(n.wrapping_mul(STEP))));
        (u128::from(high) << 64 | u128::from(low)).max(1).to_be_bytes()
    }

    /// The id of the n-th span. Different numbers have different ids, with one exception in 2^64.
    #[inline]
    pub(crate) fn span(&self, n: u64) -> u64 {
        mix(self.span.wrapping_add(n.wrapping_mul(STEP))).max(1)
    }
}

/// The step of splitmix64 (Steele, Lea, Flood 2014).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Its mixing function, one to one.
#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_from_each_other_and_from_those_of_other_seeds() {
        let mut spans: Vec<u64> =
            (0..4).flat_map(|seed| (0..10_000).map(move |n| Ids::new(seed).span(n))).collect();
        let mut traces: Vec<_> =
            (0..4).flat_map(|seed| (0..10_000).map(move |n| Ids::new(seed).trace(n))).collect();
        spans.sort_unstable();
        traces.sort_unstable();
        assert!(spans.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(traces.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(Ids::new(7).span(9), Ids::new(7).span(9));
        // Small seeds and numbers give ids that look like any others.
        let halves =
            traces.iter().flat_map(|id| id.as_chunks::<8>().0.iter().map(|half| u64::from_be_bytes(*half)));
        assert!(halves.chain(spans).all(|id| id > 1 << 32));
    }

    #[test]
    fn a_recording_s_own_ids_depend_on_when_and_what_it_was() {
        let header = Header::default();
        let mut later = header.clone();
        later.anchor.unix_nanos = 1;
        let other = Header { command: vec!["life".into()], ..Header::default() };
        let ids = [&header, &later, &other].map(|header| Ids::of(header).trace(0));
        assert!(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2]);
    }
}
