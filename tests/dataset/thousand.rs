//! What a fleet of long runs takes: `KPERF_RUNS=1000 cargo test --release --test main dataset::thousand -- --nocapture` has a thousand of two million
//! calls each; twelve are made otherwise.

use super::support::{ask_all, kperf, life};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of a table.
fn bytes(of: &Path) -> u64 {
    fs::read_dir(of).unwrap().fold(0, |sum, entry| {
        let entry = entry.unwrap();
        sum + if entry.path().is_dir() { bytes(&entry.path()) } else { entry.metadata().unwrap().len() }
    })
}

#[test]
fn a_thousand_runs_are_small_and_asked_fast() {
    let runs: u64 = std::env::var("KPERF_RUNS").map_or(12, |runs| runs.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let module = life("c");
    // Each trace is taken as often as the others, so that percentiles of all runs are those of the three.
    for n in 0..3 {
        let trace = format!("{n}.kperf");
        kperf(folder.path(), &["run", "-q", "--clock", "precise", "--trace", &trace, &module, "500"]);
    }
    kperf(folder.path(), &["collect", "-q", "0.kperf", "1.kperf", "2.kperf", "-o", "exact", "--calls"]);
    for n in 0..runs.next_multiple_of(3) {
        let (trace, run) = (format!("{}.kperf", n % 3), n.to_string());
        let version = if n % 2 == 0 { "a" } else { "b" };
        let args = ["collect", "-q", &trace, "-o", "dataset", "--run-id", &run, "--service-version", version];
        kperf(folder.path(), &args);
    }
    let runs = runs.next_multiple_of(3);
    let of_run = bytes(&folder.path().join("dataset/stats")) / runs;
    assert!(of_run < 100_000, "{of_run} bytes a run");
    let query = "SELECT name, calls, p50, p99 FROM function_percentiles ORDER BY name";
    let begun = Instant::now();
    let Some(small) = ask_all("duckdb", folder.path(), &[query]) else { return };
    let apart = begun.elapsed();
    kperf(folder.path(), &["collect", "-q", "-o", "dataset", "--compact"]);
    let begun = Instant::now();
    let joined = ask_all("duckdb", folder.path(), &[query]).unwrap();
    let together = begun.elapsed();
    assert_eq!(small, joined);
    eprintln!(
        "{runs} runs of 2 M calls: {of_run} bytes of stats a run; percentiles of all in {apart:?}, and {together:?} when files are joined, with \
         the start of Python"
    );
    assert!(together < Duration::from_secs(4), "{together:?}");

    fs::rename(folder.path().join("dataset"), folder.path().join("many")).unwrap();
    fs::rename(folder.path().join("exact"), folder.path().join("dataset")).unwrap();
    let query = "SELECT f.name, count(*), quantile_disc(c.duration_nanos, 0.5), quantile_disc(c.duration_nanos, 0.99) FROM calls c JOIN \
                 functions f ON c.function_id = f.function_id GROUP BY f.name ORDER BY f.name";
    let exact = ask_all("duckdb", folder.path(), &[query]).unwrap();
    let (estimates, exact) = (joined[0].as_array().unwrap(), exact[0].as_array().unwrap());
    assert!(exact.len() > 30 && exact.len() == estimates.len());
    for (estimate, exact) in estimates.iter().zip(exact) {
        assert_eq!(
            (&estimate[0], estimate[1].as_u64()),
            (&exact[0], exact[1].as_u64().map(|n| n * runs / 3))
        );
        for n in 2..4 {
            let (estimate, exact) = (estimate[n].as_f64().unwrap(), exact[n].as_f64().unwrap());
            // Rows of `calls` have rounded ends, histograms rounded lengths.
            assert!((estimate - exact).abs() <= exact / 128.0 + 1.0, "{estimate} {exact}");
        }
    }
}
