//! Datasets whose runs differ: clocks, services that have odd names, processes that disagree.

use super::support::{ask, ask_all, command, fails, kperf, life, record};
use std::fs;

/// Times of different clocks, and instructions, are never put together.
#[test]
fn runs_of_different_clocks_are_told_apart() {
    let folder = record();
    let module = life("c");
    let run = ["run", "-q", "--trace", "counted.kperf", "--clock", "instructions", &module, "5"];
    kperf(folder.path(), &run);
    kperf(folder.path(), &["collect", "-q", ".", "-o", "dataset"]);
    let percentiles =
        "SELECT clock, calls, p50 FROM function_percentiles WHERE name = 'nLiveNeighbors' ORDER BY clock";
    let flame = "SELECT clock, kind, sum(calls) FROM flame GROUP BY clock, kind ORDER BY clock";
    for engine in ["duckdb", "datafusion"] {
        let Some(answers) = ask_all(engine, folder.path(), &[percentiles, flame]) else { return };
        let [instructions, times] = [&answers[0][0], &answers[0][1]];
        assert_eq!((&instructions[0], &instructions[1]), (&"instructions".into(), &2000.into()), "{engine}");
        assert_eq!((&times[0], &times[1]), (&"precise".into(), &7200.into()), "{engine}");
        // Each of these calls executes the same instructions.
        assert_eq!(instructions[2], 202.0, "{engine}");
        assert_eq!(answers[1].as_array().unwrap().len(), 2, "{engine}: {}", answers[1]);
    }
    let told = fails(folder.path(), &["report", "dataset"]);
    assert!(told.contains("the runs differ in `unit`"), "{told}");
}

/// A function that only one of two versions has is a change too.
#[test]
fn functions_that_come_and_go_are_changes() {
    let folder = tempfile::tempdir().unwrap();
    for (version, body) in [("1", "(call $old) (call $both)"), ("2", "(call $new) (call $both)")] {
        let work = "(local $n i32) (loop (br_if 0 (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1000))))";
        let module = format!(
            "(module (func $old {work}) (func $new {work}) (func $both {work}) (func (export \"main\") {body}))"
        );
        fs::write(folder.path().join("app.wat"), module).unwrap();
        for n in 0..2 {
            let trace = format!("{version}{n}.kperf");
            let run =
                ["run", "-q", "--clock", "instructions", "--invoke", "main", "--trace", &trace, "app.wat"];
            kperf(folder.path(), &run);
            let collect = [
                "collect",
                "-q",
                &trace,
                "-o",
                "dataset",
                "--service-version",
                version,
                "--service-name",
                "app",
            ];
            kperf(folder.path(), &collect);
        }
    }
    let query = "SELECT name, mean_a > 0, mean_b > 0, change > 0, significant FROM regressions WHERE version_a = '1' AND version_b = '2' \
                 AND name IN ('old', 'new', 'both') ORDER BY name";
    for engine in ["duckdb", "datafusion"] {
        let Some(rows) = ask(engine, folder.path(), query) else { return };
        let expected = serde_json::json!([
            ["both", true, true, false, false],
            ["new", false, true, true, true],
            ["old", true, false, false, true],
        ]);
        assert_eq!(rows, expected, "{engine}");
    }
}

/// Names of services that engines, paths or SQL give another meaning.
#[test]
fn any_name_of_a_service_comes_back() {
    let folder = record();
    let names = [
        "my app/é%20;x",
        "007",
        "NULL",
        "a=b",
        "true",
        "2026-11-25",
        "__HIVE_DEFAULT_PARTITION__",
        "..",
        "it's",
        "new\nline",
    ];
    for (n, name) in names.iter().enumerate() {
        let run = format!("run {n}");
        kperf(
            folder.path(),
            &["collect", "-q", "a.kperf", "-o", "dataset", "--run-id", &run, "--service-name", name],
        );
        let quoted = format!("service = '{}'", name.replace('\'', "''"));
        let report = kperf(folder.path(), &["report", "dataset", "--where", &quoted, "--format", "csv"]);
        assert!(report.lines().count() > 10, "{name}: {report}");
    }
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    let query =
        "SELECT r.service, count(*) > 1 FROM runs r JOIN stats s ON r.run_id = s.run_id GROUP BY r.service";
    for engine in ["duckdb", "datafusion", "spark"] {
        let Some(rows) = ask(engine, folder.path(), query) else { continue };
        let mut found: Vec<&str> =
            rows.as_array().unwrap().iter().map(|row| row[0].as_str().unwrap()).collect();
        found.sort_unstable();
        // Spark takes the two bytes of `é` for two letters.
        let expected: Vec<String> = sorted
            .iter()
            .map(|name| if engine == "spark" { name.replace('é', "Ã©") } else { (*name).to_owned() })
            .collect();
        assert_eq!(found, expected, "{engine}");
    }
}

/// A run that processes take at once for different services is one run, and counts once.
#[test]
fn a_run_counts_once_whatever_service_it_is_taken_for() {
    let folder = record();
    kperf(folder.path(), &["collect", "-q", "b.kperf", "-o", "dataset"]);
    let children: Vec<_> = ["w", "x", "y", "z"]
        .map(|service| {
            let args = ["collect", "-q", "a.kperf", "-o", "dataset", "--service-name", service];
            command(folder.path(), &args).spawn().unwrap()
        })
        .into();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let rows = |folder: &std::path::Path| fs::read_dir(folder).unwrap().count();
    assert_eq!(rows(&folder.path().join("dataset/runs")), 2);
    // On a file system without locks there may be two.
    let copy = folder.path().join("copy");
    kperf(folder.path(), &["collect", "-q", "a.kperf", "b.kperf", "-o", "copy", "--service-name", "other"]);
    for table in ["runs", "functions", "paths", "stats", "spans"] {
        let from = copy.join(table).join("service=other");
        fs::rename(from, folder.path().join("dataset").join(table).join("service=other")).unwrap();
    }
    let csv = |dataset: &str| {
        let text = kperf(folder.path(), &["report", dataset, "--format", "csv", "--sort", "name"]);
        text.lines()
            .map(|line| line.split(',').skip(1).take(2).collect::<Vec<_>>().join(","))
            .collect::<Vec<_>>()
    };
    kperf(folder.path(), &["collect", "-q", "a.kperf", "b.kperf", "-o", "once"]);
    assert_eq!(csv("dataset"), csv("once"));
    let query =
        "SELECT (SELECT sum(calls) FROM stats) = (SELECT sum(calls) FROM runs), (SELECT count(*) FROM runs)";
    for engine in ["duckdb", "datafusion"] {
        let Some(rows) = ask(engine, folder.path(), query) else { return };
        assert_eq!(rows.to_string(), "[[true,2]]", "{engine}");
    }
    kperf(folder.path(), &["collect", "-q", "-o", "dataset", "--compact"]);
    assert_eq!(csv("dataset"), csv("once"));
}

/// A command that reads traces only says who reads datasets.
#[test]
fn other_commands_say_who_reads_a_dataset() {
    let folder = record();
    kperf(folder.path(), &["collect", "-q", "a.kperf", "-o", "dataset"]);
    for args in [
        &["replay", "dataset"][..],
        &["info", "dataset"],
        &["send", "dataset"],
        &["send", "dataset", "--signals", "profiles"],
        &["export", "dataset", "--format", "csv", "-o", "-"],
        &["annotate", "main", "dataset"],
        &["run", "dataset"],
    ] {
        let told = fails(folder.path(), args);
        assert!(told.contains("is a dataset, which has sums of many runs"), "{args:?}: {told}");
    }
    let told = fails(folder.path(), &["report", "dataset", "--by", "line"]);
    assert!(told.contains("--by line needs a trace"), "{told}");
}
