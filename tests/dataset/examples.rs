//! What is in examples/fleet works.

use super::support::{ROOT, ask, fleet, kperf};
use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every query of the dashboard has an answer.
#[test]
fn the_dashboard_s_queries_are_understood() {
    let dashboard: Value =
        serde_json::from_str(&fs::read_to_string(format!("{ROOT}/examples/fleet/dashboard.json")).unwrap())
            .unwrap();
    let folder = fleet();
    let mut queries = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        let Some(query) = panel["targets"][0]["rawSql"].as_str() else { continue };
        let query = query.replace("${version_a}", "1").replace("${version_b}", "2");
        let query = format!("SELECT count(*) FROM ({query})");
        if ask("duckdb", folder.path(), &query).is_none() {
            return;
        }
        queries += 1;
    }
    assert_eq!(queries, 4);
}

/// The Python of `scripts/viewers`, which has DuckDB.
fn python() -> Option<PathBuf> {
    let python = Path::new(ROOT).join("target/viewers/python/bin/python");
    if python.exists() {
        return Some(python);
    }
    assert!(std::env::var_os("KPERF_VIEWERS").is_none(), "Python is missing: run scripts/viewers");
    eprintln!("skipped: DuckDB is missing; scripts/viewers installs it");
    None
}

/// Every cell of the notebook runs; its pictures too, where matplotlib is.
#[test]
fn the_notebook_s_cells_run() {
    let Some(python) = python() else { return };
    let folder = fleet();
    let views = kperf(folder.path(), &["collect", "-q", "-o", "dataset", "--sql"]);
    fs::write(folder.path().join("views.sql"), views).unwrap();
    let script = format!("{ROOT}/examples/fleet/pictures.py");
    let output = Command::new(python)
        .args([&script, "views.sql", "pictures"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let (told, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{stderr}");
    let rows = |what: &str| told.lines().filter(|line| line.starts_with("{") && line.contains(what)).count();
    assert_eq!(rows("'runs': 3, 'calls':"), 4, "runs of each version and host: {told}");
    assert_eq!(rows("'p99':"), 10, "{told}");
    assert_eq!(rows("'significant':"), 10, "{told}");
    assert_eq!(rows("'share_faster':"), 5, "{told}");
    let pictures = fs::read_dir(folder.path().join("pictures")).unwrap().count();
    assert_eq!(pictures, if stderr.contains("no matplotlib") { 0 } else { 4 });
}

/// The script makes a fleet. With a Collector, if nobody else has its ports.
#[test]
fn the_script_makes_a_fleet() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let are_free = [4317, 4318, 13133].into_iter().all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok());
    let mut command = Command::new("bash");
    command.arg(format!("{ROOT}/examples/fleet/start")).arg(folder.path().join("fleet"));
    command.envs([("KPERF", env!("CARGO_BIN_EXE_kperf-wasm")), ("RUNS", "1")]).env("PYTHON", python);
    if !are_free {
        command.env("NO_COLLECTOR", "1");
    }
    let output = command.output().unwrap();
    let (told, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("dataset: 6 runs joined in 1 file a table"), "{stderr}");
    assert!(told.contains("# A: 3 runs") && told.contains("nLiveNeighbors"), "{told}");
    let fleet = folder.path().join("fleet");
    assert!(fleet.join("fleet.svg").exists());
    let has_collector = are_free && !stderr.contains("no Collector");
    for signal in ["traces", "metrics", "profiles"].into_iter().filter(|_| has_collector) {
        let text = fs::read_to_string(fleet.join(signal).with_extension("json")).unwrap();
        assert_eq!(text.lines().count(), 2, "{signal} of a run of each version");
    }
}
