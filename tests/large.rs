//! A trace of many functions and a twin with much debug information: the time and the memory that names take. On request, as
//! it takes minutes to make them: see `rewriter/tests/large/README.md`.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use wasmparser::{Parser, Payload};

/// Runs a command: the seconds that it took, and its peak of resident memory in bytes.
fn measured(folder: &Path, args: &[&str]) -> (f64, u64) {
    let began = Instant::now();
    let output = Command::new("/usr/bin/time")
        .args(["-f", "%M", "-o", "memory", env!("CARGO_BIN_EXE_kperf-wasm")])
        .args(args)
        .current_dir(folder)
        .output()
        .expect("/usr/bin/time");
    let seconds = began.elapsed().as_secs_f64();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let kilobytes: u64 = std::fs::read_to_string(folder.join("memory")).unwrap().trim().parse().unwrap();
    (seconds, kilobytes * 1024)
}

#[test]
#[ignore = "needs KPERF_LARGE, a folder that rewriter/tests/large/build.sh has filled"]
fn names_of_a_large_twin_take_less_memory_than_the_file_and_its_debug_information() {
    let large = PathBuf::from(std::env::var_os("KPERF_LARGE").expect("KPERF_LARGE"));
    let twin = large.join("large.debug.wasm");
    let wasm = std::fs::read(&twin).unwrap();
    let sizes = Parser::new(0).parse_all(&wasm).filter_map(|payload| match payload.unwrap() {
        Payload::CustomSection(section) if section.name().starts_with(".debug_") => {
            Some(section.data().len() as u64)
        }
        _ => None,
    });
    let debug: u64 = sizes.sum();
    let limit = debug + wasm.len() as u64;
    drop(wasm);
    assert!(debug > 100_000_000);

    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::copy(large.join("large.wasm"), folder.join("large.wasm")).unwrap();
    measured(folder, &["run", "-q", "large.wasm", "--trace", "large.kperf"]);
    let symbols = ["report", "large.kperf", "--symbols", twin.to_str().unwrap()];
    for (what, args) in
        [("without the twin", &symbols[..2]), ("with it", &symbols[..]), ("the next time", &symbols[..2])]
    {
        let (seconds, memory) = measured(folder, args);
        println!("{what}: {seconds:.2} s, {} MB of {} MB", memory / 1_000_000, limit / 1_000_000);
        assert!(memory < limit, "{what}: {memory} of {limit}");
        assert!(seconds < 4.0, "{what}: {seconds} s");
    }
}
