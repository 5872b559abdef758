//! `kperf-wasm top` as its users see it.

use crate::common::command::{BINARY, kperf, output};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Calls `work` as often as it is told, and exits with 7.
const MODULE: &str = r#"(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func $"<b>\1b[31mred" (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3)))
  (func $work (param i32) (result i32) (local $n i32)
    (loop $more
      (local.set 0 (call $"<b>\1b[31mred" (local.get 0)))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $n) (i32.const 80000000))))
    (local.get 0))
  (func (export "_start") (drop (call $work (i32.const 1))) (call $exit (i32.const 7))))"#;

fn top(folder: &Path, args: &[&str]) -> Output {
    output(folder, &[&["top"], args].concat())
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("app.wat"), MODULE).unwrap();
    folder
}

#[test]
fn each_window_is_shown_and_then_all() {
    let folder = folder();
    let run = top(folder.path(), &["app.wat", "--every", "20ms", "--limit", "2"]);
    let text = String::from_utf8(run.stderr).unwrap();
    assert_eq!((run.status.code(), run.stdout.len()), (Some(7), 0), "{text}");
    let (windows, all) = text.split_once("# times:").expect(&text);
    let lines: Vec<&str> = windows.lines().collect();
    assert!(lines[0].starts_with("# after ") && lines[0].contains(" in calls"), "{text}");
    assert_eq!(lines[1], " now %     ±   all %        calls/s  function");
    assert!(lines.iter().filter(|line| line.starts_with("# after ")).count() >= 2, "{text}");
    assert!(all.contains("80,000,003 calls") || all.contains("80,000,003 of"), "{text}");
    // The module's names are text: nothing of them reaches the terminal.
    assert!(text.contains("<b>") && !text.contains('\x1b'), "{text}");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["app.wat"], "no trace is kept");
}

#[test]
fn a_trace_is_kept_where_it_is_wanted() {
    let folder = folder();
    let run = top(folder.path(), &["app.wat", "-q", "--color", "always", "--trace", "app.kperf"]);
    let text = String::from_utf8(run.stderr).unwrap();
    assert!(text.starts_with("# after ") && !text.contains("# times"), "{text}");
    assert!(text.contains("\x1b[31m\u{2588}"), "{text}");
    let (csv, _) = kperf(&folder, &["report", "app.kperf", "--format", "csv"]);
    assert!(csv.lines().any(|line| line.contains("80000000") && line.contains("red")), "{csv}");
}

#[test]
fn what_a_profile_has_not_is_refused() {
    let folder = folder();
    for flags in [&["--clock", "precise"][..], &["--plain"], &["--otlp"]] {
        let run = top(folder.path(), &[&["app.wat"], flags].concat());
        let text = String::from_utf8(run.stderr).unwrap();
        assert!(run.status.code() == Some(1) && text.contains("are for `run`"), "{flags:?}: {text}");
    }
    let run = top(folder.path(), &["app.wat", "--limit", "0"]);
    assert_eq!(run.status.code(), Some(2));
}

/// What is written to a terminal of so many columns, line by line, without what moves the cursor and colors.
#[cfg(target_os = "linux")]
fn on_terminal(folder: &Path, size: &str, command: &str) -> Vec<String> {
    let command = format!("stty {size}; {command}").replace("kperf-wasm", BINARY);
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).env("TERM", "xterm").env_remove("NO_COLOR");
    let run = script.stdin(std::process::Stdio::null()).current_dir(folder).output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    let plain = regex::Regex::new("\x1b\\[[0-9;]*[A-Za-z]|\r").unwrap().replace_all(&text, "").into_owned();
    plain.lines().map(str::to_owned).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn lines_are_no_wider_than_the_terminal() {
    let folder = folder();
    for (columns, titles) in
        [(80, " now %     ±   all %        calls/s  function"), (40, " now %   all %  function")]
    {
        let size = format!("cols {columns} rows 10");
        let lines = on_terminal(folder.path(), &size, "kperf-wasm top app.wat --every 20ms 2>&1");
        let begin = lines.iter().position(|line| line.starts_with("# times:")).expect("the profile of all");
        let (windows, all) = lines.split_at(begin);
        assert!(windows.iter().any(|line| line.trim_start() == titles.trim_start()), "{windows:#?}");
        // Warnings are sentences, which the terminal breaks.
        let windows: Vec<_> = windows.iter().filter(|line| !line.starts_with("warning: ")).collect();
        let table = all.iter().skip_while(|line| !line.contains("self %"));
        for line in windows.into_iter().chain(table.take_while(|line| !line.starts_with('#'))) {
            assert!(line.chars().count() <= columns, "{columns}: {line}\n{lines:#?}");
        }
        let room = all.iter().find(|line| line.starts_with("# no room for"));
        let [wide, narrow] = ["callers", "total"].map(|name| room.is_some_and(|line| line.contains(name)));
        assert!(wide && narrow == (columns == 40), "{all:#?}");
    }
    // While it runs, the window gets smaller. A line of before is at most as wide as before.
    // Long enough for it on every machine.
    fs::write(folder.path().join("long.wat"), MODULE.replace("80000000", "400000000")).unwrap();
    let narrower = "(sleep 0.05; stty cols 30 </dev/tty) & kperf-wasm top long.wat --every 20ms 2>&1; wait";
    let lines = on_terminal(folder.path(), "cols 100 rows 10", narrower);
    let heads = |text: &str| lines.iter().filter(|line| line.trim_end().ends_with(text)).count();
    assert!(heads("function") > 1 && lines.iter().any(|line| line == " now %  function"), "{lines:#?}");
}

#[test]
fn a_closed_pipe_ends_nothing() {
    let folder = folder();
    let mut command = Command::new("bash");
    let script = r#""$0" top app.wat --every 20ms 2>&1 >out.txt | head -1; echo "${PIPESTATUS[0]}""#;
    let run = command.args(["-c", script, BINARY]).current_dir(folder.path());
    let text = String::from_utf8(run.output().unwrap().stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("# after ") && lines[1] == "7", "{text}");
}
