//! `kperf-wasm tui` as its users see it, in a terminal that `script` makes.
#![allow(missing_docs, clippy::unwrap_used)]
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const CLI: &str = env!("CARGO_BIN_EXE_kperf-wasm");

/// What is on a terminal's screen.
struct Grid {
    cells: Vec<Vec<char>>,
    at: (usize, usize),
}

const ROWS: usize = 24;
const COLUMNS: usize = 100;

impl Grid {
    /// Does what the bytes of a program do to the screen: letters, and sequences that move the cursor. (Only changes are drawn.)
    fn take(&mut self, text: &str) {
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            if letter == '\x1b' && letters.next_if_eq(&'[').is_some() {
                let mut given = String::new();
                while let Some(letter) = letters.next_if(|letter| !letter.is_ascii_alphabetic()) {
                    given.push(letter);
                }
                let numbers: Vec<usize> = given.split(';').filter_map(|number| number.parse().ok()).collect();
                match (letters.next(), &numbers[..]) {
                    (Some('H'), &[row, column]) => self.at = (row - 1, column - 1),
                    (Some('J'), _) => self.cells = vec![vec![' '; COLUMNS]; ROWS],
                    _ => {}
                }
            } else if letter >= ' ' {
                if let Some(cell) = self.cells.get_mut(self.at.0).and_then(|row| row.get_mut(self.at.1)) {
                    *cell = letter;
                }
                self.at.1 += 1;
            }
        }
    }

    fn text(&self) -> String {
        self.cells.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned() + "\n").collect()
    }
}

/// A terminal with the command in it.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    raw: Arc<Mutex<String>>,
}

impl Terminal {
    fn new(trace: &Path) -> Terminal {
        Terminal::after("", trace)
    }

    /// The same, behind what the shell does first.
    fn after(first: &str, trace: &Path) -> Terminal {
        let command = format!("{first} stty cols {COLUMNS} rows {ROWS}; exec {CLI} tui {}", trace.display());
        let mut child = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (keys, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let raw = Arc::new(Mutex::new(String::new()));
        let seen = raw.clone();
        std::thread::spawn(move || {
            let (mut bytes, mut rest) = ([0; 4096], Vec::new());
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                rest.extend_from_slice(&bytes[..count]);
                // A letter may come in two parts.
                let whole = std::str::from_utf8(&rest).map_or_else(|error| error.valid_up_to(), str::len);
                let rest_of_it = rest.split_off(whole);
                seen.lock().unwrap().push_str(std::str::from_utf8(&rest).unwrap());
                rest = rest_of_it;
            }
        });
        Terminal { child, keys, raw }
    }

    /// Waits until this is on the screen; answers the screen.
    fn until(&self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            let mut grid = Grid { cells: vec![vec![' '; COLUMNS]; ROWS], at: (0, 0) };
            grid.take(&self.raw.lock().unwrap());
            let shown = grid.text();
            if shown.contains(text) {
                return shown;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "`{text}` isn't shown:\n{shown}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Sends a signal to the command.
    fn signal(&self, name: &str) {
        kill(name, &self.pid());
    }

    fn pid(&self) -> String {
        let of_script = format!("/proc/{0}/task/{0}/children", self.child.id());
        fs::read_to_string(of_script).unwrap().trim().to_owned()
    }

    /// Waits until `script`, and so the command, is stopped.
    fn until_stopped(&self) {
        let begun = Instant::now();
        let state = format!("/proc/{}/status", self.child.id());
        while !fs::read_to_string(&state).unwrap().contains("State:\tT") {
            assert!(begun.elapsed() < Duration::from_secs(60), "it doesn't stop");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the terminal was given back so often.
    fn given_back(&self, times: usize) {
        let begun = Instant::now();
        while self.raw.lock().unwrap().matches("\x1b[?1049l").count() < times {
            assert!(begun.elapsed() < Duration::from_secs(60), "the terminal isn't given back");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn end(mut self) {
        self.press("q");
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that failed leaves it behind.
        let _ = self.child.kill();
    }
}

fn kill(signal: &str, pid: &str) {
    let sent = Command::new("kill").args([&format!("-{signal}"), pid]).status().unwrap();
    assert!(sent.success(), "{signal} {pid}");
}

fn record(folder: &Path, module: &str, args: &[&str]) -> std::path::PathBuf {
    let trace = folder.join("app.kperf");
    let run =
        Command::new(CLI).args(["run", "-q", module, "--trace"]).arg(&trace).arg("--").args(args).output();
    let run = run.unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    trace
}

#[test]
fn a_trace_is_walked_through() {
    let folder = tempfile::tempdir().unwrap();
    let trace = record(folder.path(), "examples/game-of-life/rust/life.wasm", &["20"]);
    let mut terminal = Terminal::new(&trace);
    // The path that took the most time is open.
    let first = terminal.until("q: end");
    // (Where that ends depends on the machine.)
    assert!(
        first.contains("\u{25be} __main_void")
            && first.contains(" life::main")
            && first.contains("80,084 calls"),
        "{first}"
    );
    terminal.press("\t");
    let functions = terminal.until("tab: tree");
    assert!(functions.contains("self         calls  function"), "{functions}");
    terminal.press("/should_become\r\r");
    let source = terminal.until("q: back");
    assert!(source.contains("life::should_become_live") && source.contains("8,000 calls"), "{source}");
    terminal.press("q");
    terminal.until("tab: tree");
    terminal.press("/no such name\r");
    terminal.until("no function has `no such name` in its name");
    terminal.press("\t");
    terminal.until("e: hottest path");
    terminal.end();
}

#[test]
fn names_are_text() {
    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join("app.wat");
    let text = r#"(module (func $"<b>\1b[31mred") (func (export "_start") (call $"<b>\1b[31mred")))"#;
    fs::write(&module, text).unwrap();
    let trace = record(folder.path(), module.to_str().unwrap(), &[]);
    let mut terminal = Terminal::new(&trace);
    terminal.until("q: end");
    terminal.press("\x1b[C");
    let shown = terminal.until("<b>");
    assert!(shown.contains("[31mred"), "{shown}");
    assert!(!terminal.raw.lock().unwrap().contains("\x1b[31mred"), "{shown}");
    terminal.end();
}

#[test]
fn signals_give_the_terminal_back() {
    let folder = tempfile::tempdir().unwrap();
    let trace = record(folder.path(), "examples/game-of-life/rust/life.wasm", &["1"]);
    for (name, code) in [("TERM", 143), ("HUP", 129)] {
        let mut terminal = Terminal::new(&trace);
        terminal.until("q: end");
        terminal.signal(name);
        terminal.given_back(1);
        assert_eq!(terminal.child.wait().unwrap().code(), Some(code));
    }
}

#[test]
fn it_ends_with_its_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let trace = record(folder.path(), "examples/game-of-life/rust/life.wasm", &["1"]);
    for first in ["", "trap '' HUP;"] {
        let mut terminal = Terminal::after(first, &trace);
        terminal.until("q: end");
        let process = format!("/proc/{}/stat", terminal.pid());
        terminal.child.kill().unwrap();
        terminal.child.wait().unwrap();
        let begun = Instant::now();
        // Who has ended may wait for a parent that asks.
        while fs::read_to_string(&process).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(begun.elapsed() < Duration::from_secs(20), "it goes on without a terminal");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn who_stops_it_can_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let trace = record(folder.path(), "examples/game-of-life/rust/life.wasm", &["1"]);
    let mut terminal = Terminal::new(&trace);
    terminal.until("q: end");
    for (times, way) in [(1, "TSTP"), (2, "\x1a")] {
        match way {
            "\x1a" => terminal.press(way),
            name => terminal.signal(name),
        }
        // `script` stops with it, and makes it go on.
        terminal.until_stopped();
        kill("CONT", &terminal.child.id().to_string());
        terminal.given_back(times);
        terminal.press("\t");
        terminal.until(if times == 1 { "tab: tree" } else { "e: hottest path" });
    }
    terminal.end();
}

#[test]
fn a_long_search_shows_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let trace = record(folder.path(), "examples/game-of-life/rust/life.wasm", &["1"]);
    let mut terminal = Terminal::new(&trace);
    terminal.until("q: end");
    terminal.press(&format!("/{}end of it", "x".repeat(2 * COLUMNS)));
    terminal.until("xxxend of it");
    // All is taken back, then the last word.
    terminal.press("\x15should be\x17_become");
    terminal.until("/should _become");
    terminal.press("\x15\r");
    terminal.until("nothing is searched for");
    terminal.end();
}

#[test]
fn it_wants_a_terminal_and_calls() {
    let folder = tempfile::tempdir().unwrap();
    let trace = record(folder.path(), "examples/game-of-life/rust/life.wasm", &["1"]);
    let run = Command::new(CLI).arg("tui").arg(&trace).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(run.stderr).unwrap();
    assert_eq!((run.status.code(), run.stdout.len()), (Some(1), 0));
    assert!(text.contains("`tui` wants a terminal") && text.contains("`report`"), "{text}");
}
