//! FORMAT.md is enough to write a reader from. `tests/format/reader.py` was written from it alone, and must read real traces as
//! `kperf-wasm` does. It needs Python 3 and, for packed columns, a module or program for zstd.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn output(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn kperf(args: &[&str]) -> Vec<u8> {
    output(Command::new(env!("CARGO_BIN_EXE_kperf-wasm")).args(args))
}

/// What the reader in Python says of a trace.
fn read(trace: &Path) -> Value {
    let script = root().join("tests/format/reader.py");
    serde_json::from_slice(&output(Command::new("python3").arg(script).arg(trace))).unwrap()
}

/// Holds what both say of a trace together. Answers how many calls there are.
fn check(trace: &Path) -> u64 {
    let read = read(trace);
    assert_eq!(read["notes"], serde_json::json!([]), "{trace:?}");
    assert_eq!(read["unknown"], serde_json::json!([]), "{trace:?}");
    let report: Value =
        serde_json::from_slice(&kperf(&["report", trace.to_str().unwrap(), "--format", "json"])).unwrap();
    assert_eq!(report["outcome"].as_str().unwrap_or(""), read["outcome"]);
    let rows = report["functions"].as_array().unwrap();
    let found = read["functions"].as_array().unwrap();
    assert_eq!(rows.len(), found.len(), "{trace:?}");
    for (kind, field) in [("own", "own_wait_nanos"), ("estimated", "estimated_wait_nanos")] {
        let [said, found] = [&report[field], &read["waits"][kind]].map(|nanos| nanos.as_f64().unwrap_or(0.0));
        assert!((said - found).abs() <= 1.0 + found * 1e-9, "{trace:?}: {kind}");
    }
    let mut calls = 0;
    for row in rows {
        let same = found.iter().find(|found| found["id"] == row["id"]).unwrap();
        for field in ["name", "calls"] {
            assert_eq!(row[field], same[field], "{trace:?}");
        }
        assert_eq!(row.get("counted").is_some(), same["counted"] == true, "{row}");
        for field in ["self_nanos", "total_nanos"] {
            let (Some(told), Some(found)) = (row[field].as_f64(), same[field].as_f64()) else { continue };
            assert!((told - found).abs() <= 1.0 + found * 1e-9, "{field}: {row} against {same}");
        }
        calls += row["calls"].as_u64().unwrap();
    }
    assert_eq!(calls, report["calls"].as_u64().unwrap());
    // Call by call: as many lines as enters.
    let csv = kperf(&["export", trace.to_str().unwrap(), "--format", "csv", "-o", "-"]);
    let lines = csv.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count() as u64;
    assert_eq!(lines - 1, read["enters"].as_u64().unwrap(), "{trace:?}");
    calls
}

#[test]
fn traces_that_were_written_before_read() {
    let traces = ["tests/golden/life.trace", "host-runtime/trace/tests/files/version-1.0.trace"];
    for trace in traces.map(|path| root().join(path)) {
        assert_eq!(check(&trace), 4_005);
    }
    assert_eq!(read(&root().join(traces[1]))["version"], "1.0");
    assert!(check(&root().join("tests/golden/windows.trace")) > 0);
}

#[test]
fn what_the_program_records_reads() {
    let folder = tempfile::tempdir().unwrap();
    let life = root().join("examples/game-of-life/rust/life.wasm");
    let cases: [(&str, &[&str]); 5] = [
        ("precise", &["--clock", "precise"]),
        ("ticker", &["--clock", "ticker"]),
        ("test", &["--clock", "test", "--probe", "import"]),
        ("counted", &["--clock", "ticker", "--probe", "inline", "--leaf", "count"]),
        ("profile", &["--record", "profile", "--stack", "shadow"]),
    ];
    for (name, flags) in cases {
        let trace = folder.path().join(format!("{name}.kperf"));
        let mut args = vec!["run", "-q", "--trace", trace.to_str().unwrap()];
        args.extend(flags);
        args.extend([life.to_str().unwrap(), "--", "3"]);
        kperf(&args);
        assert!(check(&trace) > 1_000, "{name}");
        let read = read(&trace);
        assert_eq!(read["version"], "1.4", "{name}");
        if name != "profile" {
            let bytes = fs::read(&trace).unwrap();
            let end = bytes.windows(9).rposition(|bytes| bytes == b"\"events\":").unwrap();
            let said: String =
                bytes[end + 9..].iter().map(|&byte| byte as char).take_while(char::is_ascii_digit).collect();
            assert_eq!(said.parse::<u64>().unwrap(), read["events"].as_u64().unwrap(), "{name}");
        }
    }
}
