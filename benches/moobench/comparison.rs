//! The figures of configurations that ran in turn. Each run stands between two without probes. If the machine's speed varies, it
//! changes these too. So each run is divided by the two beside it, and a configuration's figure is the median.

use crate::child;
use crate::child_job::Measured;
use crate::configuration::Configuration;
use crate::statistics::Spread;
use crate::tools::Tools;
use crate::workload::Job;
use anyhow::{Context, ensure};
use statrs::statistics::{Data, OrderStatistics};

/// By how much configurations may disagree on how many calls there were: programs hash with random numbers.
const DIFFERENT_CALLS: f64 = 1e-3;

/// One configuration's figures.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) name: &'static str,
    /// Milliseconds of a run: the median.
    pub(crate) millis: f64,
    /// Each run as a ratio to the runs without probes right before and after it. One without probes itself is held against the
    /// two beside it, and tells how much of the others' spread is the machine's.
    pub(crate) ratio: Spread,
    /// The same for the time that the guest's thread ran; it differs where the thread had to wait for a processor.
    pub(crate) thread_ratio: Option<Spread>,
    /// The least run as a ratio to the least without probes.
    pub(crate) least_ratio: f64,
    /// Calls of a run, where somebody counts.
    pub(crate) calls: Option<u64>,
    /// Nanoseconds that were added to each call.
    pub(crate) added: Option<Spread>,
}

/// Runs the configurations of a host, the first of which has no probes, in turn in one process.
pub(crate) fn compare(
    configurations: &[Configuration],
    rounds: usize,
    job: &Job,
    tools: &Tools,
) -> anyhow::Result<Vec<Comparison>> {
    // Once for what only the first run has: memory that no process had before, code that is not yet compiled.
    let warming: Vec<usize> = (0..configurations.len()).collect();
    let order = order(configurations.len(), rounds);
    let mut runs = child::in_order(configurations, &[warming.as_slice(), &order].concat(), job, tools)?;
    let runs = runs.split_off(warming.len());
    // Those that don't count have made as many calls as the others.
    let calls = runs.iter().find_map(calls_of);
    for (run, &at) in runs.iter().zip(&order) {
        if let Some((expected, calls)) = calls.zip(calls_of(run)) {
            let name = configurations.get(at).map_or("", |configuration| configuration.name);
            let apart = (calls as f64 / expected as f64 - 1.0).abs();
            ensure!(apart <= DIFFERENT_CALLS, "{name}: {calls} calls where others have {expected}");
        }
    }
    configurations
        .iter()
        .enumerate()
        .map(|(at, configuration)| Comparison::new(configuration.name, at, &order, &runs, calls))
        .collect::<Option<_>>()
        .context("too few runs to compare: `--loops 2` or more")
}

/// How many calls a run has recorded, if any.
fn calls_of(run: &Measured) -> Option<u64> {
    run.events.filter(|&events| events > 0).map(|events| events / 2)
}

/// Configuration 0 before and after each of the others, round after round.
fn order(count: usize, rounds: usize) -> Vec<usize> {
    std::iter::once(0).chain((0..rounds).flat_map(|n| round(count, n))).collect()
}

/// Each configuration but the first, and the first behind it. In each round another is ahead.
pub(crate) fn round(count: usize, n: usize) -> impl Iterator<Item = usize> {
    let others = count - 1;
    (0..others).flat_map(move |at| [1 + (at + n) % others, 0])
}

impl Comparison {
    fn new(
        name: &'static str,
        at: usize,
        order: &[usize],
        runs: &[Measured],
        calls: Option<u64>,
    ) -> Option<Comparison> {
        // Every second run has no probes, and is two runs away from the next.
        let (own, distance) = if at == 0 { (2, 2) } else { (1, 1) };
        let turns: Vec<[&Measured; 3]> = (own..runs.len())
            .filter(|&n| order.get(n) == Some(&at))
            .filter_map(|n| Some([runs.get(n - distance)?, runs.get(n)?, runs.get(n + distance)?]))
            .collect();
        let ratio = |of: fn(&Measured) -> Option<f64>| {
            Spread::of(
                turns.iter().map(|[before, own, after]| Some(2.0 * of(own)? / (of(before)? + of(after)?))),
            )
        };
        let millis = |at| {
            let of = order.iter().zip(runs).filter(move |(of, _)| **of == at);
            of.map(|(_, run)| run.nanos() / 1e6).collect::<Vec<f64>>()
        };
        let least = |at| millis(at).into_iter().fold(f64::INFINITY, f64::min);
        let added = |calls: u64| {
            Spread::of(turns.iter().map(|[before, own, after]| {
                Some((own.nanos() - (before.nanos() + after.nanos()) / 2.0) / calls as f64)
            }))
        };
        Some(Comparison {
            name,
            millis: Data::new(millis(at)).median(),
            ratio: ratio(|run| Some(run.nanos()))?,
            thread_ratio: ratio(|run| run.thread_nanos),
            least_ratio: least(at) / least(0),
            calls: turns.last().and_then(|[_, run, _]| calls_of(run)),
            added: calls.filter(|_| at != 0).and_then(added),
        })
    }
}

/// The figures of a program's configurations, as Markdown.
pub(crate) fn table(rows: &[Comparison]) -> String {
    let mut text = String::from(
        "| | ms a run | x no probes (95 %) | quartiles | thread's time, x no probes (95 %) | least x least | calls | ns added a call (95 %) |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let [first, third] = row.ratio.quartiles;
        let thread = row.thread_ratio.map_or_else(String::new, |ratio| ratio.to_string());
        let calls = row.calls.map_or_else(String::new, |calls| calls.to_string());
        let added = row.added.map_or_else(String::new, |added| added.to_string());
        text += &format!(
            "| {} | {:.2} | {} | {first:.2} / {third:.2} | {thread} | {:.2} | {calls} | {added} |\n",
            row.name, row.millis, row.ratio, row.least_ratio,
        );
    }
    text
}

/// A ratio of each configuration of several programs, as Markdown; nothing without any.
pub(crate) fn ratios<'a>(
    programs: impl Iterator<Item = (String, &'a [Comparison])>,
    ratio: fn(&Comparison) -> Option<Spread>,
) -> String {
    let mut text = String::new();
    for (name, rows) in programs {
        let Some((plain, others)) = rows.split_first() else { continue };
        if text.is_empty() {
            let heads: Vec<&str> = others.iter().map(|row| row.name).collect();
            text += &format!("| | no probes | {} |\n", heads.join(" | "));
            text += &format!("|---|--:|{}\n", "--:|".repeat(others.len()));
        }
        text += &format!("| {name} | {:.0} ms |", plain.millis);
        for row in others {
            text += &ratio(row).map_or_else(|| " |".to_owned(), |ratio| format!(" {ratio} |"));
        }
        text.push('\n');
    }
    text
}
