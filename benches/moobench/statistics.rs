//! The figures of a configuration: of each loop, then over the loops.

use crate::child_job::Measured;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};
use statrs::statistics::{Data, Distribution, OrderStatistics};
use std::fmt;

/// One configuration's figures, in nanoseconds for each call of the function that is probed.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Mean of the loops' means.
    pub(crate) mean: f64,
    /// Standard deviation of the loops' means.
    pub(crate) deviation: f64,
    /// Half of the 95 % confidence interval of the mean, by Student's t; not a number with one loop.
    pub(crate) interval: f64,
    /// Means of the loops' quartiles over their batches.
    pub(crate) quartiles: [f64; 3],
    /// What each loop's median has more than those without probes right before and after it.
    pub(crate) added: Option<Spread>,
    /// Mean of the loops' standard deviations over their batches.
    pub(crate) within: f64,
    /// The least of the loops' means.
    pub(crate) least: f64,
    /// Mean time of a whole run and of all that was written or sent behind it, in milliseconds.
    pub(crate) run_millis: f64,
    pub(crate) whole_millis: f64,
    /// Events of a run, where somebody counts.
    pub(crate) events: Option<u64>,
    /// Bytes that a run wrote, for each call.
    pub(crate) bytes_a_call: f64,
}

/// One run's figures.
pub(crate) struct Loop {
    mean: f64,
    deviation: f64,
    quartiles: [f64; 3],
    run_millis: f64,
    whole_millis: f64,
    events: Option<u64>,
    bytes_a_call: f64,
}

/// A median, and how certain it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) quartiles: [f64; 2],
    /// The median's 95 % confidence interval, from the order of the values alone; not numbers with fewer than six.
    pub(crate) interval: [f64; 2],
}

impl Row {
    /// The figures of configuration `at`, from the loops of all in their order; 0 is the one without probes. `None` if
    /// there are none.
    pub(crate) fn new(name: &'static str, at: usize, order: &[(usize, Loop)]) -> Option<Row> {
        let loops: Vec<&Loop> = order.iter().filter(|(of, _)| *of == at).map(|(_, one)| one).collect();
        let count = loops.len();
        let of = |field: fn(&Loop) -> f64| loops.iter().map(|one| field(one)).sum::<f64>() / count as f64;
        let means: Vec<f64> = loops.iter().map(|one| one.mean).collect();
        let mean = of(|one| one.mean);
        let deviation = Data::new(means.clone()).std_dev().unwrap_or_default();
        let quantile = StudentsT::new(0.0, 1.0, count as f64 - 1.0).map(|t| t.inverse_cdf(0.975));
        let added = order.windows(3).filter_map(|three| match three {
            [(0, before), (own, one), (0, after)] if *own == at && at != 0 => {
                Some(one.quartiles[1] - (before.quartiles[1] + after.quartiles[1]) / 2.0)
            }
            _ => None,
        });
        Some(Row {
            name,
            mean,
            deviation,
            interval: quantile.map_or(f64::NAN, |t| t * deviation / (count as f64).sqrt()),
            quartiles: [of(|one| one.quartiles[0]), of(|one| one.quartiles[1]), of(|one| one.quartiles[2])],
            added: Spread::of(added.map(Some)),
            within: of(|one| one.deviation),
            least: means.into_iter().fold(f64::INFINITY, f64::min),
            run_millis: of(|one| one.run_millis),
            whole_millis: of(|one| one.whole_millis),
            events: loops.last()?.events,
            bytes_a_call: of(|one| one.bytes_a_call),
        })
    }
}

impl Loop {
    /// Only the second half of a run's batches counts.
    pub(crate) fn new(calls: u64, measured: &Measured) -> Option<Loop> {
        let batches = &measured.batches;
        let calls_a_batch = calls as f64 / batches.len() as f64;
        let second_half = batches.get(batches.len() / 2..)?;
        let mut data = Data::new(second_half.iter().map(|nanos| nanos / calls_a_batch).collect::<Vec<_>>());
        Some(Loop {
            mean: data.mean()?,
            deviation: data.std_dev().unwrap_or_default(),
            quartiles: [data.lower_quartile(), data.median(), data.upper_quartile()],
            run_millis: measured.nanos() / 1e6,
            whole_millis: measured.whole_nanos / 1e6,
            events: measured.events,
            bytes_a_call: measured.bytes as f64 / calls as f64,
        })
    }
}

impl Spread {
    /// `None` without values, or if one is missing.
    pub(crate) fn of(values: impl Iterator<Item = Option<f64>>) -> Option<Spread> {
        let mut values: Vec<f64> = values.collect::<Option<_>>()?;
        values.sort_by(f64::total_cmp);
        let count = values.len();
        // Of how many values below the median a binomial distribution tells.
        let outside = Binomial::new(0.5, count as u64).ok()?.inverse_cdf(0.025) as usize;
        let end = |at: Option<usize>| at.and_then(|at| values.get(at)).copied().unwrap_or(f64::NAN);
        let interval = [outside.checked_sub(1), outside.checked_sub(1).map(|at| count - 1 - at)].map(end);
        let mut data = Data::new(values);
        (count > 0).then(|| Spread {
            median: data.median(),
            quartiles: [data.lower_quartile(), data.upper_quartile()],
            interval,
        })
    }
}

/// The median, and its interval where there is one.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = self.interval;
        write!(f, "{:.2}", self.median)?;
        if from.is_finite() { write!(f, " ({from:.2} to {to:.2})") } else { Ok(()) }
    }
}
