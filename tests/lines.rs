//! Lines of native profiles, of a module that a compiler made (`rewriter/tests/source`).

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, missing_docs)]

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const BINARY: &str = env!("CARGO_BIN_EXE_kperf-wasm");
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rewriter/tests/source");

/// What a command says on stdout and stderr.
fn kperf(folder: &Path, args: &[&str]) -> (String, String) {
    let output = Command::new(BINARY).args(args).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

/// The share of `hot` by line.
fn shares(folder: &Path, args: &[&str]) -> Vec<(String, f64)> {
    let mut all = vec!["report", "loop.kperf", "--by", "line", "--format", "json"];
    all.extend(args);
    let rows: Vec<Value> = serde_json::from_str(&kperf(folder, &all).0).unwrap();
    let hot = rows.iter().filter(|row| row["function"] == "hot" && row["share"].as_f64() > Some(0.0));
    hot.map(|row| (row["place"].as_str().unwrap().to_owned(), row["share"].as_f64().unwrap())).collect()
}

/// How much of the time is on the two lines of the loop.
fn in_loop(shares: &[(String, f64)]) -> f64 {
    let is_in = |place: &str| ["/src/loop.c:6", "/src/loop.c:7"].contains(&place);
    shares.iter().filter(|(place, _)| is_in(place)).map(|(_, share)| share).sum()
}

#[test]
fn samples_know_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::copy(format!("{SOURCE}/loop.wasm"), folder.join("loop.wasm")).unwrap();
    kperf(folder, &["run", "-q", "--record", "profile", "loop.wasm"]);
    let found = shares(folder, &[]);
    assert!(in_loop(&found) > 0.8, "{found:?}");

    let (listing, said) = kperf(folder, &["annotate", "hot", "loop.kperf", "--source", SOURCE]);
    assert_eq!(said, "");
    let of_loop = listing.lines().filter(|line| line.contains('%') && line.contains("i <= count"));
    let of_sum = listing.lines().filter(|line| line.contains('%') && line.contains("sum += n"));
    assert!(of_loop.count() + of_sum.count() > 0, "{listing}");
    let (listing, _) = kperf(folder, &["annotate", "hot", "loop.kperf", "--wat"]);
    assert!(listing.lines().any(|line| line.contains('%') && line.contains("f64.")), "{listing}");
}

/// Samples have their places whether the module has lines or not; an unstripped one tells the lines later.
#[test]
fn a_stripped_module_gets_its_lines_later() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let whole = fs::read(format!("{SOURCE}/loop.wasm")).unwrap();
    fs::write(folder.join("whole.wasm"), &whole).unwrap();
    let mut stripped = wasm_encoder::Module::new();
    for payload in wasmparser::Parser::new(0).parse_all(&whole) {
        if let Some((id, range)) = payload.unwrap().as_section().filter(|(id, _)| *id != 0) {
            let data = &whole[range.start as usize..range.end as usize];
            stripped.section(&wasm_encoder::RawSection { id, data });
        }
    }
    fs::write(folder.join("loop.wasm"), stripped.finish()).unwrap();
    kperf(folder, &["run", "-q", "--record", "profile", "loop.wasm"]);
    assert!(shares(folder, &[]).is_empty());
    assert!(in_loop(&shares(folder, &["--symbols", "whole.wasm"])) > 0.8);
    // And are remembered, once.
    assert!(in_loop(&shares(folder, &[])) > 0.8);
    let size = fs::metadata(folder.join("loop.kperf.symbols")).unwrap().len();
    for _ in 0..3 {
        shares(folder, &["--symbols", "whole.wasm"]);
    }
    assert_eq!(fs::metadata(folder.join("loop.kperf.symbols")).unwrap().len(), size);
}

#[test]
fn what_is_no_file_is_refused_as_symbols() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::copy(format!("{SOURCE}/calls.wasm"), folder.join("calls.wasm")).unwrap();
    kperf(folder, &["run", "-q", "--clock", "test", "calls.wasm"]);
    assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    for (name, why) in
        [("pipe", "it is no file but"), (".", "it is no file but"), ("calls.kperf", "it is a trace")]
    {
        let output = Command::new(BINARY)
            .args(["report", "calls.kperf", "--symbols", name])
            .current_dir(folder)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{name}: {said}");
    }
}

/// What a compiler has put into its callers has lines and frames of its own.
#[test]
fn inlined_functions_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::copy(format!("{SOURCE}/inlined.wasm"), folder.join("inlined.wasm")).unwrap();
    kperf(folder, &["run", "-q", "--record", "profile", "inlined.wasm"]);
    let by_line = kperf(folder, &["report", "inlined.kperf", "--by", "line", "--format", "json"]).0;
    let rows: Vec<Value> = serde_json::from_str(&by_line).unwrap();
    let in_term = rows.iter().filter(|row| row["inlined"] == "term");
    let share: f64 = in_term.map(|row| row["share"].as_f64().unwrap()).sum();
    assert!(share > 0.5, "{by_line}");
    assert!(rows.iter().any(|row| row["inlined"] == "outer > inner" && row["place"] == "/src/inlined.c:9"));
    let (table, _) = kperf(folder, &["report", "inlined.kperf", "--by", "line"]);
    assert!(table.contains("through the inlined") && table.contains("outer > inner"), "{table}");
    let (listing, _) = kperf(folder, &["annotate", "hot", "inlined.kperf", "--source", SOURCE]);
    assert!(listing.lines().any(|line| line.starts_with("# ") && line.ends_with("in term, inlined here")), "{listing}");

    kperf(folder, &["export", "inlined.kperf", "--format", "pprof", "-o", "inlined.pb.gz"]);
    let sampled = pprof(folder, "inlined.pb.gz");
    let term = sampled.lines().find(|line| line.contains("term /src/inlined.c:")).expect(&sampled);
    assert!(term.ends_with("hot /src/inlined.c:27 < _start /src/inlined.c:33"), "{sampled}");

    // A trace knows the places of calls.
    kperf(folder, &["run", "-q", "--clock", "test", "--trace", "trace.kperf", "inlined.wasm"]);
    kperf(folder, &["export", "trace.kperf", "--format", "pprof", "-o", "trace.pb.gz"]);
    let called = pprof(folder, "trace.pb.gz");
    // `leaf` is called on two lines of `outer`, of which one is in `inner`.
    assert!(called.contains("leaf :0 < outer :0 < _start /src/inlined.c:32"), "{called}");
}

/// The samples of a profile that pprof would read: a line each, with their frames, the innermost first.
fn pprof(folder: &Path, file: &str) -> String {
    let output = Command::new("go")
        .args(["tool", "pprof", "-raw", "-output", "raw.txt", file])
        .current_dir(folder)
        .output();
    match output {
        Ok(output) if output.status.success() => {}
        _ => return String::new(),
    }
    fs::read_to_string(folder.join("raw.txt")).unwrap()
}
