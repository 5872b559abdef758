//! Exceptions through frames: the call tree must be the one that the source says.
//!
//! Each case is a module from a compiler (`build.sh` makes it; the modules are committed) or a text, and runs with probes on all its
//! functions. The replay of the source's own functions must be exactly `NAME.tree`. There, unwound calls are marked and closed where
//! the exception was caught. The clock steps by a microsecond with each event, so a caller's time is right only if all calls below it
//! were closed in the right place. `BLESS=1` renews the files, `KPERF_UNWINDING=cpp` runs the cases with that in their names.

mod node;

use super::programs::packages;
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
            Some(node) => node::run(&node, kind, &module(name), &trace, &[]),
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

/// What is left out when a module is rewritten, and what is left out when a trace of all of it is read, is the same. Those
/// that catch are among what is left out, and those that the exceptions pass through.
#[test]
fn filters_read_the_same_at_rewriting_and_at_reading() {
    const SETS: [&str; 5] = [
        "catch",
        "between|Guard",
        "throws|jumps|panics",
        "catch|between|sets",
        "main|rethrows|resumes|after",
    ];
    let mut compared = 0;
    for (name, host, only) in &CASES {
        let kind = match host {
            Host::Wasmtime => None,
            Host::Node(kind) => Some(*kind),
            Host::NewNode(_) => continue,
        };
        let scratch = tempfile::tempdir().unwrap();
        let run = |file: &str, probe: &str, filter: &[&str]| {
            let trace = scratch.path().join(file);
            let said = match kind {
                None => {
                    let args =
                        [&["run", "--clock", "test", "--quiet", "--probe", probe], filter, &["--trace"]];
                    kperf(&args.concat(), &[&trace, &module(name)])
                }
                Some(kind) => node::run(Path::new("node"), kind, &module(name), &trace, filter),
            };
            assert!(said.status.success() || kind.is_none(), "{name}: {}", text(&said.stderr));
            trace
        };
        let replay = |trace: &Path, filter: &[&str]| {
            let replayed = kperf(&[&["replay", "--only", only], filter].concat(), &[trace]);
            assert!(replayed.status.success(), "{name}: {}", text(&replayed.stderr));
            // Functions of the same name are told apart by their ids, which depend on what has a probe.
            let shape = shape(&text(&replayed.stdout));
            let words = shape.split_inclusive([' ', '\n']).map(|word| match word.strip_prefix('#') {
                Some(id) => id.trim_start_matches(char::is_numeric),
                None => word,
            });
            words.collect::<String>()
        };
        let all = run("all.kperf", "import", &[]);
        for set in SETS {
            let skip = format!("/{set}/");
            let filter = ["--skip", &skip];
            let known = kperf(&["replay", "--only", &skip], &[&all]);
            if !known.status.success() {
                continue; // None of them is in this one.
            }
            let read = replay(&all, &filter);
            for probe in ["import", "inline"] {
                if kind.is_some() && probe == "inline" {
                    continue;
                }
                let rewritten = replay(&run("some.kperf", probe, &filter), &[]);
                assert_eq!(read, rewritten, "{name} {set} {probe}");
                compared += 1;
            }
        }
    }
    assert!(compared > 40, "{compared}");
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
