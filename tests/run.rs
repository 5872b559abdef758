//! `kperf-wasm run` as its users see it.

use crate::common::command::{Folder, Ran, command, kperf, life};
use crate::common::only_stalls;
use std::fs;
use std::io::{BufRead, BufReader, Write};

use std::process::{Command, Stdio};

const TRAP: &str = r#"(module
    (memory 1)
    (func $_ZN4life4stepEv (param i32) (drop (i32.load (i32.const -1))))
    (func (param i32) (call $_ZN4life4stepEv (local.get 0)))
    (func (export "go") (param i32) (result i32)
      (if (local.get 0) (then (call 1 (local.get 0)))) (i32.const 42)))"#;

/// Prints its arguments and its environment, reads the file `in/data.txt`, and exits with 7.
const WORLD: &str = r#"(module
    (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ_sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "environ_get" (func $environ (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_open"
      (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (data (i32.const 900) "data.txt")
    (func $print (param $at i32) (param $length i32)
      (i32.store (i32.const 0) (local.get $at))
      (i32.store (i32.const 4) (local.get $length))
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
    (func (export "_start")
      (drop (call $args_sizes (i32.const 16) (i32.const 20)))
      (drop (call $args (i32.const 2000) (i32.const 1000)))
      (call $print (i32.const 1000) (i32.load (i32.const 20)))
      (drop (call $environ_sizes (i32.const 16) (i32.const 20)))
      (drop (call $environ (i32.const 2000) (i32.const 1000)))
      (call $print (i32.const 1000) (i32.load (i32.const 20)))
      (drop (call $open (i32.const 3) (i32.const 0) (i32.const 900) (i32.const 8) (i32.const 0)
        (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 32)))
      (i32.store (i32.const 0) (i32.const 1000))
      (i32.store (i32.const 4) (i32.const 100))
      (drop (call $read (i32.load (i32.const 32)) (i32.const 0) (i32.const 1) (i32.const 8)))
      (call $print (i32.const 1000) (i32.load (i32.const 8)))
      (call $exit (i32.const 7))))"#;

#[test]
fn an_untouched_module_is_probed_and_its_time_is_shown() {
    let folder = Folder::new();
    let ran = folder.run(&["run", &life("rust"), "2000"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "2000 steps, 12 live cells\n"));
    assert!(ran.stderr.starts_with("recording: exact counts"), "{}", ran.stderr);
    assert!(ran.stderr.contains("life::is_valid_position"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("# trace: life.kperf\n"), "{}", ran.stderr);
    let report =
        folder.run(&["report", "life.kperf", "--only", "life::is_valid_position", "--format", "csv"]);
    assert!(report.stdout.contains("6400000"), "{}", report.stdout);
}

#[test]
fn with_a_ticker_the_recorder_is_inside_where_the_module_has_room_for_it() {
    let full = format!(r#"(module (func (export "_start")) {})"#, "(memory 0)".repeat(100));
    let folder = Folder::new().with("full.wat", &full);
    let probes = |args: &[&str]| {
        let ran = folder.run(&[&["run", "--trace", "a.kperf"], args].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let info = folder.run(&["info", "a.kperf"]).stdout;
        let told = ran.stderr.lines().any(|line| line.starts_with("probes: inline, "));
        (told, info.contains("--probe inline"))
    };
    assert_eq!(probes(&["--clock", "ticker", &life("rust"), "1"]), (true, true));
    assert_eq!(probes(&["--clock", "ticker", "--probe", "inline", &life("rust"), "1"]), (false, true));
    assert_eq!(probes(&["--clock", "ticker", "--probe", "import", &life("rust"), "1"]), (false, false));
    assert_eq!(probes(&["--clock", "precise", &life("rust"), "1"]), (false, false));
    assert_eq!(probes(&["--clock", "ticker", "full.wat"]), (false, false));
    let ran = folder.run(&["run", "--clock", "ticker", "--probe", "inline", "full.wat"]);
    assert!(ran.stderr.contains("the module would have 101 memories; engines allow 100"), "{}", ran.stderr);
}

#[test]
fn quiet_says_nothing_and_plain_leaves_no_trace() {
    let folder = Folder::new();
    let ran = folder.run(&["run", "-q", &life("c"), "1"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "1 steps, 20 live cells\n", "")
    );
    fs::remove_file(folder.path("life.kperf")).unwrap();
    let ran = folder.run(&["run", "--plain", &life("c"), "1"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "1 steps, 20 live cells\n", "")
    );
    assert!(!folder.path("life.kperf").exists());
    let ran = folder.run(&["run", "--plain", "--only", "main", &life("c")]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert_eq!(
        ran.stderr,
        "error: --plain runs the module as it is; remove the flags that choose functions\n"
    );
}

#[test]
fn a_rewritten_module_runs_with_the_probes_it_has() {
    let folder = Folder::new();
    let rewritten = folder.run(&["rewrite", &life("c"), "-o", "probed.wasm", "--only", "step"]);
    assert_eq!(rewritten.code, Some(0), "{}", rewritten.stderr);
    let ran = folder.run(&["run", "-q", "--clock", "test", "probed.wasm", "3"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let report = folder.run(&["report", "probed.kperf", "--format", "csv"]);
    assert_eq!(report.stdout.lines().count(), 2, "a head and one function: {}", report.stdout);
    let ran = folder.run(&["run", "--only", "play", "probed.wasm"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("it has probes already"), "{}", ran.stderr);
}

#[test]
fn the_guest_sees_what_it_is_given_and_its_exit_code_is_passed_through() {
    let folder = Folder::new().with("world.wat", WORLD);
    fs::create_dir(folder.path("data")).unwrap();
    fs::write(folder.path("data/data.txt"), "the file\n").unwrap();
    let args = ["--dir", "data::in", "--env", "A=b c", "--env", "KPERF_TEST", "--", "--flag", "x"];
    let args = [&["run", "-q", "world.wat"], &args[..]].concat();
    let ran = Ran::of(command(&folder, &args).env("KPERF_TEST", "from outside").output().unwrap());
    assert_eq!(ran.stdout, "world.wat\0--flag\0x\0A=b c\0KPERF_TEST=from outside\0the file\n");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(7), ""));
    let replay = folder.run(&["report", "world.kperf"]);
    assert!(replay.stdout.contains("exit 7"), "{}", replay.stdout);
    for (args, message) in [
        (["--dir", "nowhere"], "error: failed to open the folder `nowhere` of --dir\n"),
        (
            ["--env", "KPERF_NOT_SET"],
            "error: --env `KPERF_NOT_SET` has no value to pass on; give one: `KPERF_NOT_SET=VALUE`\n",
        ),
    ] {
        let ran = folder.run(&["run", "world.wat", args[0], args[1]]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.stderr.starts_with(message), "{}", ran.stderr);
    }
}

#[test]
fn a_trap_tells_where_by_the_source_s_names_and_leaves_the_trace() {
    let folder = Folder::new().with("trap.wat", TRAP);
    for flags in [&["--plain"][..], &["-q", "--clock", "test"]] {
        let ran = folder.run(&[&["run", "trap.wat", "--invoke", "go", "1"], flags].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(134), ""));
        assert_eq!(
            ran.stderr,
            "error: wasm trap: out of bounds memory access\n    0: life::step()\n    1: func[1]\n    2: go\n",
            "{flags:?}"
        );
    }
    let replay = folder.run(&["replay", "trap.kperf"]);
    assert_eq!(
        replay.stdout,
        "\
# DURATION   FUNCTION
           | go() {
           |   func[1]() {
  1.000 us |     life::step(); /* trap */
  2.000 us |   } /* func[1]: trap */
  3.000 us | } /* go: trap */
"
    );
}

#[test]
fn functions_are_invoked_with_arguments_of_their_types() {
    let folder = Folder::new().with("trap.wat", TRAP).with(
        "lib.wat",
        r#"(module
            (global $ready (mut i64) (i64.const 0))
            (func (export "_initialize") (global.set $ready (i64.const 1000)))
            (func (export "add") (param i64 f64) (result i64 f64)
              (i64.add (local.get 0) (global.get $ready)) (f64.mul (local.get 1) (f64.const 2))))"#,
    );
    let ran = folder.run(&["run", "-q", "--clock", "test", "lib.wat", "--invoke", "add", "--", "-7", "1.25"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "993\n2.5\n", ""));
    let replay = folder.run(&["replay", "lib.kperf"]);
    assert_eq!(replay.stdout, "# DURATION   FUNCTION\n  1.000 us | _initialize();\n  1.000 us | add();\n");
    for (args, message) in [
        (
            &["lib.wat"][..],
            "error: `lib.wat` is not a WASI command: it exports no `_start`. Name a function with --invoke: `_initialize`, `add`\n",
        ),
        (
            &["lib.wat", "--invoke", "sub"],
            "error: `lib.wat` exports no function `sub`; it exports `_initialize`, `add`\n",
        ),
        (&["lib.wat", "--invoke", "add", "1"], "error: `add` takes 2 arguments; given: 1\n"),
        (
            &["trap.wat", "--invoke", "go", "one"],
            "error: in the arguments of `go`\n\nCaused by:\n    0: `one` is not a number of type i32\n",
        ),
    ] {
        let ran = folder.run(&[&["run"], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(1), "", message));
    }
}

#[test]
fn imports_that_nobody_supplies_are_listed_before_anything_runs() {
    let folder = Folder::new().with(
        "wants.wat",
        r#"(module
            (import "env" "abort" (func)) (import "env" "memory" (memory 1)) (import "env" "abort" (func))
            (import "wasi_snapshot_preview1" "fd_write" (func)))"#,
    );
    let ran = folder.run(&["run", "wants.wat"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.stderr,
        "error: `wants.wat` imports what `run` doesn't supply: `env.abort` (function), `env.memory` (memory), \
         `wasi_snapshot_preview1.fd_write` (of another type); `run` has WASI preview 1 only. For a host of your own, add \
         probes with `rewrite`\n"
    );
    assert!(!folder.path("wants.kperf").exists());
}

#[test]
fn the_module_and_stdout_are_not_overwritten() {
    let folder = Folder::new().with("trap.wat", TRAP);
    let run = ["run", "-q", "trap.wat", "--invoke", "go", "0", "--trace"];
    let ran = folder.run(&[&run[..], &["trap.wat"]].concat());
    assert_eq!(
        ran.stderr,
        "error: `trap.wat` is the module and would be overwritten; name another file with --trace\n"
    );
    assert_eq!(fs::read_to_string(folder.path("trap.wat")).unwrap(), TRAP);
    let ran = folder.run(&[&run[..], &["-"]].concat());
    assert_eq!(
        ran.stderr,
        "error: the trace can't go to stdout, which is the guest's; name a file with --trace\n"
    );
}

#[test]
fn a_module_may_come_from_stdin() {
    let folder = Folder::new();
    let mut child = command(&folder, &["run", "-q", "-", "--invoke", "go", "0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(TRAP.as_bytes()).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "42\n", ""));
    assert!(folder.path("stdin.kperf").exists());
}

/// Says hello, then calls a function for ever.
#[cfg(unix)]
const ENDLESS: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 64) "hello\n") (data (i32.const 0) "\40\00\00\00\06\00\00\00")
    (func $work)
    (func (export "_start")
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 32)))
      (loop $forever (call $work) (br $forever))))"#;

#[cfg(unix)]
#[test]
fn signals_leave_a_whole_trace() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let folder = Folder::new().with("endless.wat", ENDLESS);
        let mut child = command(&folder, &["run", "endless.wat", "--clock", "precise"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "hello\n");
        let killed = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("interrupted by SIG{signal}")), "{}", ran.stderr);
        let report = folder.run(&["report", "endless.kperf"]);
        assert_eq!(report.code, Some(0), "{}", report.stderr);
        assert!(only_stalls(&report.stderr), "the trace is not whole: {}", report.stderr);
        assert!(report.stdout.contains(" interrupted\n"), "{}", report.stdout);
    }
}

#[test]
fn every_language_has_the_same_calls() {
    for (language, function) in [
        ("rust", "life::is_valid_position"),
        ("c", "isValidPosition"),
        ("assemblyscript", "life/isValidPosition"),
        ("kotlin", "isValidPosition"),
        ("go", "main.isValidPosition"),
        ("wat", "isValidPosition"),
    ] {
        let folder = Folder::new();
        let ran = folder.run(&["run", "-q", "--clock", "precise", &life(language), "10"]);
        assert_eq!(ran.code, Some(0), "{language}: {}", ran.stderr);
        let report = folder.run(&["report", "life.kperf", "--only", function, "--format", "csv"]);
        assert!(report.stdout.contains(",32000,"), "{language}: {}{}", report.stdout, report.stderr);
    }
}

#[test]
fn a_flight_recorder_writes_what_led_to_a_trap_a_slow_call_and_the_end() {
    let folder = Folder::new().with("trap.wat", TRAP);
    let ran =
        folder.run(&["run", "--keep", "1MiB", "--trace", "app.kperf", "trap.wat", "--invoke", "go", "1"]);
    assert_eq!(ran.code, Some(134), "{}", ran.stderr);
    assert!(ran.stderr.contains("app.kperf has the last events: trap: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("life::step"), "{}", ran.stderr);
    assert!(!folder.path("app.2.kperf").exists());

    let keep = [
        "run",
        "--keep",
        "10s",
        "--slower-than",
        "life::step:1ns",
        "--clock",
        "precise",
        "--trace",
        "app.kperf",
    ];
    let ran = folder.run(&[&keep[..], &[&life("rust"), "5"]].concat());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "5 steps, 19 live cells\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("has the last events: "), "{}", ran.stderr);
    let info = folder.run(&["info", "app.kperf"]);
    assert!(info.stdout.contains("kept"), "{}", info.stdout);

    let mistakes: [(&[&str], &str); 7] = [
        (&["--record", "profile"], "--keep keeps calls, which a profile doesn't have"),
        (&["--plain"], "cannot be used with"),
        (&["--otlp", "http://localhost:1"], "cannot be used with"),
        (&["--repeat", "3"], "cannot be used with"),
        (&["--keep", "3s"], "one time and one size"),
        (&["--slower-than", "nobody:1ms"], "no function with a probe is called `nobody`"),
        (&["--clock", "instructions"], "events have no age"),
    ];
    for (flags, message) in mistakes {
        let ran = folder.run(&[&["run", "--keep", "10s", &life("rust"), "1"], flags].concat());
        assert!(ran.code != Some(0) && ran.stderr.contains(message), "{flags:?}: {}", ran.stderr);
    }
    // A component.
    let component = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/components/command.wasm");
    let ran = folder.run(&["run", "--keep", "1MiB", "--trace", "component.kperf", component]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("component.kperf has the last events: completed"), "{}", ran.stderr);
    // A full disk.
    if cfg!(target_os = "linux") {
        let ran = folder.run(&["run", "-q", "--keep", "1MiB", "--trace", "/dev/full", &life("rust"), "1"]);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains("the last events can't be written to /dev/full"), "{}", ran.stderr);
    }
}

#[test]
fn names_for_perf_are_those_of_the_reports() {
    let folder = Folder::new();
    for flags in [&["--plain"][..], &[], &["--clock", "precise"]] {
        let ran = folder.run(&[&["run", "--perf-map", &life("rust"), "1"], flags].concat());
        let line = ran.stderr.lines().find_map(|line| line.strip_prefix("names for perf: "));
        let file = line.unwrap_or_else(|| panic!("{}", ran.stderr));
        let names = fs::read_to_string(file).unwrap();
        fs::remove_file(file).unwrap();
        assert!(names.lines().any(|line| line.ends_with(" life::is_valid_position")), "{names}");
    }
}

/// A name that a report shows can be typed back, whatever is in it.
#[test]
fn names_are_matched_as_they_are_shown() {
    const MODULE: &str = r#"(module
      (func $odd (@name "say \"a\"\n\1b[31m{b,\e2\80\ae") (call $operator))
      (func $operator (@name "v::operator[](int) \\t"))
      (func $empty (@name ""))
      (func (export "_start") (call $odd) (call $empty)))"#;
    let folder = Folder::new().with("app.wat", MODULE);
    let run = |flags: &[&str]| {
        let ran =
            folder.run(&[&["run", "-q", "--clock", "test", "app.wat", "--trace", "t.kperf"], flags].concat());
        assert_eq!(ran.code, Some(0), "{flags:?}: {}", ran.stderr);
    };
    run(&[]);
    let shown = [r#"say "a"\n\u{1b}[31m{b,\u{202e}"#, r"v::operator[](int) \t", "func[2]"];
    let table = folder.run(&["report", "t.kperf", "--full-names"]).stdout;
    for name in shown {
        assert!(table.contains(name), "{name} in {table}");
        for flags in [&["--only", name][..], &["--callers", name], &["--only", name, "--callees", name]] {
            let ran = folder.run(&[&["report", "t.kperf"], flags].concat());
            assert_eq!(ran.code, Some(0), "{flags:?}: {}", ran.stderr);
        }
        let ran = folder.run(&["report", "t.kperf", "--skip", name, "--full-names"]);
        assert!(ran.code == Some(0) && !ran.stdout.contains(name), "{}{}", ran.stdout, ran.stderr);
    }
    for name in shown {
        run(&["--only", name]);
        let table = folder.run(&["report", "t.kperf", "--full-names"]).stdout;
        assert!(table.contains(name) && table.contains("# calls: 1 of 1 function,"), "{table}");
    }
}

#[test]
fn the_table_of_a_run_is_that_of_its_report() {
    let (folder, life) = (Folder::new(), life("c"));
    for flags in [&["--clock", "ticker:10us"][..], &["--clock", "precise"], &["--record", "profile"]] {
        let args = [&["run", "--trace", "x.kperf"], flags, &[&life, "--", "200"]].concat();
        let (_, ran) = kperf(&folder, &args);
        let (report, _) = kperf(&folder, &["report", "x.kperf"]);
        // Columns may differ in their widths only.
        let rows = |text: &str| -> Vec<String> {
            let rows = text.lines().skip_while(|line| !line.starts_with("self %"));
            let rows = rows.take_while(|line| !line.starts_with('#'));
            rows.map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
        };
        let (ran, report) = (rows(&ran), rows(&report));
        assert!(ran.len() > 3 && report.starts_with(&ran), "{flags:?}: {ran:#?} {report:#?}");
        if flags != ["--clock", "precise"] {
            assert_eq!(ran.len(), report.len().min(21), "{flags:?}");
        }
    }
}
