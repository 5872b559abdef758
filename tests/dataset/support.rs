//! Runs our program and asks query engines.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

pub(crate) use crate::common::command::{ROOT, command, life, output};

/// The stdout and the stderr after it of a command that must succeed.
pub fn kperf(folder: &Path, args: &[&str]) -> String {
    let (stdout, stderr) = crate::common::command::kperf(folder, args);
    stdout + &stderr
}

pub fn fails(folder: &Path, args: &[&str]) -> String {
    let output = output(folder, args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Three traces of the Game of Life with different numbers of steps, under a real clock.
pub fn record() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, steps) in [("a", "5"), ("b", "6"), ("c", "7")] {
        let module = life("c");
        let trace = format!("{name}.kperf");
        kperf(folder.path(), &["run", "-q", "--clock", "precise", "--trace", &trace, &module, steps]);
    }
    folder
}

/// Rows of a query, by a script of `tests/dataset`; `None` if the engine isn't there.
pub fn ask(engine: &str, folder: &Path, query: &str) -> Option<Value> {
    Some(ask_all(engine, folder, &[query])?.remove(0))
}

/// The same of several queries.
pub fn ask_all(engine: &str, folder: &Path, queries: &[&str]) -> Option<Vec<Value>> {
    let python = match engine {
        "spark" => PathBuf::from(std::env::var_os("KPERF_SPARK")?),
        _ => Path::new(ROOT).join("target/viewers/python/bin/python"),
    };
    if !python.exists() {
        assert!(std::env::var_os("KPERF_VIEWERS").is_none(), "Python is missing: run scripts/viewers");
        eprintln!("skipped: {engine} is missing; scripts/viewers installs it");
        return None;
    }
    let views = kperf(folder, &["collect", "-q", "-o", "dataset", "--sql", engine]);
    fs::write(folder.join("views.sql"), views).unwrap();
    let script = format!("{ROOT}/tests/dataset/ask.py");
    let output = Command::new(python)
        .args([&script, engine, "views.sql"])
        .args(queries)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if output.status.code() == Some(77) {
        assert!(engine != "duckdb" || std::env::var_os("KPERF_VIEWERS").is_none(), "run scripts/viewers");
        eprintln!("skipped: {engine} is missing");
        return None;
    }
    assert!(output.status.success(), "{engine}: {}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    Some(lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Answers are the same, numbers to within a thousand-millionth.
pub fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        _ => a == b,
    }
}

/// A dataset of three traces, each taken as several runs of two versions and two hosts.
pub fn fleet() -> TempDir {
    let folder = record();
    for (n, (version, host)) in [("1", "x"), ("1", "y"), ("2", "x"), ("2", "y")].into_iter().enumerate() {
        for trace in ["a", "b", "c"] {
            kperf(
                folder.path(),
                &[
                    "collect",
                    "-q",
                    &format!("{trace}.kperf"),
                    "-o",
                    "dataset",
                    "--service-version",
                    version,
                    "--host",
                    host,
                    "--run-id",
                    &format!("{trace}{n}"),
                    "--span-min",
                    "0s",
                    "--max-spans",
                    "3",
                ],
            );
        }
    }
    folder
}
