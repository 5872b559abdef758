//! The same in node, in one process. It doesn't tell what each of its other threads takes, only all of them, and what the guest's thread
//! takes only of many runs together.

use super::Part;
use crate::child;
use crate::child_job::Measured;
use crate::tools::Tools;
use crate::way::{Clock, Host, Target, Way};
use crate::workload::{Job, Workload};
use anyhow::Context;
use std::path::Path;

/// What was seen of a program. Figures are of the rounds that took the least time.
#[derive(Debug)]
pub(crate) struct Sustained {
    workload: Workload,
    plain: Run,
    recorded: Run,
    /// Calls of a run.
    calls: f64,
}

/// Nanoseconds of a run.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Both are means.
    guest: Part,
    waits: f64,
    others: f64,
    /// How much longer than the guests it took until the file was complete, as a part of their time.
    late: f64,
}

/// Runs a program with and without probes in turn, for some rounds. The first one is for V8, which compiles meanwhile.
pub(crate) fn measure(
    root: &Path,
    workload: &Workload,
    rounds: usize,
    tools: &Tools,
) -> anyhow::Result<Sustained> {
    let ways = vec![Way::None, Way::Recorder { inside: true, clock: Clock::Ticker, target: Target::File }];
    let order = [0, 1].repeat(1 + rounds.max(1));
    let job = Job { root: root.to_owned(), workload: workload.clone(), calls: 1, endpoint: None };
    let long = super::LONG.as_nanos() as f64;
    let runs = child::run_all(Host::Node, ways, &order, long, &job, tools)?.split_off(2);
    let least = |at: usize| {
        let runs = runs.iter().skip(at).step_by(2);
        runs.min_by(|a, b| mean(a).total_cmp(&mean(b))).context("no rounds")
    };
    let (plain, recorded) = (least(0)?, least(1)?);
    let events = recorded.events.context("node doesn't say how many events there were")?;
    let calls = events as f64 / 2.0 / recorded.batches.len() as f64;
    Ok(Sustained { workload: workload.clone(), plain: run(plain)?, recorded: run(recorded)?, calls })
}

fn mean(measured: &Measured) -> f64 {
    measured.nanos() / measured.batches.len() as f64
}

fn run(measured: &Measured) -> anyhow::Result<Run> {
    let sustained = measured.sustained.context("node doesn't say what its threads took")?;
    let runs = measured.batches.len() as f64;
    let thread = measured.thread_nanos.unwrap_or(f64::NAN) / runs;
    Ok(Run {
        guest: Part { wall: mean(measured), thread },
        waits: sustained.waits / runs,
        others: sustained.others.unwrap_or(f64::NAN) / runs,
        late: sustained.late / measured.nanos(),
    })
}

/// A row for each program.
pub(crate) fn table(measured: &[Sustained]) -> String {
    let mut text = String::from(
        "| program | M calls a run | ms without probes | added by the wall | on the guest's thread | waiting | \
         other threads | file complete |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for Sustained { workload, plain, recorded, calls } in measured {
        let a_call = |nanos: f64| nanos / calls;
        text += &format!(
            "| {workload} | {:.1} | {:.0} | {:.1} | {:.1} | {:.1} | {:.1} | +{:.1} % |\n",
            calls / 1e6,
            plain.guest.wall / 1e6,
            a_call(recorded.guest.wall - plain.guest.wall),
            a_call(recorded.guest.thread - plain.guest.thread),
            a_call(recorded.waits),
            a_call(recorded.others - plain.others),
            100.0 * recorded.late,
        );
    }
    text
}
