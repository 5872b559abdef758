//! What the times of a trace are worth.

use crate::sampled::{Sampling, wilson};
use kperf_trace::TickTotal;

/// How far the times of a trace can be trusted that rest on samples: those of a sampler, or the ticks of a ticker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// So many samples of equal weight would tell as much.
    pub effective_samples: f64,
    /// How long the gap between two samples is at a random moment, in nanoseconds.
    pub resolution_nanos: f64,
    /// All self time, in nanoseconds.
    self_nanos: f64,
    /// All calls.
    calls: f64,
    /// What counting a call may cost, in nanoseconds.
    count_nanos: f64,
}

/// What it costs at most to count a call of a profile. Processors differ: 0.2 to 1.0 ns were measured.
const COUNT_NANOS: f64 = 1.0;

impl Precision {
    /// Of samples.
    pub fn of_samples(sampling: &Sampling, self_nanos: f64, calls: u64) -> Precision {
        Precision {
            effective_samples: sampling.effective_samples(),
            resolution_nanos: sampling.period_nanos as f64,
            self_nanos,
            calls: calls as f64,
            count_nanos: COUNT_NANOS,
        }
    }

    /// Of ticks.
    pub fn of_ticks(ticks: &TickTotal, self_nanos: f64) -> Precision {
        Precision {
            effective_samples: ticks.effective_samples(self_nanos),
            resolution_nanos: ticks.resolution_nanos(),
            self_nanos,
            calls: 0.0,
            count_nanos: 0.0,
        }
    }

    /// How far a share of all self time may be off, as a share, for a function with so many calls: half of its interval of
    /// 95 % confidence, and what counting its calls may have added.
    pub fn share_error(&self, share: f64, calls: u64) -> f64 {
        // If counting a call takes `c`, the share is `(t + c n) / (T + c N)` instead of `t / T`.
        let counted = self.count_nanos * (calls as f64 - share * self.calls).abs() / self.self_nanos.max(1.0);
        (wilson(share, self.effective_samples) + counted).min(1.0)
    }

    /// The same of a time, in nanoseconds; infinite if there is no sample.
    pub fn nanos_error(&self, nanos: f64, calls: u64) -> f64 {
        if self.effective_samples <= 0.0 {
            return f64::INFINITY;
        }
        self.self_nanos * self.share_error(nanos / self.self_nanos.max(1.0), calls)
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
        let fine = Precision::of_ticks(&ticks, 2e6);
        assert_eq!((fine.effective_samples, fine.resolution_nanos), (1000.0, 2000.0));
        // It stood still for as long as all of that.
        ticks.add(2_000_000, 2_000_000);
        let coarse = Precision::of_ticks(&ticks, 4e6);
        assert!(coarse.effective_samples < 4.0 && coarse.resolution_nanos > 1e6, "{coarse:?}");
        assert!(coarse.nanos_error(0.0, 1) > 0.9e6);
        // Events read the clock meanwhile.
        ticks = TickTotal::default();
        ticks.add(2_000_000, 0);
        assert_eq!(Precision::of_ticks(&ticks, 2e6).share_error(0.5, 7), 0.0);
    }

    #[test]
    fn counting_calls_makes_shares_doubtful_where_most_calls_are() {
        let sampling = Sampling { busy_ticks: 1_000_000, squares: 1e6, ..Sampling::default() };
        let precision = Precision::of_samples(&sampling, 1e6, 100_000);
        let [even, uneven] = [50_000, 100_000].map(|calls| precision.share_error(0.5, calls));
        assert!((uneven - even - 0.05).abs() < 1e-9, "{even} {uneven}");
    }
}
