//! The process in which a configuration runs, or several in turn.

use crate::child_job::{ChildJob, Measured, TRACE};
use crate::configuration::Configuration;
use crate::guest;
use crate::tools::Tools;
use crate::way::{Host, Target, Way};
use crate::workload::Job;
use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes of a record of Kieker's binary format that says of one call all that this one has.
const KIEKER_RECORD: u64 = 56;

/// Runs a configuration in a new process.
pub(crate) fn run(configuration: &Configuration, job: &Job, tools: &Tools) -> anyhow::Result<Measured> {
    let written = tempfile::tempdir()?;
    let folder = written.path().to_owned();
    let child =
        ChildJob { job: job.clone(), ways: vec![configuration.way], order: vec![0], folder, long: 0.0 };
    let taken = || tools.collector.as_ref().map_or(0, |collector| collector.accepted());
    let before = taken();
    let mut measured = answers(configuration.host, &child, tools)?.pop().context("no run")?;
    if let (Host::Node, Way::Recorder { target: Target::Text, .. }) = (configuration.host, configuration.way)
    {
        measured.whole_nanos += guest::to_text(&child.folder.join(TRACE), &child.folder)?;
        measured.bytes = guest::folder_size(&child.folder)?;
    }
    match configuration.way {
        // What it dropped it doesn't say.
        Way::OpenTelemetry => measured.events = Some(2 * (taken() - before)),
        Way::Recorder { target: Target::Otlp, .. } => {
            let (spans, calls) = (taken() - before, job.calls_of_monitored());
            ensure!(spans == calls, "the Collector has {spans} spans of {calls} calls");
        }
        _ => {}
    }
    if measured.bytes == 0 && configuration.way != Way::None {
        measured.bytes = guest::folder_size(&child.folder)?;
    }
    if configuration.way == Way::Kieker {
        // It doesn't count either, but each record has the same size; behind them stand a few bytes of names.
        let records = measured.bytes / KIEKER_RECORD;
        let calls = job.calls_of_monitored();
        ensure!((calls..calls + 100).contains(&records), "{records} records of {calls} calls");
        measured.events = Some(2 * calls);
    }
    Ok(measured)
}

/// Runs configurations of a host in one new process, in an order of their indices; answers each run.
pub(crate) fn in_order(
    configurations: &[Configuration],
    order: &[usize],
    job: &Job,
    tools: &Tools,
) -> anyhow::Result<Vec<Measured>> {
    let host = configurations.first().context("no configuration")?.host;
    let ways = configurations.iter().map(|configuration| configuration.way).collect();
    run_all(host, ways, order, 0.0, job, tools)
}

/// Runs ways of a host in one new process; each run takes `long` nanoseconds, if that isn't 0.
pub(crate) fn run_all(
    host: Host,
    ways: Vec<Way>,
    order: &[usize],
    long: f64,
    job: &Job,
    tools: &Tools,
) -> anyhow::Result<Vec<Measured>> {
    let written = tempfile::tempdir()?;
    let folder = written.path().to_owned();
    let child = ChildJob { job: job.clone(), ways, order: order.to_owned(), folder, long };
    answers(host, &child, tools)
}

/// What a new process answers of each of its runs.
fn answers(host: Host, child: &ChildJob, tools: &Tools) -> anyhow::Result<Vec<Measured>> {
    // Not in the folder whose bytes are counted.
    let modules = tempfile::tempdir()?;
    let mut command = match (host, child.ways.as_slice()) {
        (_, [Way::GuestProfiler]) => tools.guest_profiler(child)?,
        (Host::Wasmtime, _) => {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("--child").arg(serde_json::to_string(child)?);
            command
        }
        (Host::Node, ways) => {
            let path = |(n, &way)| rewritten(child, way, &modules.path().join(format!("{n}.wasm")));
            tools.node(child, &ways.iter().enumerate().map(path).collect::<anyhow::Result<Vec<_>>>()?)?
        }
        (Host::Jvm, _) => tools.java(child)?,
    };
    command.current_dir(&child.folder);
    let output = command.output().with_context(|| format!("failed to run {command:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {errors}");
    let text = String::from_utf8(output.stdout)?;
    let line =
        text.lines().rfind(|line| line.starts_with('[')).with_context(|| format!("no answer: {text}"))?;
    let mut runs: Vec<Measured> = serde_json::from_str(line)?;
    ensure!(runs.len() == child.order.len(), "{} runs", runs.len());
    for (n, (measured, &at)) in runs.iter_mut().zip(&child.order).enumerate() {
        ensure!(
            child.long > 0.0 || measured.batches.len() == child.job.batches().1 as usize,
            "{} batches",
            measured.batches.len()
        );
        if let (Host::Node, Some(Way::Profile { .. })) = (host, child.ways.get(at)) {
            // The package for node doesn't say how many calls it has counted.
            let counted = guest::counted(&child.folder.join(format!("profile-{n}.kperf")))?;
            let calls = child.job.calls_of_monitored();
            ensure!(counted >= calls, "{counted} calls counted where {calls} are right");
            measured.events = Some(2 * counted);
        }
    }
    Ok(runs)
}

/// The module with the probes of a way for a host in another process, at `path` unless it has none.
fn rewritten(child: &ChildJob, way: Way, path: &Path) -> anyhow::Result<PathBuf> {
    let module = child.job.workload.module(&child.job.root);
    if way == Way::None {
        return Ok(module);
    }
    let options = kperf_rewriter::Options {
        recording: way.recording(),
        filter: guest::filter(&child.job)?,
        ..Default::default()
    };
    std::fs::write(path, kperf_rewriter::rewrite(&std::fs::read(module)?, &options)?.wasm)?;
    Ok(path.to_owned())
}
