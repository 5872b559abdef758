//! Signals to `kperf-wasm run`: what was recorded before can be read.
//!
//! No test depends on times. Each waits for what it can see: a line that the guest prints, or a trace that has grown.

#![cfg(unix)]

use crate::common::only_stalls;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A test that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Says hello, then works for ever: `_start` calls `outer`, which calls `work`, which calls `leaf` a thousand times.
const ENDLESS: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 64) "hello\n") (data (i32.const 0) "\40\00\00\00\06\00\00\00")
    (func $leaf)
    (func $work (local $n i32)
      (local.set $n (i32.const 1000))
      (loop $again (call $leaf) (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func $outer (loop $forever (call $work) (br $forever)))
    (func (export "_start")
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 32)))
      (call $outer)))"#;

/// Works for ever in one function that calls nothing: it never gives its block to the writer.
const SILENT: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 64) "hello\n") (data (i32.const 0) "\40\00\00\00\06\00\00\00")
    (func $spins (loop $forever (br $forever)))
    (func (export "_start")
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 32)))
      (call $spins)))"#;

/// Waits in a read of stdin that never ends.
const WAITING: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 64) "hello\n") (data (i32.const 0) "\40\00\00\00\06\00\00\00")
    (func (export "_start")
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 32)))
      (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 32)))))"#;

/// A guest that runs, and has said hello.
struct Running {
    folder: TempDir,
    child: Child,
}

impl Running {
    fn start(guest: &str, flags: &[&str]) -> Running {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("guest.wat"), guest).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_kperf-wasm"));
        command.args(["run", "guest.wat"]).args(flags).current_dir(folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Running { child: command.spawn().unwrap(), folder };
        let mut line = String::new();
        BufReader::new(running.child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "hello\n");
        running
    }

    fn trace(&self) -> PathBuf {
        self.folder.path().join("guest.kperf")
    }

    /// Waits until the trace has so many bytes.
    fn wait_for(&mut self, bytes: u64) {
        let begun = Instant::now();
        while fs::metadata(self.trace()).unwrap().len() < bytes {
            assert!(begun.elapsed() < PATIENCE, "the trace doesn't grow");
            assert!(self.child.try_wait().unwrap().is_none(), "the guest has ended");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn signal(&self, name: &str) {
        let killed = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
    }

    /// Waits for the end; answers the status and what was on stderr.
    fn end(&mut self) -> (ExitStatus, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < PATIENCE, "it doesn't end");
            std::thread::sleep(Duration::from_millis(1));
        };
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (status, stderr)
    }

    /// The report as JSON, and what was told on stderr.
    fn report(&self) -> (Value, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kperf-wasm"));
        let output = command.args(["report", "--format", "json"]).arg(self.trace()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        (serde_json::from_slice(&output.stdout).unwrap(), stderr)
    }
}

/// A guest shall not outlive its test.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn function<'a>(report: &'a Value, name: &str) -> &'a Value {
    let functions = report["functions"].as_array().unwrap();
    functions.iter().find(|f| f["name"] == name).unwrap_or_else(|| panic!("no {name} in {report}"))
}

const SIGNALS: [(&str, i32); 2] = [("INT", 130), ("TERM", 143)];

#[test]
fn sigint_and_sigterm_leave_a_whole_trace() {
    for (signal, code) in SIGNALS {
        for (clock, probe) in
            [("precise", "inline"), ("ticker", "import"), ("ticker", "auto"), ("test", "auto")]
        {
            let mut guest = Running::start(ENDLESS, &["--clock", clock, "--probe", probe]);
            guest.wait_for(50_000);
            guest.signal(signal);
            let (status, stderr) = guest.end();
            assert_eq!(status.code(), Some(code), "{stderr}");
            assert!(stderr.contains(&format!(", interrupted by SIG{signal}\n")), "{stderr}");
            assert!(stderr.ends_with("# trace: guest.kperf\n"), "{stderr}");

            let (report, warnings) = guest.report();
            assert!(only_stalls(&warnings), "{clock}, {probe}: the trace is not whole: {warnings}");
            assert_eq!(report["outcome"], format!("interrupted by SIG{signal}"));
            assert_eq!(report["lost_events"], 0);
            for name in ["_start", "outer"] {
                assert_eq!(function(&report, name)["unfinished"], 1, "{name}");
            }
            // `work` and `leaf` are open or not; nothing else is.
            let open = report["cut_short"]["interrupted"].as_u64().unwrap();
            assert!((2..=4).contains(&open), "{clock}, {probe}: {open} open calls");
            assert_eq!(report["cut_short"], json!({ "interrupted": open }));
            check_counts(&report);
        }
    }
}

/// Every finished `work` has its thousand `leaf`s; the last may have fewer.
fn check_counts(report: &Value) {
    let calls = |name: &str| function(report, name)["calls"].as_u64().unwrap();
    let (works, leaves) = (calls("work"), calls("leaf"));
    assert!(works > 0, "nothing was recorded");
    assert!((1000 * (works - 1)..=1000 * works).contains(&leaves), "{works} of work, {leaves} of leaf");
    assert_eq!(calls("outer"), 1);
}

/// As soon as there is a trace a signal is answered, before the guest runs too.
#[test]
fn a_signal_right_after_the_trace_is_made_leaves_a_whole_one() {
    for flags in [&["--clock", "ticker"][..], &["--clock", "precise"], &["--record", "profile"]] {
        // The moment is a short one: one in five signals came too early.
        for (signal, code) in SIGNALS.repeat(5) {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("guest.wat"), ENDLESS).unwrap();
            let mut command = Command::new(env!("CARGO_BIN_EXE_kperf-wasm"));
            command.args(["run", "guest.wat"]).args(flags).current_dir(folder.path());
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
            let mut guest = Running { child: command.spawn().unwrap(), folder };
            let begun = Instant::now();
            while !guest.trace().exists() {
                assert!(begun.elapsed() < PATIENCE, "there is no trace");
                assert!(guest.child.try_wait().unwrap().is_none(), "the guest has ended");
                std::thread::yield_now();
            }
            guest.signal(signal);
            let (status, stderr) = guest.end();
            assert_eq!(status.code(), Some(code), "{flags:?}: {status}, {stderr}");
            let (report, _) = guest.report();
            assert_eq!(report["outcome"], format!("interrupted by SIG{signal}"), "{flags:?}");
        }
    }
}

#[test]
fn a_guest_that_calls_nothing_and_one_that_waits_can_be_interrupted() {
    for (signal, code) in SIGNALS {
        for (guest, function_name, calls, probe) in [
            (SILENT, "spins", 3, "import"),
            (SILENT, "spins", 3, "inline"),
            (WAITING, "wasi_snapshot_preview1.fd_read", 3, "import"),
            (WAITING, "wasi_snapshot_preview1.fd_read", 3, "inline"),
        ] {
            let mut guest = Running::start(guest, &["-q", "--clock", "precise", "--probe", probe]);
            guest.signal(signal);
            let (status, stderr) = guest.end();
            assert_eq!((status.code(), stderr.as_str()), (Some(code), ""));
            let (report, warnings) = guest.report();
            assert_eq!(warnings, "");
            // The line is out before the call that printed it has ended.
            let seen = report["calls"].as_u64().unwrap();
            assert!((2..=calls).contains(&seen), "{report}");
            assert_eq!(function(&report, "_start")["unfinished"], 1);
            if seen == calls {
                assert_eq!(function(&report, function_name)["unfinished"], 1);
            }
        }
    }
}

#[test]
fn sigkill_leaves_all_blocks_that_were_written() {
    for clock in ["precise", "ticker"] {
        let mut guest = Running::start(ENDLESS, &["-q", "--clock", clock]);
        guest.wait_for(50_000);
        guest.signal("KILL");
        let (status, stderr) = guest.end();
        assert_eq!((status.code(), stderr.as_str()), (None, ""));
        let (report, warnings) = guest.report();
        assert!(warnings.contains("warning: the recording was cut off: there is no end chunk"), "{warnings}");
        assert_eq!(report["outcome"], Value::Null);
        assert_eq!(function(&report, "_start")["unfinished"], 1);
        assert_eq!(function(&report, "outer")["unfinished"], 1);
        let open = report["cut_short"]["cut off"].as_u64().unwrap();
        assert!((2..=4).contains(&open), "{open} open calls");
        check_counts(&report);
    }
}

#[test]
fn without_probes_signals_end_the_guest_as_ever() {
    let mut guest = Running::start(ENDLESS, &["--plain"]);
    guest.signal("TERM");
    let (status, stderr) = guest.end();
    assert_eq!((std::os::unix::process::ExitStatusExt::signal(&status), stderr.as_str()), (Some(15), ""));
    assert!(!guest.trace().exists());
}

/// `kperf-wasm replay app.kperf | head -1`.
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut guest = Running::start(ENDLESS, &["-q", "--clock", "test"]);
    guest.wait_for(50_000);
    guest.signal("TERM");
    guest.end();
    for args in [&["replay"][..], &["report", "--format", "json"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kperf-wasm"));
        command.args(args).arg(guest.trace()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // At once, so that whatever is written is too late.
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}

/// Calls `work` ten times, says hello, and waits in a read of stdin that never ends.
const SLOW: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 64) "hello\n") (data (i32.const 0) "\40\00\00\00\06\00\00\00")
    (func $work (param i32) (result i32) (i32.div_s (i32.const 100) (local.get 0)))
    (func (export "_start") (local $n i32)
      (local.set $n (i32.const 10))
      (loop $again
        (drop (call $work (local.get $n)))
        (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 32)))
      (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 32)))))"#;

/// Few events fill no block.
#[test]
fn sigkill_leaves_what_a_slow_guest_has_recorded() {
    for (clock, probe) in [("precise", "inline"), ("ticker", "inline"), ("ticker", "import")] {
        let mut guest = Running::start(SLOW, &["-q", "--clock", clock, "--probe", probe]);
        let begun = Instant::now();
        loop {
            let (report, _) = guest.report();
            if report["calls"].as_u64() >= Some(11) {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "{clock}, {probe}: {report}");
            std::thread::sleep(Duration::from_millis(50));
        }
        guest.signal("KILL");
        let (status, _) = guest.end();
        assert_eq!(status.code(), None);
        let (report, warnings) = guest.report();
        assert!(warnings.contains("the recording was cut off"), "{warnings}");
        assert_eq!(function(&report, "work")["calls"], 10, "{clock}, {probe}");
        assert_eq!(function(&report, "_start")["unfinished"], 1);
    }
}

/// A terminal that is closed. What was started to outlive it, as by `nohup`, does.
#[test]
#[cfg(target_os = "linux")]
fn sighup_is_as_sigterm_unless_it_is_ignored() {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    if u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 == 0 {
        let mut guest = Running::start(ENDLESS, &["--clock", "precise"]);
        guest.wait_for(50_000);
        guest.signal("HUP");
        let (status, stderr) = guest.end();
        assert_eq!(status.code(), Some(129), "{stderr}");
        assert!(stderr.contains(", interrupted by SIGHUP\n"), "{stderr}");
        let (report, _) = guest.report();
        assert_eq!(report["outcome"], "interrupted by SIGHUP");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("guest.wat"), ENDLESS).unwrap();
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "trap '' HUP; exec \"$0\" run --clock precise guest.wat",
        env!("CARGO_BIN_EXE_kperf-wasm"),
    ]);
    command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut guest = Running { child: command.spawn().unwrap(), folder };
    let begun = Instant::now();
    while !guest.trace().exists() {
        assert!(begun.elapsed() < PATIENCE, "there is no trace");
        std::thread::yield_now();
    }
    guest.wait_for(50_000);
    guest.signal("HUP");
    guest.wait_for(200_000);
    guest.signal("TERM");
    assert_eq!(guest.end().0.code(), Some(143));
}

/// Waits until there is a file, which comes whole.
fn wait_for_file(running: &mut Running, name: &str) -> PathBuf {
    let path = running.folder.path().join(name);
    let begun = Instant::now();
    while !path.exists() {
        assert!(begun.elapsed() < PATIENCE, "no {name}");
        assert!(running.child.try_wait().unwrap().is_none(), "the guest has ended");
        std::thread::sleep(Duration::from_millis(1));
    }
    path
}

#[test]
fn a_flight_recorder_writes_at_each_user_signal_and_goes_on() {
    for (guest, flags) in [
        (ENDLESS, &["--keep", "10s"][..]),
        (ENDLESS, &["--keep", "1h,1MiB", "--clock", "precise"]),
        (SILENT, &["--keep", "2MiB", "--probe", "import"]),
        (SILENT, &["--keep", "2MiB"]),
    ] {
        let mut running = Running::start(guest, flags);
        assert!(!running.trace().exists());
        let mut calls = 0;
        for name in ["guest.kperf", "guest.2.kperf"] {
            running.signal("USR1");
            let dump = fs::File::open(wait_for_file(&mut running, name)).unwrap();
            let kept = kperf_trace::Kept::read(dump).unwrap().unwrap();
            assert_eq!(kept.why, "SIGUSR1");
            let all = kept.calls.iter().map(|(_, calls)| calls).sum();
            assert!(all >= calls && all > 0, "{all}");
            calls = all;
        }
        running.signal("INT");
        let (status, stderr) = running.end();
        assert_eq!(status.code(), Some(130), "{stderr}");
        assert!(stderr.contains("guest.2.kperf has the last events: SIGUSR1\n"), "{stderr}");
        assert!(stderr.contains("guest.3.kperf has the last events: interrupted by SIGINT\n"), "{stderr}");
        let report = |name: &str| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_kperf-wasm"));
            let output = command
                .args(["report", "--format", "json", name])
                .current_dir(running.folder.path())
                .output();
            let output = output.unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
            serde_json::from_slice::<Value>(&output.stdout).unwrap()
        };
        for name in ["guest.kperf", "guest.2.kperf", "guest.3.kperf"] {
            let text = report(name).to_string();
            let innermost = if guest == SILENT { "spins" } else { "outer" };
            assert!(text.contains(innermost) && text.contains("_start"), "{name}: {text}");
        }
        assert!(
            fs::read_dir(running.folder.path())
                .unwrap()
                .all(|entry| { !entry.unwrap().file_name().to_string_lossy().ends_with(".part") })
        );
    }
}

#[test]
fn a_dump_that_is_cut_off_by_a_kill_is_no_file() {
    for delay in [0, 1, 2, 5, 10] {
        let mut running = Running::start(ENDLESS, &["--keep", "64MiB", "--clock", "precise"]);
        std::thread::sleep(Duration::from_millis(100));
        running.signal("USR1");
        std::thread::sleep(Duration::from_millis(delay));
        running.child.kill().unwrap();
        running.child.wait().unwrap();
        if let Ok(dump) = fs::File::open(running.trace()) {
            assert!(kperf_trace::Kept::read(dump).unwrap().is_some());
        }
    }
}
