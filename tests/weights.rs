//! Instructions that are counted by different weights are neither compared nor added up, and blocks are followed over all lanes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const APP: &str = "(module (memory 1)
    (func $malloc (param i32) (result i32) (i32.const 64))
    (func (export \"main\") (drop (call $malloc (i32.div_u (i32.const 9) (i32.const 3))))))";

fn run(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kperf-wasm")).args(args).current_dir(folder).output().unwrap()
}

fn works(folder: &Path, args: &[&str]) -> String {
    let Output { status, stdout, stderr } = run(folder, args);
    assert!(status.success(), "{args:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

fn fails(folder: &Path, args: &[&str]) -> String {
    let Output { status, stderr, .. } = run(folder, args);
    assert_eq!(status.code(), Some(1), "{args:?}");
    String::from_utf8(stderr).unwrap()
}

/// Traces with these weights: none, a table that changes nothing, and two that change something.
fn record(folder: &Path) {
    fs::write(folder.join("app.wat"), APP).unwrap();
    for (name, weights) in [
        ("plain", None),
        ("same", Some("# nothing\ni32.add 1\n")),
        ("a", Some("i32.div_u 9")),
        ("b", Some("i32.div_u 40")),
    ] {
        let (table, trace) = (format!("{name}.txt"), format!("{name}.kperf"));
        let mut args = vec!["run", "-q", "--clock", "instructions", "--invoke", "main", "--trace", &trace];
        if let Some(text) = weights {
            fs::write(folder.join(&table), text).unwrap();
            args.extend(["--weights", &table]);
        }
        args.push("app.wat");
        works(folder, &args);
        works(
            folder,
            &["collect", "-q", &trace, "-o", "ds", "--service-name", "app", "--service-version", name],
        );
    }
}

#[test]
fn counts_of_different_weights_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    record(folder);
    works(folder, &["diff", "plain.kperf", "same.kperf"]);
    let told = fails(folder, &["diff", "a.kperf", "b.kperf"]);
    assert!(told.contains("by different weights, `a.txt` ("), "{told}");
    let told = fails(folder, &["diff", "same.kperf", "b.kperf"]);
    assert!(told.contains("by different weights, the usual ones and `b.txt` ("), "{told}");
    // The same of a dataset's runs.
    let of = |version: &str| format!("version = '{version}'");
    let sides = |a: &str, b: &str| ["diff", "ds", "--where", a, "--where", b].map(str::to_owned);
    for (a, b, fine) in [("plain", "same", true), ("a", "a", true), ("a", "b", false), ("plain", "b", false)]
    {
        let args = sides(&of(a), &of(b));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        if fine {
            works(folder, &args);
        } else {
            let told = fails(folder, &args);
            assert!(told.contains("by different weights"), "{told}");
        }
    }
    let told = fails(folder, &["report", "ds"]);
    assert!(told.contains("the runs differ in `clock_source` ('instructions"), "{told}");
    let told = works(folder, &["report", "ds", "--where", "clock_source = 'instructions'"]);
    assert!(told.contains("the sum of 2 runs"), "{told}");
}

#[test]
fn blocks_of_one_lane_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("app.wat"), APP).unwrap();
    works(folder, &["run", "-q", "--allocations", "--invoke", "main", "--trace", "t.kperf", "app.wat"]);
    for args in [
        &["report", "t.kperf", "--by", "allocations", "--lane", "0"][..],
        &["flame", "t.kperf", "--by", "allocated", "--lane", "0", "-o", "f.svg"],
        &["export", "t.kperf", "--format", "pprof-heap", "--lane", "0", "-o", "h.pb.gz"],
    ] {
        let told = fails(folder, args);
        assert!(told.contains("blocks are followed through the whole trace; leave --lane out"), "{told}");
    }
    works(folder, &["report", "t.kperf", "--by", "allocations"]);
}
