//! Welch's t-test (Welch, 1947): whether two sets of figures differ by more than chance, also if their variances differ.

use statrs::distribution::{ContinuousCDF, StudentsT};

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
