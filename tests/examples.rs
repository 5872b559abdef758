//! The Game of Life in every language of `examples/game-of-life`: the guest's output doesn't change, and the trace has each call
//! with its caller and its time.
//!
//! The expected counts follow from the workload (see the folder's README): the board has 20x20 cells, so a step has 400 cells with 8
//! neighbors each.

use crate::common::command::{Ran, output};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

struct Language {
    folder: &'static str,
    /// What `main`, `play`, `step`, `shouldBecomeLive`, `nLiveNeighbors` and `isValidPosition` are called in reports.
    names: [&'static str; 6],
    /// Whether nothing else is called below `step`, so that the test clock's times follow from the counts.
    alone: bool,
}

const C_NAMES: [&str; 6] = ["main", "play", "step", "shouldBecomeLive", "nLiveNeighbors", "isValidPosition"];

const LANGUAGES: [Language; 6] = [
    Language {
        folder: "rust",
        names: [
            "life::main",
            "life::play",
            "life::step",
            "life::should_become_live",
            "life::n_live_neighbors",
            "life::is_valid_position",
        ],
        alone: true,
    },
    Language { folder: "c", names: C_NAMES, alone: true },
    Language {
        folder: "assemblyscript",
        names: [
            "life/main",
            "life/play",
            "life/step",
            "life/shouldBecomeLive",
            "life/nLiveNeighbors",
            "life/isValidPosition",
        ],
        alone: true,
    },
    // Its arrays are objects with functions.
    Language { folder: "kotlin", names: C_NAMES, alone: false },
    Language {
        folder: "go",
        names: [
            "main.main",
            "main.play",
            "main.step",
            "main.shouldBecomeLive",
            "main.nLiveNeighbors",
            "main.isValidPosition",
        ],
        alone: true,
    },
    Language { folder: "wat", names: C_NAMES, alone: true },
];

impl Language {
    fn module(&self) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/game-of-life").join(self.folder);
        folder.join("life.wasm").to_str().unwrap().to_owned()
    }
}

/// How often `play`, `step`, `shouldBecomeLive`, `nLiveNeighbors` and `isValidPosition` are called.
fn calls(steps: u64) -> [u64; 5] {
    [1, steps, 400 * steps, 400 * steps, 3200 * steps]
}

/// How long all calls of these take by the test clock, in microseconds. It counts one at each event, so that a call takes
/// one, and two more for each call below it.
fn micros(steps: u64) -> [u64; 5] {
    let [position, neighbors, cell] = [1, 2 * 8 + 1, 2 * 8 + 3];
    let step = 400 * (cell + 1) + 1;
    [
        steps * (step + 1) + 1,
        steps * step,
        400 * steps * cell,
        400 * steps * neighbors,
        3200 * steps * position,
    ]
}

/// Runs our program in a folder. Returns its exit code, stdout and stderr.
fn kperf(folder: &TempDir, args: &[&str]) -> (Option<i32>, String, String) {
    let Ran { code, stdout, stderr } = Ran::of(output(folder, args));
    (code, stdout, stderr)
}

/// Runs a language's module with a trace, which must go well.
fn record(language: &Language, clock: &str, args: &[&str]) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let module = language.module();
    let (flags, args) = args.split_at(args.len().saturating_sub(1));
    let begin = ["run", "-q", "--clock", clock, "--trace", "life.kperf"];
    let (code, stdout, stderr) = kperf(&folder, &[&begin, flags, &[&module], args].concat());
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{}", language.folder);
    (folder, stdout)
}

fn report(folder: &TempDir) -> Value {
    let (code, stdout, stderr) = kperf(folder, &["report", "life.kperf", "--format", "json"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    serde_json::from_str(&stdout).unwrap()
}

fn check_report(language: &Language, report: &Value, steps: u64) {
    for (n, (calls, micros)) in calls(steps).into_iter().zip(micros(steps)).enumerate() {
        let (caller, name) = (language.names[n], language.names[n + 1]);
        let mut named = report["functions"].as_array().unwrap().iter().filter(|f| f["name"] == name);
        let function = named.next().unwrap_or_else(|| panic!("{}: no {name}", language.folder));
        assert!(named.next().is_none(), "{}: {name} is there twice", language.folder);
        let what = format!("{}: {name}", language.folder);
        assert_eq!(function["calls"], calls, "{what}");
        assert_eq!((&function["unwound"], &function["unfinished"]), (&0.into(), &0.into()), "{what}");
        let callers = function["callers"].as_array().unwrap();
        assert_eq!(callers.len(), 1, "{what}");
        assert_eq!((&callers[0]["name"], &callers[0]["calls"]), (&caller.into(), &calls.into()), "{what}");
        // What `play` calls for the seeds and the count differs.
        if language.alone && n > 0 {
            assert_eq!(function["total_nanos"], micros * 1000, "{what}");
        }
    }
    assert_eq!((&report["lost_events"], &report["warnings"]), (&0.into(), &Value::Array(Vec::new())));
}

#[test]
fn five_hundred_steps_without_arguments() {
    for language in &LANGUAGES {
        let (folder, stdout) = record(language, "test", &[]);
        assert_eq!(stdout, "500 steps, 50 live cells\n", "{}", language.folder);
        let report = report(&folder);
        check_report(language, &report, 500);
        let all = report["calls"].as_u64().unwrap();
        assert!(all >= calls(500).iter().sum::<u64>(), "{}: {all} calls", language.folder);
        if language.folder == "rust" {
            assert!(all < 2_001_500, "{all} calls: the standard library's are few");
        }
    }
}

#[test]
fn five_steps_by_argument() {
    for language in &LANGUAGES {
        let (folder, stdout) = record(language, "test", &["5"]);
        assert_eq!(stdout, "5 steps, 19 live cells\n", "{}", language.folder);
        check_report(language, &report(&folder), 5);
        check_export(language, &folder);
        let plain = kperf(&folder, &["run", "--plain", &language.module(), "5"]);
        assert_eq!(plain, (Some(0), stdout, String::new()), "{}", language.folder);
    }
}

/// The events of a trace are the same whether the recorder is inside the module or beside it. (Go's scheduler goes by the
/// time of day, so that no two of its runs have the same events: there the counts are compared.)
#[test]
fn a_recorder_inside_records_the_same() {
    for language in &LANGUAGES {
        let [beside, inside] = ["import", "inline"].map(|probe| {
            let (folder, stdout) = record(language, "test", &["--probe", probe, "3"]);
            if language.folder == "go" {
                check_report(language, &report(&folder), 3);
                return (stdout, String::new());
            }
            let (code, replay, stderr) = kperf(&folder, &["replay", "life.kperf"]);
            assert_eq!((code, stderr.as_str()), (Some(0), ""), "{}", language.folder);
            (stdout, replay)
        });
        assert!(beside == inside, "{}: the replays differ", language.folder);
    }
}

/// A profile counts what a trace records, for each function. (Go's runs differ, see above.)
#[test]
fn a_profile_counts_the_same() {
    for language in &LANGUAGES {
        let recorded: [&[&str]; 3] =
            [&["--record=trace"], &["--record=profile"], &["--record=profile", "--stack=shadow"]];
        let counts = recorded.map(|flags| {
            let (folder, stdout) = record(language, "test", &[flags, &["3"]].concat());
            if language.folder == "go" {
                return (stdout, BTreeMap::new());
            }
            let (code, json, stderr) = kperf(&folder, &["report", "life.kperf", "--format", "json"]);
            assert_eq!((code, stderr.as_str()), (Some(0), ""), "{}", language.folder);
            let report: serde_json::Value = serde_json::from_str(&json).unwrap();
            let functions = report["functions"].as_array().unwrap().iter();
            let calls =
                |function: &serde_json::Value| Some((function["id"].as_u64()?, function["calls"].as_u64()?));
            (stdout, functions.map(|function| calls(function).unwrap()).collect::<BTreeMap<u64, u64>>())
        });
        let [(traced, all), profiles @ ..] = counts;
        for (profiled, counted) in profiles {
            assert_eq!(traced, profiled, "{}", language.folder);
            assert_eq!(all, counted, "{}", language.folder);
        }
        assert!(language.folder == "go" || all.len() > 5, "{}: {all:?}", language.folder);
    }
}

/// Exports five steps to k-perf's format: each enter has its leave, and the counts are the same.
fn check_export(language: &Language, folder: &TempDir) {
    let exported = kperf(folder, &["export", "life.kperf", "--format", "kperf", "-o", "."]);
    assert_eq!((exported.0, exported.1.as_str()), (Some(0), ""), "{}: {}", language.folder, exported.2);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let symbols: BTreeMap<String, String> = serde_json::from_str(&read("symbols_life_0.txt")).unwrap();
    let (mut open, mut counted, mut took) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for line in read("trace_life_0.txt").lines() {
        if let Some(id) = line.strip_prefix(">;") {
            let name = &symbols[id];
            open.push(name);
            *counted.entry(name.as_str()).or_insert(0) += 1;
        } else {
            let micros: u64 = line.strip_prefix("<;").unwrap().parse().unwrap();
            let name = open.pop().unwrap_or_else(|| panic!("{}: a leave without enter", language.folder));
            *took.entry(name.as_str()).or_insert(0) += micros;
        }
    }
    assert_eq!(open, Vec::<&String>::new(), "{}: what never ends", language.folder);
    for (n, name) in language.names[1..].iter().enumerate() {
        assert_eq!(counted.get(name), Some(&calls(5)[n]), "{}: calls of {name}", language.folder);
        if language.alone && n > 0 {
            assert_eq!(took.get(name), Some(&micros(5)[n]), "{}: time of {name}", language.folder);
        }
    }
}

#[test]
fn counts_are_exact_with_every_clock() {
    for clock in ["precise", "ticker", "auto"] {
        for language in &LANGUAGES[..2] {
            let (folder, _) = record(language, clock, &["7"]);
            let (code, stdout, _) = kperf(&folder, &["report", "life.kperf", "--format", "json"]);
            assert_eq!(code, Some(0));
            let report: Value = serde_json::from_str(&stdout).unwrap();
            for (name, calls) in language.names[1..].iter().zip(calls(7)) {
                let function = report["functions"].as_array().unwrap().iter().find(|f| f["name"] == *name);
                assert_eq!(
                    function.unwrap()["calls"],
                    calls,
                    "{} by the clock {clock}: {name}",
                    language.folder
                );
            }
            assert_eq!((&report["lost_events"], &report["cut_short"]), (&0.into(), &serde_json::json!({})));
        }
    }
}

#[test]
fn a_bad_argument_is_the_guest_s_to_refuse() {
    for language in &LANGUAGES {
        let folder = tempfile::tempdir().unwrap();
        let args = ["run", "-q", "--clock", "test", "--trace", "life.kperf", &language.module(), "many"];
        let (code, stdout, stderr) = kperf(&folder, &args);
        let expected = (Some(2), "", "usage: life [STEPS]\n");
        assert_eq!((code, stdout.as_str(), stderr.as_str()), expected, "{}", language.folder);
        assert_eq!(report(&folder)["outcome"], "exit 2", "{}", language.folder);
    }
}

#[test]
fn the_main_job_shows_the_profile() {
    let folder = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = kperf(&folder, &["run", &LANGUAGES[0].module()]);
    assert_eq!((code, stdout.as_str()), (Some(0), "500 steps, 50 live cells\n"));
    let (_, shown, _) = kperf(&folder, &["report", "life.kperf"]);
    assert!(stderr.contains(&shown) && shown.lines().count() > 8, "{stderr}\n{shown}");
    // Some of these may not be among those that make up 99 % of the time.
    let (_, all, _) = kperf(&folder, &["report", "life.kperf", "--limit", "0"]);
    let rows: Vec<&str> = all.lines().filter(|line| line.contains("life::")).collect();
    for (function, calls, caller) in [
        ("is_valid_position", "1,600,000", "n_live_neighbors"),
        ("n_live_neighbors", "200,000", "should_become_live"),
        ("should_become_live", "200,000", "step"),
        ("step", "500", "play"),
    ] {
        let row = rows.iter().find(|row| row.contains(&format!(" life::{function} ")));
        let row = row.unwrap_or_else(|| panic!("no row of {function} in\n{all}"));
        assert!(row.contains(&format!(" {calls} ")) && row.ends_with(&format!(" life::{caller}")), "{row}");
    }
    assert!(
        stderr.ends_with("# trace: life.kperf\n") && folder.path().join("life.kperf").exists(),
        "{stderr}"
    );
}

/// `examples/ci/instructions.sh`: the same build passes each time, another that executes more is named, with exit code 3.
#[cfg(unix)]
#[test]
fn the_test_for_ci_fails_when_a_build_executes_more() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let life = |language: &str| root.join(format!("examples/game-of-life/{language}/life.wasm"));
    let compare = |before: &str, after: &str| {
        let output = Command::new(root.join("examples/ci/instructions.sh"))
            .args([life(before), life(after)])
            .args(["0.1%", "10"])
            .env("KPERF_WASM", env!("CARGO_BIN_EXE_kperf-wasm"))
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(compare("rust", "rust"), (Some(0), String::new()));
    let (code, told) = compare("c", "rust");
    assert_eq!(code, Some(3));
    assert!(
        told.starts_with(
            "error: all: self instructions grew by 430.841 k instr, 47.6 %, from 905.552 k instr to 1.336 M instr"
        ),
        "{told}"
    );
}
