//! Modules that record themselves (`rewrite --probe self`), under wasmtime, Node.js and, where Go is, wazero.

use crate::common::command::{Folder, ROOT, Ran, command, kperf, life};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A host that runs a command of WASI with a folder.
#[derive(Clone, Copy, Debug)]
enum Host {
    Wasmtime,
    Node,
    Wazero,
}

impl Host {
    /// Those that are there.
    fn all() -> Vec<Host> {
        let wazero = wazero().map(|_| Host::Wazero);
        [Host::Wasmtime, Host::Node].into_iter().chain(wazero).collect()
    }

    fn command(self, folder: &Folder, module: &str, args: &[&str]) -> Command {
        let mut command = match self {
            Host::Wasmtime => {
                let mut command = command(folder, &["run", "--plain", "--dir", ".::/", module, "--"]);
                command.args(args);
                return command;
            }
            Host::Node => {
                let mut command = Command::new("node");
                command.arg("--no-warnings").arg(format!("{ROOT}/tests/itself/wasi.mjs"));
                command
            }
            Host::Wazero => Command::new(wazero().unwrap()),
        };
        command.args([module, "."]).args(args).current_dir(folder);
        command
    }

    fn run(self, folder: &Folder, module: &str, args: &[&str]) -> Ran {
        Ran::of(self.command(folder, module, args).output().unwrap())
    }
}

/// The host of wazero, if Go is there to build it.
fn wazero() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        if Command::new("go").arg("version").output().is_err() {
            println!("wazero: skipped, Go is not here");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("wazero");
        let built = Command::new("go")
            .args(["build", "-o"])
            .arg(&program)
            .current_dir(format!("{ROOT}/tests/itself/wazero"))
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Some((folder, program))
    });
    built.as_ref().map(|(_, program)| program.as_path())
}

/// A folder with `recorded.wasm`, made of this text, which writes `m.kperf`.
fn recorded(wat: &str) -> Folder {
    let folder = Folder::new().with("m.wat", wat);
    kperf(&folder, &["rewrite", "--probe", "self", "--validate", "m.wat", "-o", "recorded.wasm"]);
    folder
}

fn functions(report: &Value) -> BTreeMap<String, u64> {
    let functions = report["functions"].as_array().unwrap().iter();
    functions.map(|f| (f["name"].as_str().unwrap().to_owned(), f["calls"].as_u64().unwrap())).collect()
}

fn report(folder: &Folder, trace: &str) -> Value {
    folder.json(&["report", trace, "--format", "json", "--limit", "0"])
}

/// How often functions called others: `caller;callee`.
fn arcs(report: &Value) -> BTreeMap<String, u64> {
    let mut arcs = BTreeMap::new();
    for function in report["functions"].as_array().unwrap() {
        for caller in function["callers"].as_array().unwrap() {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let arc = text(&caller["name"]) + ";" + &text(&function["name"]);
            arcs.insert(arc, caller["calls"].as_u64().unwrap());
        }
    }
    arcs
}

#[test]
fn counts_are_those_of_a_trace_in_every_host() {
    for language in ["rust", "c", "assemblyscript"] {
        let folder = Folder::new();
        let (module, steps) = (life(language), ["60"]);
        let plain = folder.run(&["run", "--plain", "--dir", ".::/", &module, "--", "60"]);
        kperf(
            &folder,
            &["run", "--dir", ".::/", "--trace", "trace.kperf", "--clock", "precise", &module, "--", "60"],
        );
        let expected = functions(&report(&folder, "trace.kperf"));
        kperf(&folder, &["rewrite", "--probe", "self", &module, "-o", "recorded.wasm"]);
        for host in Host::all() {
            let ran = host.run(&folder, "recorded.wasm", &steps);
            assert_eq!(
                (ran.code, &ran.stdout),
                (Some(0), &plain.stdout),
                "{language}, {host:?}: {}",
                ran.stderr
            );
            let report = report(&folder, "life.kperf");
            let mut found = functions(&report);
            let mut expected = expected.clone();
            // The trace has calls of the host too. How often C writes depends on how much a host takes at once.
            for counts in [&mut found, &mut expected] {
                counts.retain(|name, _| !name.contains("wasi") && name != "writev");
            }
            assert_eq!(found, expected, "{language}, {host:?}");
            assert_eq!(report["outcome"], "completed");
            let warnings = report["warnings"].as_array().unwrap();
            assert!(
                warnings.len() == 1 && warnings[0].as_str().unwrap().contains("clock was read"),
                "{warnings:?}"
            );
            // All time is somebody's.
            let (own, wall) =
                (report["self_nanos"].as_u64().unwrap(), report["wall_nanos"].as_u64().unwrap());
            assert!(own > wall / 2 && own < wall + wall / 4, "{language}, {host:?}: {own} of {wall} ns");
            fs::remove_file(folder.path("life.kperf")).unwrap();
        }
    }
}

const GROWS: &str = r#"(module
 (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
 (memory (export "memory") 2 60)
 (func $f)
 (func $must (param i32 i32) (if (i32.ne (local.get 0) (local.get 1)) (then (call $exit (i32.const 9)))))
 (func $calls (local $i i32)
  (loop $l (call $f) (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1000)))))
 ;; All bytes from here to there are 0. Then they aren't any more.
 (func $zeros (param $at i32) (param $end i32)
  (loop $l
   (call $must (i32.load (local.get $at)) (i32.const 0))
   (i32.store (local.get $at) (i32.const 0x55555555))
   (br_if $l (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 4))) (local.get $end)))))
 (func (export "_start")
  (call $must (memory.size) (i32.const 2))
  (i32.store (i32.const 131068) (i32.const 77))
  (call $calls)
  (call $must (memory.grow (i32.const 3)) (i32.const 2))
  (call $must (memory.size) (i32.const 5))
  (call $zeros (i32.const 131072) (i32.const 327680))
  (call $must (i32.load (i32.const 131068)) (i32.const 77))
  (call $calls)
  (call $must (memory.grow (i32.const 0)) (i32.const 5))
  (call $must (memory.grow (i32.const 40)) (i32.const 5))
  (call $zeros (i32.const 327680) (i32.const 2949120))
  (call $must (memory.grow (i32.const 16)) (i32.const -1))
  (call $must (memory.grow (i32.const -1)) (i32.const -1))
  (call $must (memory.grow (i32.const 15)) (i32.const 45))
  (call $must (memory.grow (i32.const 1)) (i32.const -1))
  (call $must (memory.size) (i32.const 60))
  (call $zeros (i32.const 2949120) (i32.const 3932160))
  (call $calls)))"#;

#[test]
fn the_program_s_memory_is_as_before() {
    let folder = recorded(GROWS);
    for host in Host::all() {
        let ran = host.run(&folder, "recorded.wasm", &[]);
        assert_eq!(ran.code, Some(0), "{host:?}: {}", ran.stderr);
        let found = functions(&report(&folder, "m.kperf"));
        assert_eq!((found["f"], found["calls"], found["zeros"]), (3000, 3, 3), "{host:?}");
        fs::remove_file(folder.path("m.kperf")).unwrap();
    }
}

const ENDS: &str = r#"(module
 (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
 (import "wasi_snapshot_preview1" "args_sizes_get" (func $args (param i32 i32) (result i32)))
 (memory (export "memory") 1)
 (func $f)
 (func $inner (param $n i32)
  (call $f)
  (if (i32.eq (local.get $n) (i32.const 2)) (then (call $exit (i32.const 3))))
  (if (i32.eq (local.get $n) (i32.const 3)) (then (unreachable)))
  (if (i32.eq (local.get $n) (i32.const 4)) (then (drop (i32.div_u (i32.const 1) (i32.const 0)))))
  (call $f))
 (func (export "_start")
  (drop (call $args (i32.const 0) (i32.const 4)))
  (call $inner (i32.load (i32.const 0)))))"#;

#[test]
fn the_file_is_written_however_the_program_ends() {
    let folder = recorded(ENDS);
    for host in Host::all() {
        for (args, outcome, calls) in
            [(&[][..], "completed", 2), (&["x"], "exit 3", 1), (&["x"; 2], "trap: unreachable", 1)]
        {
            host.run(&folder, "recorded.wasm", args);
            let report = report(&folder, "m.kperf");
            assert_eq!(report["outcome"], outcome, "{host:?}");
            assert_eq!(functions(&report)["f"], calls, "{host:?}");
            fs::remove_file(folder.path("m.kperf")).unwrap();
        }
        // So short a program has written nothing when another trap ends it.
        let ran = host.run(&folder, "recorded.wasm", &["x"; 3]);
        assert_ne!(ran.code, Some(0));
        assert!(!folder.path("m.kperf").exists(), "{host:?}");
    }
}

#[test]
fn the_environment_names_the_file() {
    let folder = recorded(ENDS);
    fs::create_dir(folder.path("sub")).unwrap();
    for (name, file) in [("sub/x.kperf", "sub/x.kperf"), ("//y.kperf", "y.kperf"), ("", ""), ("/", "")] {
        let mut command = Host::Node.command(&folder, "recorded.wasm", &[]);
        let ran = Ran::of(command.env("KPERF_TRACE", name).output().unwrap());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!folder.path("m.kperf").exists(), "{name}");
        if !file.is_empty() {
            assert_eq!(functions(&report(&folder, file))["f"], 2);
        }
    }
    kperf(&folder, &["rewrite", "--probe", "self", "m.wat", "-o", "named.wasm", "--trace", "z.kperf"]);
    Host::Node.run(&folder, "named.wasm", &[]);
    assert_eq!(functions(&report(&folder, "z.kperf"))["f"], 2);
}

#[test]
fn without_a_folder_or_with_a_full_disk_the_program_runs_on() {
    let folder = recorded(ENDS);
    let script = format!("{ROOT}/tests/itself/wasi.mjs");
    let run = |dir: &str, full: &str| {
        let mut command = Command::new("node");
        command.args(["--no-warnings", &script, "recorded.wasm", dir]).env("FULL", full);
        Ran::of(command.current_dir(&folder).output().unwrap())
    };
    assert_eq!(run("-", "").code, Some(0));
    assert!(!folder.path("m.kperf").exists());
    // Half of it is written.
    assert_eq!(run(".", "half").code, Some(0));
    let report = report(&folder, "m.kperf");
    assert_eq!(report["outcome"], Value::Null);
    assert!(!report["warnings"].as_array().unwrap().is_empty());
    // A host may take a byte at a time.
    assert_eq!(run(".", "slow").code, Some(0));
    assert_eq!(functions(&self::report(&folder, "m.kperf"))["f"], 2);
}

#[test]
fn a_log_has_what_a_file_would_have() {
    let folder = Folder::new();
    kperf(&folder, &["rewrite", "--probe", "self", "--trace", "-", &life("c"), "-o", "logged.wasm"]);
    kperf(&folder, &["rewrite", "--probe", "self", &life("c"), "-o", "recorded.wasm"]);
    Host::Node.run(&folder, "recorded.wasm", &["60"]);
    let expected = functions(&report(&folder, "life.kperf"));
    fs::remove_file(folder.path("life.kperf")).unwrap();
    let check = |log: &str, host: &str| {
        fs::write(folder.path("app.log"), log).unwrap();
        let report = report(&folder, "app.log");
        let (mut found, mut expected) = (functions(&report), expected.clone());
        for counts in [&mut found, &mut expected] {
            counts.retain(|name, _| !name.contains("wasi") && name != "writev");
        }
        assert_eq!((found, &report["outcome"]), (expected, &json!("completed")), "{host}");
        assert!(!folder.path("life.kperf").exists());
    };
    let mut logs = Vec::new();
    for host in Host::all() {
        let ran = host.run(&folder, "logged.wasm", &["60"]);
        assert_eq!(ran.code, Some(0), "{host:?}: {}", ran.stderr);
        check(&ran.stderr, &format!("{host:?}"));
        logs.push(ran.stderr);
    }
    // A host that takes a byte at a time, and a logger that puts something before each line.
    let mut slow = Host::Node.command(&folder, "logged.wasm", &["60"]);
    let slow = Ran::of(slow.env("FULL", "trickle").output().unwrap());
    let prefixed: String = slow.stderr.lines().map(|line| format!("12:00 app[1] {line}\r\n")).collect();
    check(&prefixed, "slow");
    // Of two instances the user chooses one.
    fs::write(folder.path("app.log"), logs.concat()).unwrap();
    let two = folder.run(&["report", "app.log"]);
    assert!(two.stderr.contains("choose one: grep kperf:"), "{}", two.stderr);
    // The variable asks for a log too.
    let mut asked = Host::Node.command(&folder, "recorded.wasm", &["60"]);
    check(&Ran::of(asked.env("KPERF_TRACE", "-").output().unwrap()).stderr, "KPERF_TRACE");
}

const DEEP: &str = r#"(module
 (import "host" "call" (func $host (param funcref)))
 (memory 1)
 (tag $e)
 (func $leaf)
 (func $down (param $n i32)
  (call $leaf)
  (if (local.get $n) (then (call $down (i32.sub (local.get $n) (i32.const 1)))))
  (call $leaf))
 (func (export "run")
  (call $leaf)
  (call $down (i32.const 9000))
  (call $down (i32.const 10))
  (drop (i32.div_u (i32.const 1) (i32.const 0)))))"#;

/// Calls `run` in a host that fetches the recording when it has trapped.
fn fetch_after_the_trap(folder: &Folder) {
    let take = format!("{ROOT}/tests/itself/take.mjs");
    let ran = Command::new("node").args([&take, "recorded.wasm", "m.kperf"]).current_dir(folder).output();
    let ran = Ran::of(ran.unwrap());
    assert!(ran.stdout.contains("divide by zero"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_deep_recursion_has_room_and_the_host_fetches_all_after_a_trap() {
    let folder = recorded(DEEP);
    fetch_after_the_trap(&folder);
    let report = report(&folder, "m.kperf");
    assert_eq!(report["calls"], 9_001 * 3 + 1 + 11 * 3 + 1);
    assert_eq!(
        report["wall_instructions"].as_u64().map(|n| n > 10_000),
        Some(true),
        "instructions are the clock"
    );
    let found = functions(&report);
    assert_eq!(found["leaf"] + found["down"] + found["[other]"], 9_001 * 3 + 1 + 11 * 3);
    // Paths that had nodes are exact.
    let arcs = arcs(&report);
    assert_eq!((arcs["run;leaf"], arcs["run;down"], arcs["[host];run"]), (1, 2, 1));
}

const GROWN_BY_HOST: &str = r#"(module
 (import "host" "grow" (func $grow (param i32)))
 (memory (export "memory") 1)
 (func $f)
 (func $check (param $at i32) (param $end i32)
  (call $f)
  (loop $l
   (if (i32.load (local.get $at)) (then (unreachable)))
   (i32.store (local.get $at) (i32.const 0x55555555))
   (br_if $l (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 4))) (local.get $end)))))
 (func (export "run")
  (call $grow (i32.const 2))
  (call $check (i32.const 65536) (i32.const 196608))
  (call $grow (i32.const 30))
  (if (i32.ne (memory.size) (i32.const 33)) (then (unreachable)))
  (call $check (i32.const 196608) (i32.const 2162688))
  (drop (i32.div_u (i32.const 1) (i32.const 0)))))"#;

#[test]
fn a_host_may_grow_the_memory() {
    let folder = recorded(GROWN_BY_HOST);
    fetch_after_the_trap(&folder);
    let found = functions(&report(&folder, "m.kperf"));
    assert_eq!((found["f"], found["check"], found["run"]), (2, 2, 1));
}

const CATCHES: &str = r#"(module
 (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
 (memory (export "memory") 1)
 (tag $e)
 (func $leaf)
 (func $throws (call $leaf) (throw $e))
 (func $outer (call $throws) (call $leaf))
 (func $catches (block $h (try_table (catch $e $h) (call $outer))) (call $leaf))
 (func $plain (block $h (try_table (catch_all $h) (call $outer))) (call $leaf))
 (func (export "_start") (call $catches) (call $leaf) (call $plain) (call $leaf)))"#;

#[test]
fn exceptions_leave_no_frame_open() {
    let folder = Folder::new().with("m.wat", CATCHES);
    for (skip, expected) in [
        (&[][..], &["_start;leaf 2", "catches;leaf 1", "throws;leaf 2", "plain;leaf 1", "plain;outer 1"][..]),
        (&["--skip=plain"], &["_start;leaf 3", "catches;leaf 1", "throws;leaf 2", "_start;outer 1"]),
    ] {
        let args =
            [&["rewrite", "--probe", "self", "--validate", "m.wat", "-o", "recorded.wasm"], skip].concat();
        kperf(&folder, &args);
        Host::Wasmtime.run(&folder, "recorded.wasm", &[]);
        let arcs = arcs(&report(&folder, "m.kperf"));
        for line in expected {
            let (arc, calls) = line.rsplit_once(' ').unwrap();
            assert_eq!(arcs.get(arc).copied(), calls.parse().ok(), "{arc} of {arcs:?}");
        }
    }
}

#[test]
fn a_long_program_writes_now_and_then_and_all_of_it_adds_up() {
    // Some tenths of a second, and a trap at the end.
    let folder = recorded(
        r#"(module
 (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
 (import "wasi_snapshot_preview1" "fd_prestat_get" (func $fd_prestat_get (param i32 i32) (result i32)))
 (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
 (memory (export "memory") 1)
 (func $f (param $n i32) (result i32) (loop $l (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))) (local.get $n))
 (func (export "_start") (local $i i32)
  (loop $l
   (drop (call $f (i32.const 1000000)))
   (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1500))))
  ;; The program's folder is the only open file.
  (if (i32.ne (call $fd_prestat_get (i32.const 4) (i32.const 0)) (i32.const 8)) (then (call $exit (i32.const 3))))
  (drop (i32.div_u (i32.const 1) (i32.const 0)))))"#,
    );
    for host in [Host::Wasmtime, Host::Node] {
        let ran = host.run(&folder, "recorded.wasm", &[]);
        assert_ne!(ran.code, Some(0));
        let report = report(&folder, "m.kperf");
        let calls = functions(&report)["f"];
        assert!(calls > 0 && calls <= 1500, "{calls} calls");
        assert_eq!(report["outcome"], Value::Null);
        assert!(ran.stderr.contains("divide by zero"), "{}", ran.stderr);
        assert!(report["warnings"].to_string().contains("cut off"), "{}", report["warnings"]);
        assert!(windows(&folder) > 1, "{host:?}");
    }
    // What another program has written to stays as that program left it.
    let other = Host::Node.command(&folder, "recorded.wasm", &[]).env("FULL", "other").output();
    let other = Ran::of(other.unwrap());
    assert!(other.stderr.contains("divide by zero"), "{}", other.stderr);
    assert_eq!(windows(&folder), 1);
    assert_eq!(fs::read(folder.path("m.kperf")).unwrap().last(), Some(&b'x'));
}

/// How many windows the file has.
fn windows(folder: &Folder) -> usize {
    let bytes = fs::read(folder.path("m.kperf")).unwrap();
    bytes.windows(8).filter(|chunk| *chunk == b"\xf5kpfPROF").count()
}

#[test]
fn other_tools_read_the_file() {
    let folder = recorded(ENDS);
    Host::Node.run(&folder, "recorded.wasm", &[]);
    for args in [
        &["report", "m.kperf"][..],
        &["graph", "m.kperf", "-o", "m.dot"],
        &["flame", "m.kperf", "-o", "m.svg"],
        &["view", "m.kperf", "-o", "m.html"],
        &["diff", "m.kperf", "m.kperf"],
        &["info", "m.kperf"],
        &["collect", "m.kperf", "-o", "data"],
    ] {
        kperf(&folder, args);
    }
    let python = Command::new("python3")
        .args([&format!("{ROOT}/tests/format/reader.py"), "m.kperf"])
        .current_dir(&folder)
        .output();
    let read: Value = serde_json::from_slice(&python.unwrap().stdout).unwrap();
    assert_eq!(read["outcome"], "completed");
}
