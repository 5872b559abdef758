//! `run --repeat`, and the gate over its runs.

use crate::common::command::{Folder, Ran};
use crate::common::effort;
use kperf_wasmtime::HAS_NATIVE_STACKS;
use std::io::Write;
use std::process::Stdio;

/// Repeats what stdin has, and then runs `f`, `g` and `h` for turns of 60 to 30 to 10.
const MODULE: &str = r#"(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 16) "\40\00\00\00\20\00\00\00")
FGH
  (func $five)
  (func $main (export "_start") (local $n i32)
    (drop (call $read (i32.const 0) (i32.const 16) (i32.const 1) (i32.const 8)))
    (if (i32.eq (i32.load (i32.const 8)) (i32.const 5)) (then (call $five)))
    (i32.store (i32.const 20) (i32.load (i32.const 8)))
    (drop (call $write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 8)))
    (local.set $n (i32.const 400))
    (loop $again
      (drop (i32.add (call $f) (i32.add (call $g) (call $h))))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (call $exit (i32.const EXIT))))"#;

/// A function whose own code is a loop of so many turns.
fn function(name: &str, turns: u32) -> String {
    format!(
        "(func ${name} (result i32) (local $x i32) (local $n i32)
          (local.set $x (i32.const 1)) (local.set $n (i32.const {turns}))
          (loop $again
            (local.set $x (i32.xor (local.get $x) (i32.shl (local.get $x) (i32.const 13))))
            (local.set $x (i32.xor (local.get $x) (i32.shr_u (local.get $x) (i32.const 17))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
          (local.get $x))"
    )
}

fn module(turns_of_f: u32, exit: u32) -> String {
    let functions =
        [("f", turns_of_f), ("g", 30_000), ("h", 10_000)].map(|(name, turns)| function(name, turns));
    MODULE.replace("FGH", &functions.concat()).replace("EXIT", &exit.to_string())
}

/// Runs a command with this stdin.
fn with_input(folder: &Folder, args: &[&str], input: &str) -> Ran {
    let mut command = crate::common::command::command(folder, args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Ran::of(child.wait_with_output().unwrap())
}

#[test]
fn runs_read_the_same_stdin_and_the_first_one_writes() {
    if !HAS_NATIVE_STACKS {
        return;
    }
    let folder = Folder::new().with("app.wat", module(60_000, 0));
    let ran = with_input(&folder, &["run", "app.wat", "--repeat", "3"], "12345");
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "12345"), "{}", ran.stderr);
    assert!(ran.stderr.contains("# times: means of 3 runs without probes"), "{}", ran.stderr);
    let report = folder.json(&["report", "app.kperf", "--format", "json"]);
    assert_eq!((&report["runs"], &report["lost_events"]), (&3.into(), &0.into()));
    let functions = report["functions"].as_array().unwrap();
    let of = |name: &str| functions.iter().find(|function| function["name"] == name).expect(name);
    let calls = ["f", "g", "h", "five", "main"].map(|name| of(name)["calls"].as_u64().unwrap());
    assert_eq!(calls, [400, 400, 400, 1, 1]);
    let shares = ["f", "g", "h"].map(|name| of(name)["share"].as_f64().unwrap());
    assert!(shares[0] > shares[1] && shares[1] > shares[2], "{shares:?}");
    let errors = ["f", "g", "h"].map(|name| of(name)["share_error"].as_f64().unwrap());
    for (share, (error, truth)) in shares.into_iter().zip(errors.into_iter().zip([0.6, 0.3, 0.1])) {
        // Two degrees of freedom and 95 %: ten such intervals are all but certain.
        assert!((share - truth).abs() <= 10.0 * error + 0.05, "{share} ± {error} instead of {truth}");
    }
    // The runs are the windows.
    let series = folder.run(&["report", "app.kperf", "--window", "series", "--only", "f", "--format", "csv"]);
    let numbers: Vec<&str> =
        series.stdout.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(numbers, ["1", "2", "3"], "{}", series.stdout);
}

#[test]
fn until_an_error_is_small_enough() {
    if !HAS_NATIVE_STACKS {
        return;
    }
    let folder = Folder::new().with("app.wat", module(60_000, 0));
    let ran = with_input(&folder, &["run", "app.wat", "--repeat", "until:99%"], "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let runs = folder.json(&["report", "app.kperf", "--format", "json"])["runs"].as_u64().unwrap();
    // The last run may be in the trace or not when its errors are looked at.
    assert!((3..=5).contains(&runs), "{runs} runs");
}

#[test]
fn a_run_that_fails_is_the_last() {
    if !HAS_NATIVE_STACKS {
        return;
    }
    let folder = Folder::new().with("app.wat", module(600, 7));
    let ran = with_input(&folder, &["run", "app.wat", "--repeat", "3", "--trace", "t.kperf"], "12");
    assert_eq!((ran.code, &*ran.stdout), (Some(7), "12"), "{}", ran.stderr);
    assert!(ran.stderr.contains("run 1 without probes failed; there are no more runs"), "{}", ran.stderr);
    // No run with probes has counted anything.
    assert!(ran.stderr.contains("# calls: unknown of "), "{}", ran.stderr);
    let report = folder.json(&["report", "t.kperf", "--format", "json"]);
    let functions = report["functions"].as_array().unwrap();
    let is_unknown = |function: &serde_json::Value| {
        function["calls"].is_null() && function["average_nanos"].is_null() && function["self_nanos"].is_u64()
    };
    assert!(report["calls"].is_null() && !functions.is_empty(), "{report}");
    assert!(functions.iter().all(is_unknown), "{report}");
    let csv = folder.run(&["report", "t.kperf", "--format", "csv"]).stdout;
    let calls: Vec<&str> = csv.lines().skip(1).filter_map(|line| line.split(',').nth(2)).collect();
    assert!(!calls.is_empty() && calls.iter().all(|calls| calls.is_empty()), "{csv}");
    for (flags, code, message) in [
        (&["--clock", "precise"][..], 2, "cannot be used with"),
        (&["--record", "profile"][..], 2, "cannot be used with"),
        (&["--plain"][..], 2, "cannot be used with"),
    ] {
        let ran = folder.run(&[&["run", "app.wat", "--repeat", "3"], flags].concat());
        assert!(ran.code == Some(code) && ran.stderr.contains(message), "{}", ran.stderr);
    }
    let ran = folder.run(&["run", "app.wat", "--repeat", "0"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("give a number of runs"), "{}", ran.stderr);
}

/// How often each exit code comes of comparisons of programs with so many turns of `f`.
fn codes(folder: &Folder, turns: [u32; 2], comparisons: usize) -> [usize; 3] {
    let mut codes = [0; 3];
    for _ in 0..comparisons {
        for (name, turns) in ["a", "b"].into_iter().zip(turns) {
            let (app, trace) = (format!("{name}.wat"), format!("{name}.kperf"));
            std::fs::write(folder.path(&app), module(turns, 0)).unwrap();
            let ran = with_input(folder, &["run", "-q", &app, "--repeat", "10", "--trace", &trace], "");
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        }
        let ran = folder.run(&["diff", "a.kperf", "b.kperf", "--fail-on", "10%"]);
        assert!(ran.stdout.contains("# A: 10 runs, "), "{}", ran.stdout);
        match ran.code {
            Some(0) => codes[0] += 1,
            Some(3) => {
                assert!(
                    turns[0] == turns[1] || ran.stderr.contains("error: f: self time grew"),
                    "{}",
                    ran.stderr
                );
                codes[1] += 1;
            }
            Some(4) => {
                assert!(ran.stderr.contains("unknown whether it grew by more than 10.0 %"), "{}", ran.stderr);
                assert!(ran.stderr.contains("hint: more runs a side tell (`run --repeat"), "{}", ran.stderr);
                codes[2] += 1;
            }
            code => panic!("{code:?}: {}", ran.stderr),
        }
    }
    codes
}

/// A false alarm in 100 is allowed; two in three, or two in thirty, don't come.
#[test]
fn the_gate_gives_no_false_alarm_and_no_false_pass() {
    if !HAS_NATIVE_STACKS {
        return;
    }
    let folder = Folder::new();
    let comparisons = effort::of(3, 30);
    let [_, alarms, _] = codes(&folder, [60_000, 60_000], comparisons);
    assert!(alarms < 2, "{alarms} of {comparisons} alarms");
    let [passes, ..] = codes(&folder, [60_000, 120_000], comparisons);
    assert!(passes < 2, "{passes} of {comparisons} regressions pass");
}

#[test]
fn one_run_a_side_is_no_proof_unless_the_figure_is_exact() {
    let folder = Folder::new().with("a.wat", module(60_000, 0)).with("b.wat", module(66_000, 0));
    let diff = |clock: &str| {
        for name in ["a", "b"] {
            let (app, trace) = (format!("{name}.wat"), format!("{name}.kperf"));
            let ran = with_input(&folder, &["run", "-q", &app, "--clock", clock, "--trace", &trace], "");
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        }
        folder.run(&["diff", "a.kperf", "b.kperf", "--fail-on", "5%"])
    };
    let precise = diff("precise");
    assert_eq!(precise.code, Some(4), "{}", precise.stderr);
    let instructions = diff("instructions");
    assert_eq!(instructions.code, Some(3), "{}", instructions.stderr);
    assert!(instructions.stderr.contains("error: f: self instructions grew"), "{}", instructions.stderr);
    let same = folder.run(&["diff", "a.kperf", "a.kperf", "--fail-on", "0%"]);
    assert_eq!(same.code, Some(0), "{}", same.stderr);
}
