//! Running a program twice.

use crate::case::{Case, Host};
use crate::packages::Packages;
use crate::stats::Stats;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

const CLI: &str = env!("CARGO_BIN_EXE_kperf-wasm");

/// What a program's rewritten modules did, or how they behaved otherwise than the originals.
pub(crate) fn compare(case: &Case, packages: &Packages) -> Result<Stats, String> {
    let scratch = tempfile::tempdir().unwrap();
    let [mut plain, mut probed] = match &case.host {
        Host::Wasmtime { module, args } => [true, false].map(|plain| {
            let mut command = Command::new(CLI);
            command.arg("run");
            if plain {
                command.arg("--plain");
            } else {
                command.arg("--quiet").arg("--trace").arg(scratch.path().join("trace.kperf"));
            }
            command.args(["--dir", ".", module, "--"]).args(args);
            command
        }),
        Host::Node | Host::NewNode => [true, false].map(|plain| {
            let mut command = match case.host {
                Host::NewNode => Command::new(packages.new_node()),
                _ => Command::new("node"),
            };
            command.arg(format!("{}.mjs", case.name));
            if !plain {
                let preload = packages.folder.join("preload.mjs");
                command.env("NODE_OPTIONS", format!("--import {}", preload.display()));
                command.env("KPERF_WASM", CLI).env("KPERF_STATS", scratch.path());
                command.env("KPERF_SHIM", concat!(env!("CARGO_MANIFEST_DIR"), "/guest-shim"));
            }
            command
        }),
    };
    let begun = Instant::now();
    let expected =
        plain.current_dir(&packages.folder).output().map_err(|error| format!("{plain:?}: {error}"))?;
    let half = Instant::now();
    let actual = probed.current_dir(&packages.folder).output().map_err(|error| error.to_string())?;
    let times = [half - begun, half.elapsed()].map(|time| time.as_secs_f64());
    let (before, after) = (said(&expected), said(&actual));
    if before != after || expected.stdout.is_empty() {
        let errors = [&expected, &actual].map(|output| String::from_utf8_lossy(&output.stderr));
        let [before_err, after_err] = errors;
        return Err(format!("-- plain\n{before}{before_err}\n-- probed\n{after}{after_err}\n"));
    }

    let stats = match &case.host {
        Host::Wasmtime { .. } => of_trace(&scratch.path().join("trace.kperf")),
        Host::Node | Host::NewNode => Stats::collect(scratch.path()),
    };
    stats.check(&case.expect).map_err(|wrong| format!("{wrong}: {stats:?}"))?;
    println!("{:16} {:5.1} s plain, {:5.1} s probed, {stats}", case.name, times[0], times[1]);
    Ok(stats)
}

/// What counts of a run: what it printed and its exit code. stderr holds times and offsets.
fn said(output: &Output) -> String {
    format!("{}{}\n", String::from_utf8_lossy(&output.stdout), output.status)
}

/// The same counts, from what the trace says of itself.
fn of_trace(trace: &Path) -> Stats {
    let output = Command::new(CLI).args(["info", "--format", "json"]).arg(trace).output().unwrap();
    let info: Value = serde_json::from_slice(&output.stdout).unwrap();
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let modules = info["symbols"].as_array().map_or(&[][..], Vec::as_slice);
    let (enters, leaves, unwound) =
        (count(&info["calls"]), count(&info["leaves"]), count(&info["cut_short"]["unwound"]));
    Stats {
        modules: modules.len() as u64,
        probed: modules.iter().map(|module| count(&module["functions"])).sum(),
        enters,
        leaves,
        unwound,
        depth: enters - leaves - unwound,
        ..Stats::default()
    }
}
