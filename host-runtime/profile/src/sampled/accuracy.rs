//! The errors of a profile's figures, and the digits that they leave.

use crate::reading::profile::Profile;
use crate::report::cell::Cell;
use crate::sampled::precision::Precision;
use crate::sampled::runs::RunErrors;
use crate::sampled::sampling::Sampling;
use crate::text::{grouped, rough_text};
use crate::unit::Unit;
use kperf_abi::FuncId;
use kperf_trace::ProbeCost;

/// The errors of a profile's figures. Every view asks it, so all of them show the same digits and the same `±`.
#[derive(Clone, Debug, Default)]
pub struct Accuracy {
    /// `None` if it is unknown.
    precision: Option<Precision>,
    /// If the program ran several times.
    runs: Option<RunErrors>,
    unit: Unit,
    /// Whether no run with probes has ended: then counts are unknown, and 0 in rows.
    lacks_counts: bool,
}

impl Accuracy {
    /// The accuracy of a profile in which all self time is `self_nanos`.
    pub fn of(profile: &Profile, self_nanos: f64) -> Accuracy {
        Accuracy {
            precision: profile.precision(self_nanos).or_else(|| profile.event_precision(self_nanos)),
            runs: RunErrors::of(profile),
            unit: Unit::of(&profile.header),
            lacks_counts: !profile.has_counts(),
        }
    }

    /// The same if the cost of probes was taken off, for `Some` cost.
    #[must_use]
    pub fn compensated(self, cost: Option<&ProbeCost>) -> Accuracy {
        let precision = match (self.precision, cost) {
            (Some(precision), Some(_)) if !precision.is_sampled() => Some(precision.compensated()),
            (precision, _) => precision,
        };
        Accuracy { precision, ..self }
    }

    /// The accuracy of some of a profile's samples: all self time and all calls in them. `count_nanos`: what counting a call costs at
    /// most, if it is known.
    pub fn of_samples(
        sampling: &Sampling,
        self_nanos: f64,
        calls: u64,
        count_nanos: Option<f64>,
    ) -> Accuracy {
        let precision =
            (!sampling.is_counted()).then(|| Precision::of_samples(sampling, self_nanos, calls, count_nanos));
        Accuracy { precision, ..Accuracy::default() }
    }

    /// The precision of the samples that times rest on; `None` if each event read the clock.
    pub fn precision(&self) -> Option<&Precision> {
        self.precision.as_ref().filter(|precision| precision.is_sampled())
    }

    /// What errors of shares are made of; `None` if shares are exact.
    pub fn share_precision(&self) -> Option<&Precision> {
        self.precision.as_ref()
    }

    /// The errors that several runs show.
    pub fn runs(&self) -> Option<&RunErrors> {
        self.runs.as_ref()
    }

    /// Whether no share has an error.
    pub fn has_exact_shares(&self) -> bool {
        self.precision.is_none() && self.runs.is_none()
    }

    /// How far a function's share of all self time may be off, as a share: with 95 % confidence by sampling, at most by what probes
    /// add. `None` for exact shares.
    pub fn share_error(&self, func: FuncId, share: f64, calls: u64) -> Option<f64> {
        let by_runs = self.runs.as_ref().map(|runs| runs.share_error(func));
        by_runs.or_else(|| self.group_error(share, calls))
    }

    /// The same for functions with these calls that are no single function, or whose runs aren't known.
    pub fn group_error(&self, share: f64, calls: u64) -> Option<f64> {
        self.precision.map(|precision| precision.share_error(share, calls))
    }

    /// The same for the calls of a function on one path, of all whose share is `func_share`.
    pub fn path_error(&self, func: FuncId, (share, func_share): (f64, f64), calls: u64) -> Option<f64> {
        match &self.runs {
            None => self.group_error(share, calls),
            // Runs show how much the function's share differs. A part of it differs by less, as fewer samples do.
            Some(runs) => Some(runs.share_error(func) * part_of(share, func_share).sqrt()),
        }
    }

    /// How far the ratio of a part to its whole may be off by sampling, as a share. Both are sums of times, in nanoseconds. `None` for
    /// exact times.
    pub fn part_error(&self, nanos: f64, whole_nanos: f64) -> Option<f64> {
        self.precision().map(|precision| precision.part_error(nanos, whole_nanos))
    }

    /// A number of calls: `1,234`; empty if it is unknown.
    pub fn count_text(&self, calls: u64) -> String {
        self.count(calls).map(grouped).unwrap_or_default()
    }

    /// A number of calls, if it is known.
    pub fn count(&self, calls: u64) -> Option<u64> {
        (!self.lacks_counts).then_some(calls)
    }

    /// A number of calls as a cell.
    pub fn count_cell(&self, calls: u64) -> Cell {
        self.count(calls).map_or(Cell::Nothing, Cell::Count)
    }

    /// A sum of times: `1.23 ms`, `<3 ms`.
    pub fn time_text(&self, nanos: f64) -> String {
        self.rough(
            nanos,
            |precision| precision.sampling_error(nanos),
            |unit, nanos| unit.text(nanos.round() as u64),
        )
    }

    /// The mean of calls that take `total_nanos` together; empty if their number is unknown.
    pub fn mean_text(&self, nanos: f64, total_nanos: f64, calls: u64) -> String {
        if self.lacks_counts {
            return String::new();
        }
        let error = |precision: &Precision| precision.sampling_error(total_nanos) / calls.max(1) as f64;
        self.rough(nanos, error, Unit::fine_text)
    }

    /// The time of a single call. Its beginning and its end each lie somewhere between two ticks.
    pub fn call_text(&self, nanos: f64) -> String {
        self.rough(
            nanos,
            |precision| precision.resolution_nanos,
            |unit, nanos| unit.text(nanos.round() as u64),
        )
    }

    /// A share and its error in percent: `58.6 ± 1.1 %`, `58.6 %` if there is none.
    pub fn percent_text(share: f64, error: Option<f64>) -> String {
        let error = error.map(|error| format!(" ± {:.1}", 100.0 * error)).unwrap_or_default();
        format!("{:.1}{error} %", 100.0 * share)
    }

    /// A sum of times as a cell; `Untimed` if the calls were counted only.
    pub fn time_cell(&self, nanos: f64, is_counted: bool) -> Cell {
        match self.precision() {
            Some(precision) if !is_counted => {
                Cell::Sampled { nanos, error_nanos: precision.sampling_error(nanos) }
            }
            _ => Cell::time(nanos, is_counted),
        }
    }

    fn rough(
        &self,
        nanos: f64,
        error: impl Fn(&Precision) -> f64,
        exact: impl Fn(Unit, f64) -> String,
    ) -> String {
        match self.precision() {
            Some(precision) => rough_text(nanos, error(precision)),
            None => exact(self.unit, nanos),
        }
    }
}

/// A part of a whole, from 0 to 1; 1 of nothing.
fn part_of(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_their_samples_know() {
        let sampling =
            Sampling { period_nanos: 1_000_000, busy_ticks: 1_000, squares: 1_000.0, ..Sampling::default() };
        let sampled = Accuracy::of_samples(&sampling, 1e9, 0, None);
        let error = |share| sampled.share_error(FuncId(1), share, 0);
        assert_eq!(Accuracy::percent_text(0.5, error(0.5)), "50.0 ± 3.1 %");
        assert_eq!([sampled.time_text(5e8), sampled.time_text(1e5)], ["500 ms", "<3 ms"].map(str::to_owned));
        assert_eq!(sampled.mean_text(5e4, 5e8, 10_000), "50 us");
        assert_eq!(sampled.call_text(4e5), "<2 ms");
        // Half of a tenth of the samples.
        assert!((sampled.part_error(5e7, 1e8).unwrap_or_default() - 0.096).abs() < 1e-3);
        let exact = Accuracy::default();
        assert_eq!((exact.share_error(FuncId(1), 0.5, 1), exact.has_exact_shares()), (None, true));
        assert_eq!([exact.time_text(1.5e6), exact.mean_text(3.25, 0.0, 0)], ["1.500 ms", "3.2 ns"]);
        assert_eq!(Accuracy::percent_text(0.5, None), "50.0 %");
        assert_eq!(exact.time_cell(3.0, true), Cell::Untimed);
        // Times of a clock are exact, but each call of these three has 20 ns of its probes: 40 in a real program.
        let cost = ProbeCost { inside_nanos: 5.0, outside_nanos: 15.0 };
        let precision = Some(Precision::of_events(10.0, 1e6, 3_000, &cost));
        let precise = Accuracy { precision, ..exact };
        assert!((precise.share_error(FuncId(1), 0.5, 3_000).unwrap_or_default() - 0.06).abs() < 1e-9);
        // Half of that, if the measured 20 ns were taken off.
        let compensated = precise.clone().compensated(Some(&cost));
        assert!((compensated.share_error(FuncId(1), 0.5, 3_000).unwrap_or_default() - 0.03).abs() < 1e-9);
        assert_eq!([precise.time_text(1.5e6), precise.mean_text(3.25, 0.0, 0)], ["1.500 ms", "3.2 ns"]);
        assert_eq!((precise.part_error(1.0, 2.0), precise.has_exact_shares()), (None, false));
    }
}
