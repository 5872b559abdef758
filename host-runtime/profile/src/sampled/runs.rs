//! Errors of shares that several runs show.

use crate::reading::profile::Profile;
use crate::sampled::sampling::{Sampling, wilson};
use crate::tree::flat::FlatProfile;
use kperf_abi::FuncId;
use rustc_hash::FxHashMap;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// How far the mean shares of self time of several runs may be off.
#[derive(Clone, Debug)]
pub struct RunErrors {
    errors: FxHashMap<FuncId, f64>,
    /// The error of a function that no sample saw.
    unseen: f64,
}

impl RunErrors {
    /// The errors of a program that ran several times: half of Student's interval of 95 % confidence, and not
    /// less than what the samples of all runs know together: few samples may agree by chance. `None` for fewer than two runs.
    pub fn of(profile: &Profile) -> Option<RunErrors> {
        let runs = profile.runs().filter(|runs| runs.len() > 1)?;
        let count = runs.len() as f64;
        // Of each function the sum of its shares, and of their squares.
        let mut sums: FxHashMap<FuncId, (f64, f64)> = FxHashMap::default();
        for run in runs {
            let flat = FlatProfile::new(&run.tree, &profile.symbols, &profile.header, None);
            for row in &flat.rows {
                let (sum, squares) = sums.entry(row.func).or_default();
                *sum += row.share;
                *squares += row.share * row.share;
            }
        }
        let quantile = StudentsT::new(0.0, 1.0, count - 1.0).ok()?.inverse_cdf(0.975);
        let samples = profile.sampling().map_or(f64::INFINITY, Sampling::effective_samples);
        let error = |(sum, squares): (f64, f64)| {
            let variance = (squares - sum * sum / count).max(0.0) / (count - 1.0);
            (quantile * (variance / count).sqrt()).max(wilson(sum / count, samples))
        };
        let errors = sums.into_iter().map(|(func, sums)| (func, error(sums))).collect();
        Some(RunErrors { errors, unseen: wilson(0.0, samples) })
    }

    /// The error of a function's share, as a share.
    pub fn share_error(&self, func: FuncId) -> f64 {
        self.errors.get(&func).map_or(self.unseen, |error| error.min(1.0))
    }

    /// The largest error of a share.
    pub fn max(&self) -> f64 {
        self.errors.values().fold(self.unseen, |max, error| error.max(max))
    }
}
