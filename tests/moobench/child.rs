//! The process that a configuration runs in.

use crate::configuration::{Configuration, Host, Target, Way};
use crate::guest;
use crate::tools::Tools;
use crate::workload::Job;
use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::Command;

/// Bytes of a record of Kieker's binary format that says of one call all that this one has.
const KIEKER_RECORD: u64 = 56;

/// What a child is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ChildJob {
    pub(crate) job: Job,
    pub(crate) way: Way,
    /// A folder for what it writes.
    pub(crate) folder: PathBuf,
}

/// What it answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// Nanoseconds of each batch.
    pub(crate) batches: Vec<f64>,
    /// Nanoseconds until all was written or sent, if anything was.
    #[serde(default)]
    pub(crate) whole_nanos: f64,
    /// What was recorded, where somebody counts.
    #[serde(default)]
    pub(crate) events: Option<u64>,
    /// What was written.
    #[serde(default)]
    pub(crate) bytes: u64,
}

/// Runs a configuration in a new process.
pub(crate) fn run(configuration: &Configuration, job: &Job, tools: &Tools) -> anyhow::Result<Measured> {
    let folder = tempfile::tempdir()?;
    let child = ChildJob { job: job.clone(), way: configuration.way, folder: folder.path().to_owned() };
    let mut command = match (configuration.host, configuration.way) {
        (_, Way::GuestProfiler) => tools.guest_profiler(&child)?,
        (Host::Wasmtime, _) => {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("--child").arg(serde_json::to_string(&child)?);
            command
        }
        (Host::Node, _) => tools.node(&child, rewritten(&child)?)?,
        (Host::Jvm, _) => tools.java(&child)?,
    };
    command.current_dir(folder.path());
    let taken = || tools.collector.as_ref().map_or(0, |collector| collector.accepted());
    let before = taken();
    let output = command.output().with_context(|| format!("failed to run {command:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {errors}");
    let text = String::from_utf8(output.stdout)?;
    let line =
        text.lines().rfind(|line| line.starts_with('{')).with_context(|| format!("no answer: {text}"))?;
    let mut measured: Measured = serde_json::from_str(line)?;
    ensure!(measured.batches.len() == job.batches().1 as usize, "{} batches", measured.batches.len());
    if configuration.host == Host::Node {
        let trace = folder.path().join("guest.kperf");
        match configuration.way {
            Way::Profile { .. } => {
                let (counted, calls) = (guest::counted(&trace)?, job.calls_of_monitored());
                ensure!(counted >= calls, "{counted} calls counted where {calls} are right");
                measured.events = Some(2 * counted);
            }
            Way::Recorder { target: Target::Text, .. } => {
                measured.whole_nanos += guest::to_text(&trace, folder.path())?;
                measured.bytes = guest::folder_size(folder.path())?;
            }
            _ => {}
        }
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
        measured.bytes = guest::folder_size(folder.path())?;
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

/// The module with probes for a host in another process, in the child's folder.
fn rewritten(child: &ChildJob) -> anyhow::Result<PathBuf> {
    let module = child.job.workload.module(&child.job.root);
    if child.way == Way::None {
        return Ok(module);
    }
    let options = kperf_rewriter::Options {
        probe: child.way.probe(),
        leaf: child.way.leaf(),
        filter: guest::filter(&child.job)?,
        ..Default::default()
    };
    let rewritten = kperf_rewriter::rewrite(&std::fs::read(module)?, &options)?;
    // Not in the folder whose bytes are counted.
    let path = std::env::temp_dir().join(format!("kperf-moobench-{}.wasm", std::process::id()));
    std::fs::write(&path, rewritten.wasm)?;
    Ok(path)
}
