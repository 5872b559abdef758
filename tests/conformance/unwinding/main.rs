//! Frames that something was thrown through: the call tree is what the source says.
//!
//! Each case is a module made by a compiler (`build.sh` says how; the modules are committed) or a text here, run with
//! probes on all its functions. Its calls are replayed, those of the source's own functions, and must be exactly what
//! `NAME.tree` has: what was unwound is closed where it was caught, and marked; times are those of a clock that steps by
//! a microsecond with each event, so that a caller's time is right only if all below it closed in its place.
//! `BLESS=1` renews the files, `KPERF_UNWINDING=cpp` runs the cases with that in their names.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

#[path = "../programs/case.rs"]
#[allow(dead_code)]
mod case;
mod node;
#[path = "../programs/packages.rs"]
#[allow(dead_code)]
mod packages;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What runs a module.
enum Host {
    /// `kperf-wasm run`.
    Wasmtime,
    /// The machine's node, as `run.mjs` does it for this kind of module.
    Node(&'static str),
    /// One that knows garbage collection and the new exceptions.
    NewNode(&'static str),
}

const CPP: &str = "/^(catches|rethrows|between|throws|catches_own|calls|quiet|after)$|Guard/";
const JUMPS: &str = "/^(sets_inner|sets_outer|between|jumps|after)$/";
const KOTLIN: &str = "/^(main|catchesAll|rethrows|catchesMine|finallyRuns|between|throws|after)$/";
const COROUTINES: &str = "/^(main|made|used|cleanedUp|produces|consumes|waits|fails|catches|\\$(invoke|produces|consumes|waits|fails|catches)COROUTINE\\$\\.doResume)$/";
const RUST: &str = "/^(panics::main|catches|resumes|between|panics|after)$|panics::Guard/";
const ALL: &str = "*";

#[rustfmt::skip]
const CASES: [(&str, Host, &str); 14] = [
    ("cpp-exnref", Host::Wasmtime, CPP),
    ("cpp-legacy", Host::Node("wasi"), CPP),
    ("cpp-js", Host::Node("emscripten"), CPP),
    ("jumps-exnref", Host::Wasmtime, JUMPS),
    ("jumps-legacy", Host::Node("wasi"), JUMPS),
    ("jumps-js", Host::Node("emscripten"), JUMPS),
    ("kotlin-exnref", Host::Wasmtime, KOTLIN),
    ("kotlin-legacy", Host::NewNode("wasi"), KOTLIN),
    ("kotlin-traps", Host::Wasmtime, KOTLIN),
    ("kotlin-coroutines", Host::Wasmtime, COROUTINES),
    ("rust-exnref", Host::Wasmtime, RUST),
    ("rust-legacy", Host::Node("wasi"), RUST),
    ("javascript", Host::NewNode("javascript"), ALL),
    ("javascript-legacy", Host::Node("javascript"), ALL),
];

#[test]
fn the_tree_is_what_the_source_says() {
    let wanted = std::env::var("KPERF_UNWINDING").unwrap_or_default();
    let packages = std::env::var("KPERF_PROGRAMS").is_ok_and(|wanted| !wanted.is_empty());
    let packages = packages.then(packages::Packages::get);
    let mut wrong = Vec::new();
    // What is made in several ways from one source calls the same functions.
    let mut shapes: HashMap<&str, String> = HashMap::new();
    for (name, host, only) in CASES.iter().filter(|(name, ..)| name.contains(&wanted)) {
        let scratch = tempfile::tempdir().unwrap();
        let trace = scratch.path().join("trace.kperf");
        let (node, kind) = match (host, &packages) {
            (Host::Wasmtime, _) => (None, ""),
            (Host::Node(kind), _) => (Some(PathBuf::from("node")), *kind),
            (Host::NewNode(kind), Some(packages)) => (Some(packages.new_node()), *kind),
            (Host::NewNode(_), None) => {
                println!("skipped: {name} needs node 22 or newer, which KPERF_PROGRAMS=all fetches");
                continue;
            }
        };
        let said = match node {
            None => kperf(&["run", "--clock", "test", "--quiet", "--trace"], &[&trace, &module(name)]),
            Some(node) => node::run(&node, kind, &module(name), &trace),
        };
        let replayed = kperf(&["replay", "--only", only], &[&trace]);
        assert!(replayed.status.success(), "{name}: {}", text(&replayed.stderr));
        if matches!(*only, CPP | JUMPS | RUST) {
            let shape = shape(&text(&replayed.stdout));
            let known = shapes.entry(only).or_insert_with(|| shape.clone());
            assert_eq!(*known, shape, "{name}: other calls than in the other ways to make it");
        }
        let tree = format!("{}\n{}", text(&said.stdout), text(&replayed.stdout));
        let path = folder().join(format!("{name}.tree"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &tree).unwrap();
        } else if std::fs::read_to_string(&path).unwrap_or_default() != tree {
            wrong.push(format!("{name}: BLESS=1 writes what it is now\n{tree}{}", text(&said.stderr)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The calls without their times: exceptions are thrown by libraries of different lengths.
fn shape(replay: &str) -> String {
    replay.lines().map(|line| format!("{}\n", line.split_once('|').map_or("", |(_, call)| call))).collect()
}

fn folder() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/unwinding").into()
}

fn module(name: &str) -> PathBuf {
    let wasm = folder().join(format!("{name}.wasm"));
    if wasm.exists() { wasm } else { wasm.with_extension("wat") }
}

fn kperf(args: &[&str], paths: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kperf-wasm")).args(args).args(paths).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
