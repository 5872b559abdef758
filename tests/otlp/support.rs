//! Runs our program and reads its output.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Our program, in a folder, without what this environment says of OpenTelemetry.
pub fn kperf(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kperf-wasm"));
    command.args(args).current_dir(folder).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("OTEL_") || name == "TRACEPARENT" {
            command.env_remove(name);
        }
    }
    command
}

pub fn module(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/game-of-life").join(language).join("life.wasm")
}

/// A trace of the Game of Life, `life.kperf`, and how many calls it has.
pub fn record(language: &str, clock: &str, steps: &str) -> (TempDir, u64) {
    let folder = tempfile::tempdir().unwrap();
    let module = module(language);
    let args = ["run", "-q", "--clock", clock, "--trace", "life.kperf", module.to_str().unwrap(), steps];
    let output = kperf(folder.path(), &args).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let calls = calls(folder.path());
    (folder, calls)
}

/// How many calls a trace has, as the report counts them.
pub fn calls(folder: &Path) -> u64 {
    let output = kperf(folder, &["report", "life.kperf", "--format", "json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["calls"].as_u64().unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The delivery table's numbers, in its order: expected, elided, dropped, attempted, acknowledged, rejected, failed.
pub fn table(stderr: &str) -> [u64; 7] {
    ["expected", "elided", "dropped", "attempted", "acknowledged", "rejected", "failed"].map(|name| {
        let row = stderr.lines().find(|line| line.split_whitespace().next() == Some(name));
        let row = row.unwrap_or_else(|| panic!("no row `{name}` in\n{stderr}"));
        row.split_whitespace().nth(1).unwrap().replace(',', "").parse().unwrap()
    })
}

/// Checks that the table says that all of so many spans were acknowledged.
pub fn all_acknowledged(output: &Output, calls: u64) {
    let stderr = stderr(output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert_eq!(table(&stderr), [calls, 0, 0, calls, calls, 0, 0], "{stderr}");
}
