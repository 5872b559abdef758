//! Welch's t-test (Welch, 1947): whether two sets of figures differ by more than chance, also if their variances differ.

use crate::sampled::sampling::Z;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// How likely a difference is just chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// The range in which the difference lies with a confidence of 95 %.
    pub interval: (f64, f64),
    /// How likely chance alone makes a difference like this or a larger one.
    pub p: f64,
    /// `p`, adjusted for how many rows are compared (Benjamini and Hochberg, 1995): of all rows with this value or less,
    /// at most this part is expected to be chance. Only the metric that the diff is sorted by is adjusted; others have `p`.
    pub p_adjusted: f64,
}

/// The test of `after` against `before`; `None` unless there are two of each.
pub(crate) fn test(before: &[f64], after: &[f64]) -> Option<Test> {
    let ((a, part_a), (b, part_b)) = (mean_and_error(before)?, mean_and_error(after)?);
    let difference = b - a;
    let variance = part_a + part_b;
    if variance <= 0.0 {
        // Every run says the same: counts usually do.
        let p = if difference == 0.0 { 1.0 } else { 0.0 };
        return Some(Test { interval: (difference, difference), p, p_adjusted: p });
    }
    let error = variance.sqrt();
    // Welch and Satterthwaite's degrees of freedom; never below 1 but for rounding.
    let freedom = |part: f64, values: &[f64]| part * part / (values.len() - 1) as f64;
    let degrees = (variance * variance / (freedom(part_a, before) + freedom(part_b, after))).max(1.0);
    let distribution = StudentsT::new(0.0, 1.0, degrees).ok()?;
    let p = (2.0 * distribution.sf((difference / error).abs())).clamp(0.0, 1.0);
    let width = distribution.inverse_cdf(0.975) * error;
    Some(Test { interval: (difference - width, difference + width), p, p_adjusted: p })
}

/// The standard deviation of the speed of a program between two runs, as a share of its time: other programs share its processor's
/// caches, its power and, with hyperthreads, its core. One run doesn't say how much that is.
const SPEED: f64 = 0.25;

/// One run's value, and what is known of its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) value: f64,
    /// `None` for an exact value.
    pub(crate) error: Option<TimeError>,
}

impl Measured {
    /// Whether anything is known of it: a time without samples is not.
    pub(crate) fn is_known(&self) -> bool {
        self.error.is_none_or(|error| error.error.is_finite())
    }
}

/// What is known of the error of a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TimeError {
    /// The standard error that its run knows of, which isn't all of it.
    pub(crate) error: f64,
    /// The smallest difference of two times.
    pub(crate) step: f64,
    /// How much of the run the thread waited for a processor, as a share.
    pub(crate) waited: f64,
    /// How much slower than the fastest run the third one was, as a share, if all runs were given the fastest one's speed.
    pub(crate) spread: Option<f64>,
}

impl TimeError {
    /// How much speed drifts from one recording to the next, as a standard deviation.
    fn drift(&self) -> f64 {
        match self.spread {
            Some(spread) => (IDLE_DRIFT.powi(2) + (spread / 2.0).powi(2)).sqrt(),
            None => IDLE_DRIFT + BUSY_DRIFT * self.waited,
        }
    }
}

/// The speed of a machine drifts from minute to minute: the runs of one recording have it in common, so it is not in their variance.
/// On two virtual processors with a load of 6 to 10 a program waited for half of its time, and the means of ten runs in a row differed by
/// 1.6 % (standard deviation). The fastest of ten differed by 0.2 % while nothing else ran, and by 0.7 % beside four busy processes; with
/// half of `spread` the differences of 22 recordings are 0.98 and 1.03 of what they are said to be.
const BUSY_DRIFT: f64 = 0.03;
/// The same without other programs.
const IDLE_DRIFT: f64 = 0.003;

/// The mean of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Mean {
    pub(crate) mean: f64,
    /// The square of its standard error.
    variance: f64,
    /// How many degrees of freedom the variance has. Infinite if it is known.
    degrees: f64,
    /// The standard error without the drift of a machine's speed.
    seen: f64,
}

/// The error of a mean. A comparison has six for each function, of which there may be a million.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct MeanError {
    variance: f32,
    degrees: f32,
    seen: f32,
}

impl MeanError {
    pub(crate) fn of(mean: Mean) -> MeanError {
        MeanError { variance: mean.variance as f32, degrees: mean.degrees as f32, seen: mean.seen as f32 }
    }

    /// The mean that has this error.
    pub(crate) fn with(self, mean: f64) -> Mean {
        Mean { mean, variance: self.variance.into(), degrees: self.degrees.into(), seen: self.seen.into() }
    }

    /// Half of the interval of 95 % confidence that the runs themselves show; 0 for exact values.
    pub(crate) fn seen(self) -> f64 {
        Z * f64::from(self.seen)
    }
}

impl Mean {
    /// The error of one run's time is what the run knows, and the usual one of a machine's speed. Several runs show their errors, which
    /// are not below those of rounding to a step, but for the drift of speed.
    pub(crate) fn of(runs: &[Measured]) -> Mean {
        let count = runs.len().max(1) as f64;
        let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
        // The variance of a uniform distribution.
        let rounding =
            runs.iter().filter_map(|run| run.error).map(|error| error.step.powi(2) / 12.0).sum::<f64>();
        if !runs.iter().all(Measured::is_known) {
            let mean = values.iter().sum::<f64>() / count;
            let variance = f64::INFINITY;
            return Mean { mean, variance, degrees: f64::INFINITY, seen: variance };
        }
        match (mean_and_error(&values), runs) {
            (Some((mean, variance)), _) => {
                let shown = variance.max(rounding / (count * count));
                let drifts = runs.iter().filter_map(|run| run.error.map(|error| error.drift() * run.value));
                let variance = shown + (drifts.sum::<f64>() / count).powi(2);
                // Welch and Satterthwaite's, of a variance of which only a part is estimated.
                let degrees = (count - 1.0) * (variance / shown).powi(2);
                let degrees = if shown > 0.0 { degrees } else { f64::INFINITY };
                let is_exact = runs.iter().all(|run| run.error.is_none());
                Mean { mean, variance, degrees, seen: if is_exact { 0.0 } else { shown.sqrt() } }
            }
            (None, [Measured { value, error: Some(error) }]) => Mean {
                mean: *value,
                variance: error.error.powi(2) + (SPEED * value).powi(2),
                degrees: f64::INFINITY,
                seen: error.error,
            },
            _ => Mean { mean: values.iter().sum(), degrees: f64::INFINITY, ..Mean::default() },
        }
    }

    fn times(self, factor: f64) -> Mean {
        Mean { mean: factor * self.mean, variance: factor * factor * self.variance, ..self }
    }
}

/// The range of `after - before`. It misses at each end with a probability of `miss`.
pub(crate) fn range(before: Mean, after: Mean, miss: f64) -> (f64, f64) {
    let difference = after.mean - before.mean;
    let variance = before.variance + after.variance;
    if variance.is_infinite() {
        return (f64::NEG_INFINITY, f64::INFINITY);
    }
    if variance <= 0.0 {
        return (difference, difference);
    }
    let freedom = |mean: Mean| mean.variance * mean.variance / mean.degrees;
    let degrees = (variance * variance / (freedom(before) + freedom(after))).max(1.0);
    let student = StudentsT::new(0.0, 1.0, degrees).ok().filter(|_| degrees < MANY_DEGREES);
    let quantile = match student {
        Some(student) => student.inverse_cdf(1.0 - miss),
        None => Normal::standard().inverse_cdf(1.0 - miss),
    };
    let width = quantile * variance.sqrt();
    (difference - width, difference + width)
}

/// From there on Student's distribution is the normal one.
const MANY_DEGREES: f64 = 1e6;

/// The range of `after - (1 + growth) before`.
pub(crate) fn excess(before: Mean, after: Mean, growth: f64, miss: f64) -> (f64, f64) {
    range(before.times(1.0 + growth), after, miss)
}

/// The mean, and the square of its standard error.
fn mean_and_error(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some((mean, squares / (count - 1.0) / count))
}

/// The p-values as Benjamini and Hochberg (1995) adjust them for their number, in the same order.
pub(crate) fn adjusted(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[b].total_cmp(&p[a]));
    let mut adjusted = vec![1.0; p.len()];
    let mut min = 1.0f64;
    // From the largest down: none may be above a larger one's.
    for (n, &at) in order.iter().enumerate() {
        min = min.min(p[at] * p.len() as f64 / (p.len() - n) as f64);
        adjusted[at] = min;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checked against `scipy.stats.ttest_ind(b, a, equal_var=False)`.
    #[test]
    fn welch_says_what_others_say() {
        let test =
            test(&[27.5, 21.0, 19.0, 23.6, 17.0, 17.9], &[27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0])
                .expect("enough runs");
        assert!((test.p - REFERENCE.0).abs() < 1e-6, "{test:?}");
        assert!((test.interval.0 - REFERENCE.1).abs() < 1e-5, "{test:?}");
        assert!((test.interval.1 - REFERENCE.2).abs() < 1e-5, "{test:?}");
    }

    /// p, and the ends of the interval.
    const REFERENCE: (f64, f64, f64) = (0.201_988_677_4, -1.696_094_052_2, 6.696_094_052_2);

    fn mean(values: &[f64], step: Option<f64>) -> Mean {
        let error = step.map(|step| TimeError { step, ..TimeError::default() });
        Mean::of(&values.iter().map(|&value| Measured { value, error }).collect::<Vec<_>>())
    }

    /// As Welch's test at 5 % has it; the ends miss with 2.5 % each.
    #[test]
    fn ranges_are_welchs() {
        let before = mean(&[27.5, 21.0, 19.0, 23.6, 17.0, 17.9], None);
        let after = mean(&[27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0], None);
        let (start, end) = range(before, after, 0.025);
        assert!((start - REFERENCE.1).abs() < 1e-5 && (end - REFERENCE.2).abs() < 1e-5, "{start} {end}");
        let (start, end) = range(before, after, 0.001);
        assert!(start < REFERENCE.1 - 1.0 && end > REFERENCE.2 + 1.0, "{start} {end}");
    }

    #[test]
    fn one_run_has_the_error_of_its_machine_and_exact_ones_none() {
        let [before, after] = [100.0, 130.0].map(|value| mean(&[value], None));
        assert_eq!(excess(before, after, 0.3, 0.001), (0.0, 0.0));
        let [before, after] = [100.0, 130.0].map(|value| mean(&[value], Some(0.0)));
        let (start, end) = excess(before, after, 0.02, 0.001);
        assert!(start < 0.0 && end > 100.0, "{start} {end}");
        let (start, _) = excess(before, mean(&[1000.0], Some(0.0)), 0.02, 0.001);
        assert!(start > 0.0, "{start}");
    }

    #[test]
    fn a_run_without_samples_says_nothing() {
        let error = Some(TimeError { error: f64::INFINITY, ..TimeError::default() });
        let nothing = Measured { value: 0.0, error };
        let before = mean(&[100.0], Some(1.0));
        for after in [Mean::of(&[nothing]), Mean::of(&[nothing, Measured { value: 100.0, error: None }])] {
            assert_eq!(excess(before, after, 0.02, 0.001), (f64::NEG_INFINITY, f64::INFINITY));
            assert_eq!(excess(after, before, 0.02, 0.001), (f64::NEG_INFINITY, f64::INFINITY));
        }
    }

    /// All runs of a side agree, while the machine was as busy.
    #[test]
    fn speed_drifts_more_on_a_busy_machine() {
        let mean = |value, waited| {
            let error = Some(TimeError { waited, ..TimeError::default() });
            Mean::of(&[Measured { value, error }; 10])
        };
        let starts = [0.0, 0.5].map(|waited| range(mean(100.0, waited), mean(104.0, waited), 0.001).0);
        assert!(starts[0] > 0.0 && starts[1] < 0.0, "{starts:?}");
    }

    /// Two samples in each of three runs, and then three: the runs agree by chance.
    #[test]
    fn runs_that_agree_are_rounded() {
        let (before, after) = (mean(&[2.0; 3], Some(1.0)), mean(&[3.0; 3], Some(1.0)));
        assert!(range(before, after, 0.001).0 < 0.0);
        let (before, after) = (mean(&[2.0; 3], None), mean(&[3.0; 3], None));
        assert_eq!(range(before, after, 0.01), (1.0, 1.0));
    }

    #[test]
    fn few_runs_or_equal_ones_are_no_trouble() {
        assert_eq!(test(&[1.0], &[2.0, 3.0]), None);
        assert_eq!(test(&[], &[]), None);
        let same = |before, after| test(&[before; 3], &[after; 3]).map(|test| (test.p, test.interval));
        assert_eq!(same(5.0, 5.0), Some((1.0, (0.0, 0.0))));
        assert_eq!(same(5.0, 6.0), Some((0.0, (1.0, 1.0))));
    }

    /// R: `p.adjust(c(0.01, 0.04, 0.03, 0.5), "BH")`.
    #[test]
    fn many_tests_are_adjusted_for() {
        let close = adjusted(&[0.01, 0.04, 0.03, 0.5]);
        for (told, wanted) in close.iter().zip([0.04, 0.04 * 4.0 / 3.0, 0.04 * 4.0 / 3.0, 0.5]) {
            assert!((told - wanted).abs() < 1e-12, "{close:?}");
        }
        assert_eq!(adjusted(&[]), Vec::<f64>::new());
    }
}
