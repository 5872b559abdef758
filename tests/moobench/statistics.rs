//! Figures of a configuration: for each loop, then over the loops.

use crate::child::Measured;
use crate::configuration::Configuration;
use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::statistics::{Data, Distribution, OrderStatistics};

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

impl Row {
    /// The figures of some runs, each with how many calls it made. `None` if there are none. Only the second half of a
    /// run's batches counts, unless it has one.
    pub(crate) fn new(configuration: &Configuration, runs: &[(u64, Measured)]) -> Option<Row> {
        let loops: Vec<Loop> =
            runs.iter().filter_map(|(calls, measured)| Loop::new(*calls, measured)).collect();
        let count = loops.len();
        let of = |field: fn(&Loop) -> f64| loops.iter().map(field).sum::<f64>() / count as f64;
        let means: Vec<f64> = loops.iter().map(|one| one.mean).collect();
        let mean = of(|one| one.mean);
        let deviation = Data::new(means.clone()).std_dev().unwrap_or_default();
        let quantile = StudentsT::new(0.0, 1.0, count as f64 - 1.0).map(|t| t.inverse_cdf(0.975));
        let (_, last) = runs.last()?;
        Some(Row {
            name: configuration.name,
            mean,
            deviation,
            interval: quantile.map_or(f64::NAN, |t| t * deviation / (count as f64).sqrt()),
            quartiles: [of(|one| one.quartiles[0]), of(|one| one.quartiles[1]), of(|one| one.quartiles[2])],
            within: of(|one| one.deviation),
            least: means.into_iter().fold(f64::INFINITY, f64::min),
            run_millis: of(|one| one.run_millis),
            whole_millis: of(|one| one.whole_millis),
            events: last.events,
            bytes_a_call: of(|one| one.bytes_a_call),
        })
    }
}

/// One run's.
struct Loop {
    mean: f64,
    deviation: f64,
    quartiles: [f64; 3],
    run_millis: f64,
    whole_millis: f64,
    bytes_a_call: f64,
}

impl Loop {
    fn new(calls: u64, measured: &Measured) -> Option<Loop> {
        let batches = &measured.batches;
        let calls_a_batch = calls as f64 / batches.len() as f64;
        let second_half = batches.get(batches.len() / 2..)?;
        let mut data = Data::new(second_half.iter().map(|nanos| nanos / calls_a_batch).collect::<Vec<_>>());
        Some(Loop {
            mean: data.mean()?,
            deviation: data.std_dev().unwrap_or_default(),
            quartiles: [data.lower_quartile(), data.median(), data.upper_quartile()],
            run_millis: batches.iter().sum::<f64>() / 1e6,
            whole_millis: measured.whole_nanos / 1e6,
            bytes_a_call: measured.bytes as f64 / calls as f64,
        })
    }
}
