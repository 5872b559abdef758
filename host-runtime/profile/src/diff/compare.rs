//! Compares two sets of runs, function by function or path by path.

use crate::diff::welch::{self, Mean, MeanError, Measured, Test, TimeError};
use crate::reading::profile::Profile;
use crate::sampled::precision::Precision;
use crate::symbols::is_outside;
use crate::tree::groups::Group;
use crate::tree::nodes::CallTree;
use crate::tree::paths::Paths;
use crate::unit::Unit;
use kperf_abi::FuncId;
use kperf_trace::{ProbeCost, WAITING_FOR_PROCESSOR};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// The figures of one function, or of one path, in one run. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// How often it was called.
    pub calls: f64,
    /// Whether its calls were only counted: then its times are not known.
    pub is_counted: bool,
    /// How long it was open.
    pub total_nanos: f64,
    /// How long it was running itself, without the calls that it made.
    pub self_nanos: f64,
}

/// What a run knows of the errors of its times.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TimeErrors {
    /// `None` if each event read the clock.
    precision: Option<Precision>,
    /// The share of the run in which its threads waited for a processor: so busy was the machine.
    waited: f64,
    /// How much slower than the fastest run the third one was, as a share, after [`Sample::at_one_speed`].
    spread: Option<f64>,
}

/// One run's figures, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// The key is the function's name, or the names on the path with [`Sample::SEPARATOR`] between them.
    pub by_name: BTreeMap<String, Figures>,
    /// The sums over all of them. The total here is the sum of all self times.
    pub whole: Figures,
    /// The unit of the times.
    pub unit: Unit,
    /// `None` for exact times.
    errors: Option<TimeErrors>,
}

impl Sample {
    /// Separates the names of a path.
    pub const SEPARATOR: &'static str = " > ";

    /// The figures of each function. Functions that get the same name from `name_of` count as one.
    pub fn by_function(
        profile: &Profile,
        compensate: Option<&ProbeCost>,
        name_of: impl FnMut(FuncId) -> String,
    ) -> Sample {
        let groups = Group::all(&profile.tree, &profile.symbols, &profile.header, compensate, name_of);
        let figures = |group: Group| {
            let Group { name, is_counted, calls, total_nanos, self_nanos, .. } = group;
            (name, Figures { calls: calls as f64, is_counted, total_nanos, self_nanos })
        };
        Sample::new(groups.into_iter().map(figures).collect(), profile)
    }

    /// The figures of each path.
    pub fn by_path(profile: &Profile, mut name_of: impl FnMut(FuncId) -> String) -> Sample {
        let tree = &profile.tree;
        let nanos_per_tick = 1e9 / profile.header.clock.ticks_per_second;
        let mut names: FxHashMap<FuncId, String> = FxHashMap::default();
        let length_of = |func| names.entry(func).or_insert_with(|| name_of(func)).len() + 1;
        let paths = Paths::new(tree, length_of, Paths::MAX_KEPT);
        let mut by_name: BTreeMap<String, Figures> = BTreeMap::new();
        let (mut path, mut lengths) = (String::new(), Vec::new());
        tree.walk(|id, entered| {
            let (Some(node), Some(weights)) = (tree.get(id), paths.weights(tree, id)) else { return };
            if !entered {
                path.truncate(lengths.pop().unwrap_or(0));
                return;
            }
            lengths.push(path.len());
            if !path.is_empty() {
                path.push_str(Sample::SEPARATOR);
            }
            path.push_str(names.get(&node.func).map_or("", String::as_str));
            if !is_outside(node.func) {
                let figures = by_name.entry(path.clone()).or_default();
                figures.calls += weights.calls as f64;
                figures.is_counted |= profile.symbols.is_counted(node.func);
                figures.total_nanos += node.total_ticks as f64 * nanos_per_tick;
                figures.self_nanos += weights.self_ticks as f64 * nanos_per_tick;
            }
        });
        Sample::new(by_name, profile)
    }

    fn new(by_name: BTreeMap<String, Figures>, profile: &Profile) -> Sample {
        let mut whole = Figures::default();
        for figures in by_name.values() {
            whole.calls += figures.calls;
            whole.self_nanos += figures.self_nanos;
        }
        whole.total_nanos = whole.self_nanos;
        let unit = Unit::of(&profile.header);
        // The test clock counts its readings.
        let is_exact = unit == Unit::Instructions || profile.header.clock.source == "test";
        let errors = (!is_exact).then(|| TimeErrors {
            precision: profile.precision(whole.self_nanos),
            waited: waited_share(&profile.tree),
            spread: None,
        });
        Sample { by_name, whole, unit, errors }
    }

    /// Gives the runs of a recording the speed of the fastest one, if all made the same calls: whatever else runs on the machine makes
    /// a run slower, all its functions alike. How far the fastest three are apart says how well that speed is known.
    pub fn at_one_speed(runs: &mut [Sample]) {
        let mut times: Vec<f64> = runs.iter().map(|run| run.whole.self_nanos).collect();
        times.sort_by(f64::total_cmp);
        let [fastest, _, third, ..] = times[..] else { return };
        let calls = runs.first().map(|run| run.whole.calls);
        if fastest <= 0.0 || runs.iter().any(|run| Some(run.whole.calls) != calls) {
            return;
        }
        for Sample { by_name, whole, errors, .. } in runs {
            let Some(errors) = errors else { continue };
            errors.spread = Some(third / fastest - 1.0);
            let factor = fastest / whole.self_nanos;
            for figures in by_name.values_mut().chain([whole]) {
                figures.self_nanos *= factor;
                figures.total_nanos *= factor;
            }
        }
    }

    /// A function's figure, and its error. A function that the run doesn't have took no time.
    fn measured(&self, figures: Option<&Figures>, metric: Metric) -> Measured {
        let Some(figures) = figures else { return Measured { value: 0.0, error: None } };
        let value = metric.of(figures);
        let errors = self.errors.filter(|_| metric != Metric::Calls);
        let error = errors.map(|TimeErrors { precision, waited, spread }| TimeError {
            error: precision.map_or(0.0, |precision| precision.standard_error(value)),
            step: precision.map_or(0.0, |precision| precision.resolution_nanos),
            waited,
            spread,
        });
        Measured { value, error }
    }
}

/// How much of the time of a tree is waits for a processor.
fn waited_share(tree: &CallTree) -> f64 {
    let waits = tree.iter().filter(|(_, node)| node.func == WAITING_FOR_PROCESSOR);
    let waited = waits.fold(0u64, |sum, (_, node)| sum.saturating_add(node.self_ticks));
    (waited as f64 / tree.total_ticks().max(1) as f64).min(1.0)
}

/// One of the figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// [`Figures::self_nanos`].
    #[default]
    SelfTime,
    /// [`Figures::total_nanos`].
    Total,
    /// [`Figures::calls`].
    Calls,
}

impl Metric {
    fn of(self, figures: &Figures) -> f64 {
        match self {
            Metric::SelfTime => figures.self_nanos,
            Metric::Total => figures.total_nanos,
            Metric::Calls => figures.calls,
        }
    }
}

/// A figure before and after: means over the runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// In the runs before.
    pub before: f64,
    /// In the runs after.
    pub after: f64,
    /// The result of Welch's test; `None` unless there are two runs or more on both sides.
    pub test: Option<Test>,
    /// The errors of `before` and of `after`.
    errors: [MeanError; 2],
}

impl Change {
    fn new(before: &[Measured], after: &[Measured]) -> Change {
        let values = |runs: &[Measured]| runs.iter().map(|run| run.value).collect::<Vec<f64>>();
        let means = [Mean::of(before), Mean::of(after)];
        let is_known = before.iter().chain(after).all(Measured::is_known);
        let test = welch::test(&values(before), &values(after)).filter(|_| is_known);
        Change { before: means[0].mean, after: means[1].mean, test, errors: means.map(MeanError::of) }
    }

    /// The range in which `after` is above `(1 + growth) before`. It misses at each end with a probability of `miss`.
    pub fn excess(&self, growth: f64, miss: f64) -> (f64, f64) {
        let [before, after] = self.errors;
        welch::excess(before.with(self.before), after.with(self.after), growth, miss)
    }

    /// Half of the intervals of 95 % confidence of both means, as far as the runs show them; `None` for exact values.
    pub(crate) fn seen_errors(&self) -> Option<[f64; 2]> {
        Some(self.errors.map(MeanError::seen)).filter(|errors| errors.iter().any(|error| *error > 0.0))
    }

    /// After less before.
    pub fn difference(&self) -> f64 {
        self.after - self.before
    }

    /// After divided by before; `None` for what wasn't there before.
    pub fn ratio(&self) -> Option<f64> {
        (self.before > 0.0).then(|| self.after / self.before)
    }

    /// Whether the change is significant at 5 %. `None` if there are too few runs to tell.
    pub fn is_significant(&self) -> Option<bool> {
        self.test.map(|test| test.p_adjusted < 0.05)
    }
}

/// One function or path on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffRow {
    /// Its name, or its path.
    pub name: String,
    /// Whether any run before had it.
    pub was_there: bool,
    /// Whether any run after has it.
    pub is_there: bool,
    /// Whether its calls were only counted, on one side or on both. Then its times can't be compared: they are 0 here.
    pub is_counted: bool,
    /// How often it was called.
    pub calls: Change,
    /// Its totals.
    pub total_nanos: Change,
    /// Its self times.
    pub self_nanos: Change,
}

impl DiffRow {
    /// The change of one figure.
    pub fn change(&self, metric: Metric) -> &Change {
        match metric {
            Metric::SelfTime => &self.self_nanos,
            Metric::Total => &self.total_nanos,
            Metric::Calls => &self.calls,
        }
    }
}

/// What has changed between two sets of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileDiff {
    /// Ordered by how much the metric has changed, the most first, whether up or down; then by name.
    pub rows: Vec<DiffRow>,
    /// All together.
    pub whole: DiffRow,
    /// The unit of the times, which must be the same in all runs.
    pub unit: Unit,
}

impl ProfileDiff {
    /// Compares the runs. If a run lacks a function or path of its side, it counts as 0 there.
    pub fn new(before: &[Sample], after: &[Sample], metric: Metric) -> ProfileDiff {
        let names: BTreeSet<&String> =
            before.iter().chain(after).flat_map(|sample| sample.by_name.keys()).collect();
        let row = |name: &String| {
            let [before, after] = [before, after].map(|samples| {
                samples.iter().map(|sample| (sample, sample.by_name.get(name))).collect::<Vec<_>>()
            });
            diff_row(name.clone(), &before, &after)
        };
        let mut rows: Vec<DiffRow> = names.into_iter().map(row).collect();
        adjust(&mut rows, metric);
        let size = |row: &DiffRow| row.change(metric).difference().abs();
        rows.sort_by(|a, b| size(b).total_cmp(&size(a)).then_with(|| a.name.cmp(&b.name)));
        let unit = before.first().map_or(Unit::Time, |sample| sample.unit);
        let [before, after] = [before, after]
            .map(|samples| samples.iter().map(|sample| (sample, Some(&sample.whole))).collect::<Vec<_>>());
        ProfileDiff { rows, whole: diff_row("all".to_owned(), &before, &after), unit }
    }
}

/// The figures of one function in a run.
type OfRun<'a> = (&'a Sample, Option<&'a Figures>);

fn diff_row(name: String, before: &[OfRun<'_>], after: &[OfRun<'_>]) -> DiffRow {
    let is_there = |side: &[OfRun<'_>]| side.iter().any(|(_, figures)| figures.is_some());
    let figures = || before.iter().chain(after).filter_map(|(_, figures)| *figures);
    let is_counted = figures().any(|figures| figures.is_counted);
    let change = |metric: Metric| {
        if is_counted && metric != Metric::Calls {
            return Change::default();
        }
        let measured = |side: &[OfRun<'_>]| {
            side.iter().map(|(sample, figures)| sample.measured(*figures, metric)).collect::<Vec<_>>()
        };
        Change::new(&measured(before), &measured(after))
    };
    DiffRow {
        name,
        was_there: is_there(before),
        is_there: is_there(after),
        is_counted,
        calls: change(Metric::Calls),
        total_nanos: change(Metric::Total),
        self_nanos: change(Metric::SelfTime),
    }
}

fn adjust(rows: &mut [DiffRow], metric: Metric) {
    let p: Vec<f64> = rows.iter().filter_map(|row| Some(row.change(metric).test?.p)).collect();
    let changes = rows.iter_mut().map(|row| match metric {
        Metric::SelfTime => &mut row.self_nanos,
        Metric::Total => &mut row.total_nanos,
        Metric::Calls => &mut row.calls,
    });
    let tests = changes.filter_map(|change| change.test.as_mut());
    for (test, adjusted) in tests.zip(welch::adjusted(&p)) {
        test.p_adjusted = adjusted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs in which `f` and `g` take these times.
    fn runs(times: &[[f64; 2]]) -> Vec<Sample> {
        let figures =
            |self_nanos| Figures { calls: 1.0, self_nanos, total_nanos: self_nanos, is_counted: false };
        let run = |[f, g]: &[f64; 2]| Sample {
            by_name: BTreeMap::from([("f".to_owned(), figures(*f)), ("g".to_owned(), figures(*g))]),
            whole: Figures { calls: 2.0, ..figures(f + g) },
            unit: Unit::Time,
            errors: Some(TimeErrors { precision: None, waited: 0.0, spread: None }),
        };
        times.iter().map(run).collect()
    }

    #[test]
    fn runs_have_the_speed_of_the_fastest() {
        let of_f = |runs: &[Sample]| runs.iter().map(|run| run.by_name["f"].self_nanos).collect::<Vec<_>>();
        // The machine was slower twice, and once by half.
        let mut slower = runs(&[[60.0, 40.0], [66.0, 44.0], [90.0, 60.0], [61.2, 40.8]]);
        Sample::at_one_speed(&mut slower);
        assert!(of_f(&slower).iter().all(|nanos| (nanos - 60.0).abs() < 1e-9), "{:?}", of_f(&slower));
        let spread = slower[0].errors.and_then(|errors| errors.spread);
        assert!(spread.is_some_and(|spread| (spread - 0.1).abs() < 1e-9), "{spread:?}");
        // Two runs don't say which of them was disturbed, and other calls are other work.
        let mut two = runs(&[[60.0, 40.0], [66.0, 44.0]]);
        Sample::at_one_speed(&mut two);
        assert_eq!(of_f(&two), [60.0, 66.0]);
        let mut others = runs(&[[60.0, 40.0], [66.0, 44.0], [90.0, 60.0]]);
        others[1].whole.calls += 1.0;
        Sample::at_one_speed(&mut others);
        assert_eq!(of_f(&others), [60.0, 66.0, 90.0]);
    }
}
