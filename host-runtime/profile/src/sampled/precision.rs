//! The error of sampled times.

use crate::sampled::sampling::{Sampling, Z, wilson};
use kperf_trace::{Preempted, ProbeCost, TickTotal};
use serde::Serialize;

/// The error of times: by the samples that they rest on (a sampler's, or the ticks of a ticker), and by what probes add.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Precision {
    /// The number of equal samples with the same error; infinite if each event read the clock.
    pub effective_samples: f64,
    /// The gap between two samples at a random moment, in nanoseconds.
    pub resolution_nanos: f64,
    /// All self time, in nanoseconds.
    self_nanos: f64,
    /// All calls.
    calls: f64,
    /// What a call's probes may cost, in nanoseconds.
    call_nanos: f64,
    /// Whether the probes of all functions cost the same.
    is_even: bool,
}

/// The maximum cost of counting a call in a profile that doesn't say it, in nanoseconds. Processors differ: 0.2 to 1.0 ns were measured.
const COUNT_NANOS: f64 = 1.0;
/// The factor by which a probe may cost more in a real program than was measured on a small one. (Where the small one says 2.5 to
/// 3.2 ns a call, the guest's own threads took 3.0 to 8.2 in five programs; where it says 1.4, 3.8 to 6.9: `scripts/bench --part
/// sustained`.)
const REAL_PROGRAMS: f64 = 3.0;
/// The same where each event reads the clock, which is most of its cost. (62 ms for 2 million calls that were to cost 20 ns each: the
/// Game of Life.)
const REAL_PROGRAMS_BY_CLOCK: f64 = 2.0;
/// The cost of a probe if the trace doesn't have it, in nanoseconds: the minimum.
const UNKNOWN_NANOS: f64 = 2.0;

impl Precision {
    /// The precision of samples. `count_nanos`: what counting a call costs at most, if it is known.
    pub fn of_samples(
        sampling: &Sampling,
        self_nanos: f64,
        calls: u64,
        count_nanos: Option<f64>,
    ) -> Precision {
        Precision {
            effective_samples: sampling.effective_samples(),
            resolution_nanos: sampling.period_nanos as f64,
            self_nanos,
            calls: calls as f64,
            call_nanos: count_nanos.unwrap_or(COUNT_NANOS),
            is_even: true,
        }
    }

    /// The precision of ticks. `cost`: the trace's cost of probes.
    pub(crate) fn of_ticks(
        ticks: &TickTotal,
        self_nanos: f64,
        calls: u64,
        cost: Option<&ProbeCost>,
    ) -> Precision {
        let nanos = cost.map_or(UNKNOWN_NANOS, |cost| cost.inside_nanos + cost.outside_nanos);
        Precision {
            effective_samples: ticks.effective_samples(self_nanos),
            resolution_nanos: ticks.resolution_nanos(),
            self_nanos,
            calls: calls as f64,
            call_nanos: REAL_PROGRAMS * nanos.max(0.0),
            is_even: false,
        }
    }

    /// The precision of events that each read the clock, whose step is `resolution_nanos`.
    pub(crate) fn of_events(
        resolution_nanos: f64,
        self_nanos: f64,
        calls: u64,
        cost: &ProbeCost,
    ) -> Precision {
        Precision {
            effective_samples: f64::INFINITY,
            resolution_nanos,
            self_nanos,
            calls: calls as f64,
            call_nanos: REAL_PROGRAMS_BY_CLOCK * (cost.inside_nanos + cost.outside_nanos).max(0.0),
            is_even: false,
        }
    }

    /// The same of events' times from which the measured cost of probes was taken off: what is left is what they may cost more.
    pub(crate) fn compensated(self) -> Precision {
        let left = 1.0 - 1.0 / REAL_PROGRAMS_BY_CLOCK;
        Precision { call_nanos: self.call_nanos * left, ..self }
    }

    /// Whether times rest on samples.
    pub(crate) fn is_sampled(&self) -> bool {
        self.effective_samples.is_finite()
    }

    /// The same, if other programs took processors from the threads during `wall_nanos` nanoseconds. Which functions lost that time
    /// is chance.
    pub(crate) fn beside_others(self, preempted: &Preempted, wall_nanos: f64) -> Precision {
        let Preempted { count, nanos, threads } = *preempted;
        let nanos = nanos as f64;
        let threads_nanos = (wall_nanos * f64::from(threads.max(1))).max(nanos);
        if self.effective_samples <= 0.0 || nanos <= 0.0 {
            return self;
        }
        // The guest has its share of the pieces. Their lengths are assumed to be exponentially distributed: the mean square is twice
        // the square of the mean.
        let variance = 2.0 * nanos.powi(2) / (count.max(1) as f64 * threads_nanos * self.self_nanos.max(1.0));
        Precision { effective_samples: 1.0 / (1.0 / self.effective_samples + variance), ..self }
    }

    /// How far a share of all self time may be off, as a share, for a function with so many calls: half of its interval of
    /// 95 % confidence, and what the probes of its calls may have added. The two errors are independent: the root of the sum of their
    /// squares (JCGM 100).
    pub fn share_error(&self, share: f64, calls: u64) -> f64 {
        // If the probes of each call take `c`, the share is `(t + c n) / (T + c N)` instead of `t / T`. At worst only this function's
        // probes take `c`, or only all others'.
        let (of_function, of_others) =
            ((calls as f64) * (1.0 - share), share * (self.calls - calls as f64).max(0.0));
        let wrong = if self.is_even { (of_function - of_others).abs() } else { of_function.max(of_others) };
        let probes = self.call_nanos * wrong / self.self_nanos.max(1.0);
        let sampling = wilson(share, self.effective_samples);
        // `hypot` differs from one system to the next.
        (sampling * sampling + probes * probes).sqrt().min(1.0)
    }

    /// The sampling error of a sum of times, in nanoseconds; infinite without samples. The sum includes the probes' cost.
    pub fn sampling_error(&self, nanos: f64) -> f64 {
        if self.effective_samples <= 0.0 {
            return f64::INFINITY;
        }
        self.self_nanos * wilson(nanos / self.self_nanos.max(1.0), self.effective_samples)
    }

    /// How far the ratio of two sums of times may be off by sampling, as a share.
    pub(crate) fn part_error(&self, nanos: f64, whole_nanos: f64) -> f64 {
        let samples = self.effective_samples * (whole_nanos / self.self_nanos.max(1.0)).clamp(0.0, 1.0);
        wilson(nanos / whole_nanos.max(f64::MIN_POSITIVE), samples)
    }

    /// The standard error of a sum of times by sampling, in nanoseconds; infinite without samples.
    pub(crate) fn standard_error(&self, nanos: f64) -> f64 {
        let error = self.sampling_error(nanos);
        if error.is_finite() { error.min(self.self_nanos) / Z } else { error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_samples_say_little_and_none_say_nothing() {
        assert_eq!(wilson(0.5, 0.0), 1.0);
        assert_eq!(wilson(0.5, f64::INFINITY), 0.0);
        let [few, many] = [100.0, 10_000.0].map(|samples| wilson(0.5, samples));
        assert!((0.09..0.1).contains(&few) && (0.009..0.01).contains(&many), "{few} {many}");
        assert!(wilson(0.0, 100.0) > 0.01);
    }

    #[test]
    fn ticks_count_by_their_distance() {
        let mut ticks = TickTotal::default();
        (0..1000).for_each(|_| ticks.add(2_000, 2_000));
        let free = ProbeCost::default();
        let fine = Precision::of_ticks(&ticks, 2e6, 0, Some(&free));
        assert_eq!((fine.effective_samples, fine.resolution_nanos), (1000.0, 2000.0));
        // The ticker then stalled for as long as all these ticks took.
        ticks.add(2_000_000, 2_000_000);
        let coarse = Precision::of_ticks(&ticks, 4e6, 0, Some(&free));
        assert!(coarse.effective_samples < 4.0 && coarse.resolution_nanos > 1e6, "{coarse:?}");
        assert!(coarse.sampling_error(0.0) > 0.9e6);
        // Events read the clock meanwhile.
        ticks = TickTotal::default();
        ticks.add(2_000_000, 0);
        assert_eq!(Precision::of_ticks(&ticks, 2e6, 7, Some(&free)).share_error(0.5, 7), 0.0);
        // Probes that cost 2 ns may cost 6 here. With half of the calls, its probes may cost more than the others'. With all calls,
        // its half of the time certainly has the cost of all probes.
        let cost = ProbeCost { inside_nanos: 1.5, outside_nanos: 0.5 };
        let probed = Precision::of_ticks(&ticks, 2e6, 100_000, Some(&cost));
        assert!((probed.share_error(0.5, 50_000) - 0.075).abs() < 1e-9);
        assert!((probed.share_error(0.5, 100_000) - 0.15).abs() < 1e-9);
        assert_eq!(probed.share_error(0.0, 0), 0.0);
    }

    #[test]
    fn what_others_took_in_few_pieces_makes_shares_doubtful() {
        let mut ticks = TickTotal::default();
        (0..100_000).for_each(|_| ticks.add(2_000, 2_000));
        let free = ProbeCost::default();
        let error = |count, nanos, wall: f64| {
            let precision = Precision::of_ticks(&ticks, 2e8, 0, Some(&free));
            precision.beside_others(&Preempted { count, nanos, threads: 1 }, wall).share_error(0.5, 0)
        };
        assert!(error(0, 0, 2e8) < 0.01);
        // Half of the time in 20 pieces: one of them more or less in a function is 2.5 points.
        assert!((0.1..0.2).contains(&error(20, 100_000_000, 2e8)), "{}", error(20, 100_000_000, 2e8));
        assert!(error(2_000, 100_000_000, 2e8) < 0.02);
        // As much in ten times the wall time, of which the guest ran a tenth: it lost a tenth of the pieces.
        let [all, tenth] = [error(20, 100_000_000, 2e8), error(20, 100_000_000, 2e9)];
        assert!(tenth < all / 2.0 && tenth > 0.02, "{tenth} {all}");
        assert!((0.1..=1.0).contains(&error(1, u64::MAX, 0.0)));
    }

    #[test]
    fn counting_calls_makes_shares_doubtful_where_most_calls_are() {
        let sampling = Sampling { busy_ticks: 1_000_000, squares: 1e6, ..Sampling::default() };
        let precision = Precision::of_samples(&sampling, 1e6, 100_000, None);
        let [even, uneven] = [50_000, 100_000].map(|calls| precision.share_error(0.5, calls));
        assert!((uneven - even.hypot(0.05)).abs() < 1e-9, "{even} {uneven}");
    }
}
