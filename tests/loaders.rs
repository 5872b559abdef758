//! Reads exports with the tools that they are for.
//!
//! `scripts/viewers` installs these tools into `target/viewers`. The test of a missing tool is skipped with a message, or fails if
//! `KPERF_VIEWERS=all` is set.

use crate::common::command::{ROOT, kperf, life};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const STEPS: u64 = 5;

/// The calls of five steps of the Game of Life, whose board has 20 x 20 cells with 8 neighbors each.
const EXPECTED: [(&str, u64); 5] = [
    ("play", 1),
    ("step", STEPS),
    ("shouldBecomeLive", 400 * STEPS),
    ("nLiveNeighbors", 400 * STEPS),
    ("isValidPosition", 3200 * STEPS),
];

/// The Game of Life in C, recorded under the test clock.
fn record() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    kperf(
        &folder,
        &["run", "-q", "--clock", "test", "--trace", "life.kperf", &life("c"), &STEPS.to_string()],
    );
    folder
}

fn export(folder: &TempDir, format: &str, name: &str) -> String {
    kperf(folder, &["export", "life.kperf", "--format", format, "-o", name]);
    folder.path().join(name).to_str().unwrap().to_owned()
}

/// A file of a tool, if the tool is there.
fn viewer(name: &str) -> Option<PathBuf> {
    let path = Path::new(ROOT).join("target/viewers").join(name);
    if path.exists() {
        return Some(path);
    }
    skip(name);
    None
}

fn skip(name: &str) {
    assert!(std::env::var_os("KPERF_VIEWERS").is_none(), "{name} is missing: run scripts/viewers");
    eprintln!("skipped: {name} is missing; scripts/viewers installs it");
}

/// What a program prints, which must succeed.
fn run(program: &Path, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "{} {args:?}\n{stdout}{stderr}", program.display());
    stdout
}

/// Checks lines `COUNT NAME`; names may have other names in front.
fn check_counts<'a>(lines: impl Iterator<Item = &'a str>) {
    let counts: BTreeMap<&str, u64> = lines
        .filter_map(|line| line.trim().split_once(' '))
        .filter_map(|(count, name)| Some((name.rsplit('.').next()?, count.parse().ok()?)))
        .collect();
    for (name, calls) in EXPECTED {
        assert_eq!(counts.get(name), Some(&calls), "{name} in {counts:?}");
    }
}

#[test]
fn perfetto_has_every_call() {
    let Some(python) = viewer("python/bin/python") else { return };
    let folder = record();
    let script = format!("{ROOT}/tests/loaders/slices.py");
    let text = run(&python, &[&script, &export(&folder, "perfetto", "life.pftrace")]);
    assert!(text.starts_with("tracks: life, lane 0 - open at the end: 0\n"), "{text}");
    check_counts(text.lines());
}

#[test]
fn duckdb_reads_the_same_from_parquet_and_csv() {
    let Some(python) = viewer("python/bin/python") else { return };
    let folder = record();
    let [parquet, csv] = ["parquet", "csv"].map(|format| export(&folder, format, &format!("life.{format}")));
    let script = format!("{ROOT}/tests/loaders/tables.py");
    check_counts(run(&python, &[&script, &parquet, &csv]).lines());
}

#[test]
fn speedscope_s_schema_holds() {
    let (Some(python), Some(schema)) =
        (viewer("python/bin/python"), viewer("speedscope/file-format-schema.json"))
    else {
        return;
    };
    let folder = record();
    let script = format!("{ROOT}/tests/loaders/frames.py");
    let file = export(&folder, "speedscope", "life.json");
    check_counts(run(&python, &[&script, &file, schema.to_str().unwrap()]).lines());
}

#[test]
fn kieker_reconstructs_the_trace() {
    let Some(jars) = viewer("kieker") else { return };
    let folder = record();
    let records = export(&folder, "kieker", "records");
    let (jars, program) = (format!("{}/*", jars.display()), format!("{ROOT}/tests/loaders/Kieker.java"));
    let text = run(Path::new("java"), &["-cp", &jars, &program, &records]);
    assert!(text.starts_with("1 traces, 0 invalid\n"), "{text}");
    check_counts(text.lines());
}

#[test]
fn pprof_sums_up_calls_and_time() {
    if Command::new("go").arg("version").output().is_err() {
        return skip("go");
    }
    let folder = record();
    let file = export(&folder, "pprof", "life.pb.gz");
    let top = |index: &str| {
        let index = format!("-sample_index={index}");
        run(Path::new("go"), &["tool", "pprof", "-top", "-nodecount=1000", "-unit=ns", &index, &file])
    };
    // flat flat% sum% cum cum% name
    let flat = |text: &str| -> String {
        let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        rows.filter(|row| row.len() == 6)
            .map(|row| format!("{} {}\n", row[0].trim_end_matches("ns"), row[5]))
            .collect()
    };
    check_counts(flat(&top("calls")).lines());
    // Under the test clock a call takes a microsecond, and two for each call that it makes, of which one is its own.
    let time = flat(&top("time"));
    let own = |name: &str| time.lines().find(|line| line.ends_with(&format!(" {name}"))).map(str::to_owned);
    assert_eq!(own("isValidPosition"), Some(format!("{} isValidPosition", 3200 * STEPS * 1000)), "{time}");
    assert_eq!(own("nLiveNeighbors"), Some(format!("{} nLiveNeighbors", 400 * STEPS * 9 * 1000)), "{time}");
}

#[test]
fn chrome_s_developer_tools_have_every_call() {
    let Some(tools) = viewer("devtools") else { return };
    let folder = record();
    let script = format!("{ROOT}/tests/loaders/chrome.mjs");
    let text =
        run(Path::new("node"), &[&script, tools.to_str().unwrap(), &export(&folder, "chrome", "life.json")]);
    assert!(
        text.starts_with(
            "lane 0: main > play > step > shouldBecomeLive > nLiveNeighbors > isValidPosition\n"
        ),
        "{text}"
    );
    check_counts(text.lines());
}

#[test]
fn firefox_s_profiler_has_the_times() {
    let Some(program) = viewer("devtools/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js")
    else {
        return;
    };
    let folder = record();
    let file = export(&folder, "firefox", "life.json");
    let profiler = |args: &[&str]| -> Result<String, String> {
        let mut command = Command::new("node");
        command.arg(&program).args(args);
        command
            .env("PROFILER_CLI_SESSION_DIR", folder.path().join("sessions"))
            .env("PROFILER_CLI_NO_SYMBOLICATE", "1");
        let output = command.output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        if output.status.success() { Ok(stdout) } else { Err(format!("{args:?}: {stdout}{stderr}")) }
    };
    // It waits half a second for its own daemon, and says itself that one tries again.
    let not_ready =
        |loaded: &Result<_, String>| matches!(loaded, Err(said) if said.contains("did not become ready"));
    let mut loaded = profiler(&["load", &file]);
    for _ in 0..20 {
        if !not_ready(&loaded) {
            break;
        }
        loaded = profiler(&["load", &file]);
    }
    loaded.unwrap();
    let functions = profiler(&["thread", "functions", "--json"]);
    profiler(&["stop", "--all"]).unwrap();
    let functions: Value = serde_json::from_str(&functions.unwrap()).unwrap();
    let own = |name: &str| {
        let function =
            functions["functions"].as_array().unwrap().iter().find(|function| function["name"] == name);
        function.unwrap()["selfSamples"].as_u64().unwrap()
    };
    // Samples are microseconds, ticks of the test clock: one for a call, and one for each call that it makes.
    assert_eq!(own("isValidPosition"), 3200 * STEPS);
    assert_eq!(own("nLiveNeighbors"), 400 * STEPS * 9);
    assert_eq!(own("shouldBecomeLive"), 400 * STEPS * 2);
}

#[test]
fn chrome_s_events_balance() {
    let folder = record();
    let text = fs::read_to_string(export(&folder, "chrome", "life.json")).unwrap();
    let trace: Value = serde_json::from_str(&text).unwrap();
    let (mut open, mut last, mut counts) = (Vec::new(), 0.0, BTreeMap::<&str, u64>::new());
    for event in trace["traceEvents"].as_array().unwrap() {
        match event["ph"].as_str().unwrap() {
            "B" => {
                let name = event["name"].as_str().unwrap();
                *counts.entry(name).or_default() += 1;
                open.push(name);
            }
            "E" => assert!(open.pop().is_some()),
            phase => {
                assert_eq!(phase, "M");
                continue;
            }
        }
        let now = event["ts"].as_f64().unwrap();
        assert!(now >= last && event["tid"] == 1, "{event}");
        last = now;
    }
    assert!(open.is_empty());
    let lines: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    check_counts(lines.iter().map(String::as_str));
}

#[test]
fn firefox_s_samples_have_the_shares_of_the_trace() {
    let folder = record();
    let text = fs::read_to_string(export(&folder, "firefox", "life.json")).unwrap();
    let profile: Value = serde_json::from_str(&text).unwrap();
    let thread = &profile["threads"][0];
    let weights = thread["samples"]["weight"].as_array().unwrap();
    let stacks = thread["samples"]["stack"].as_array().unwrap();
    // One sample for each microsecond, which is a tick of the test clock.
    let names = |at: &Value| {
        let frame = thread["stackTable"]["frame"][at.as_u64()? as usize].as_u64()?;
        let func = thread["frameTable"]["func"][frame as usize].as_u64()?;
        let name = thread["funcTable"]["name"][func as usize].as_u64()?;
        let strings = if thread["stringArray"].is_array() {
            &thread["stringArray"]
        } else {
            &profile["shared"]["stringArray"]
        };
        strings[name as usize].as_str()
    };
    let mut sums = BTreeMap::<&str, u64>::new();
    for (stack, weight) in stacks.iter().zip(weights) {
        if let Some(name) = names(stack) {
            *sums.entry(name).or_default() += weight.as_u64().unwrap();
        }
    }
    assert_eq!(sums.get("isValidPosition"), Some(&(3200 * STEPS)), "{sums:?}");
    assert_eq!(sums.get("nLiveNeighbors"), Some(&(400 * STEPS * 9)), "{sums:?}");
}
