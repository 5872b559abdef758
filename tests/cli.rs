//! Runs `tests/cli/**/*.{wat,test}`: the command line as its users see it.
//!
//! The head of a test's file has the commands. The expected output stands beside it, in `NAME.stdout` and `NAME.stderr`; a missing
//! file stands for no output. `tests/cli/how_to_write_a_test.test` explains the format by using it. `BLESS=1 cargo test --release
//! --test main cli::` writes the real output into the files: read the diff. `KPERF_CLI=WORD` runs only the tests whose path has that
//! word.
//!
//! Only what differs from run to run is normalised: see [`normalised`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

const BINARY: &str = env!("CARGO_BIN_EXE_kperf-wasm");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn filetests() {
    let mut files = BTreeSet::new();
    collect(&Path::new(ROOT).join("tests/cli"), &mut files);
    let is_test = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "wat" || ending == "test");
    let tests: Vec<&PathBuf> = files.iter().filter(|path| is_test(path)).collect();
    assert!(tests.len() > 50, "only {} filetests were found", tests.len());
    let word = std::env::var("KPERF_CLI").unwrap_or_default();
    let chosen: Vec<&PathBuf> =
        tests.iter().copied().filter(|path| path.to_str().unwrap().contains(&word)).collect();
    assert!(!chosen.is_empty(), "no filetest has `{word}` in its path");

    let (queue, failures) = (Mutex::new(chosen.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(path) = { queue.lock().unwrap().next() } {
                    let failed = std::panic::catch_unwind(|| check(path));
                    let failed =
                        failed.unwrap_or_else(|_| Err("the test itself is broken, see above".into()));
                    if let Err(text) = failed {
                        failures.lock().unwrap().push(format!("== {}\n{text}", path.display()));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    for path in files.iter().filter(|path| !is_test(path)) {
        if !["wat", "test"].iter().any(|ending| files.contains(&path.with_extension(ending))) {
            failures.push(format!("== {}\nthere is no test for it", path.display()));
        }
    }
    assert!(failures.is_empty(), "{} of {} failed\n{}", failures.len(), chosen.len(), failures.join("\n"));
}

fn collect(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.insert(path);
        }
    }
}

/// Runs a test and compares, or blesses.
fn check(path: &Path) -> Result<(), String> {
    let text = fs::read_to_string(path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut run =
        Run { folder: folder.path(), name: path.file_name().unwrap().to_str().unwrap(), ..Run::new() };
    run.lay_out(&text);
    run.steps(&text);
    if run.done == 0 {
        run.problems.push_str("it has no `;; RUN:` or `;; FAIL:` line\n");
    }
    for (ending, actual) in [("stdout", run.stdout), ("stderr", run.stderr)] {
        let beside = path.with_extension(ending);
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if expected == actual {
            continue;
        }
        if std::env::var_os("BLESS").is_none() {
            writeln!(run.problems, "expected on {ending}:\n{expected}-- got:\n{actual}--").unwrap();
        } else if actual.is_empty() {
            fs::remove_file(beside).unwrap();
        } else {
            fs::write(beside, actual).unwrap();
        }
    }
    if run.problems.is_empty() { Ok(()) } else { Err(run.problems) }
}

/// A test that is being run in a folder of its own.
struct Run<'a> {
    folder: &'a Path,
    /// The name of the test's file.
    name: &'a str,
    stdout: String,
    stderr: String,
    done: usize,
    problems: String,
}

impl<'a> Run<'a> {
    fn new() -> Run<'a> {
        let (stdout, stderr, problems) = (String::new(), String::new(), String::new());
        Run { folder: Path::new(""), name: "", stdout, stderr, done: 0, problems }
    }

    /// Writes the test's files: those behind lines `;; FILE: NAME`, or else the test itself.
    fn lay_out(&self, text: &str) {
        let mut files = BTreeMap::<&str, String>::new();
        let mut current = None;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix(";; FILE: ") {
                current = Some(name);
                files.insert(name, String::new());
            } else if let Some(name) = current {
                *files.get_mut(name).unwrap() += &format!("{line}\n");
            }
        }
        if files.is_empty() {
            files.insert(self.name, text.to_owned());
        }
        for (name, text) in files {
            let path = self.folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    /// Runs the steps of the head, line by line.
    fn steps(&mut self, text: &str) {
        let head = text.lines().take_while(|line| !line.starts_with(";; FILE: "));
        let steps: Vec<(&str, &str)> = head
            .filter_map(|line| line.strip_prefix(";; ")?.split_once(": "))
            .filter(|(verb, _)| verb.len() > 1 && verb.chars().all(|c| c.is_ascii_uppercase()))
            .collect();
        let several = steps.iter().filter(|(verb, _)| !["COPY", "CUT"].contains(verb)).count() > 1;
        for (verb, rest) in steps {
            let mut words = words(&rest.replace('%', self.name));
            let title = rest.trim_start_matches(|c: char| verb == "EXIT" && (c.is_ascii_digit() || c == ' '));
            let title = if several { format!("$ {title}\n") } else { String::new() };
            let (out, err) = match verb {
                "RUN" => self.command(0, &words),
                "FAIL" => self.command(1, &words),
                "EXIT" => self.command(words.remove(0).parse().unwrap(), &words),
                "CAT" => (fs::read_to_string(self.folder.join(&words[0])).unwrap(), String::new()),
                "HEX" => (hex(&fs::read(self.folder.join(&words[0])).unwrap()), String::new()),
                "LIST" => (self.list(&words[0]), String::new()),
                "COPY" => {
                    let name = Path::new(&words[0]).file_name().unwrap();
                    fs::copy(Path::new(ROOT).join(&words[0]), self.folder.join(name)).unwrap();
                    continue;
                }
                "CUT" => {
                    let path = self.folder.join(&words[0]);
                    let bytes = fs::read(&path).unwrap();
                    let cut: usize = words[1].parse().unwrap();
                    fs::write(path, &bytes[..bytes.len() - cut]).unwrap();
                    continue;
                }
                verb => panic!("`{verb}` is no step"),
            };
            for (all, text) in [(&mut self.stdout, out), (&mut self.stderr, err)] {
                if !text.is_empty() {
                    *all += &title;
                    *all += &normalised(&text);
                }
            }
        }
    }

    /// Runs our program. `< FILE` is its stdin, `> FILE` takes its stdout, `NAME=VALUE` in front are variables of its environment.
    fn command(&mut self, code: i32, words: &[String]) -> (String, String) {
        let mut command = Command::new(BINARY);
        command.current_dir(self.folder).stdin(Stdio::null());
        let (mut into, mut words) = (None, words.iter().peekable());
        while let Some((name, value)) = words.peek().and_then(|word| word.split_once('=')) {
            command.env(name, value);
            words.next();
        }
        while let Some(word) = words.next() {
            match word.as_str() {
                "<" => {
                    let file = fs::File::open(self.folder.join(words.next().unwrap())).unwrap();
                    command.stdin(file);
                }
                ">" => into = words.next(),
                word => {
                    command.arg(word);
                }
            }
        }
        let output = command.output().unwrap();
        if output.status.code() != Some(code) {
            writeln!(self.problems, "{command:?}\n   ended with {}, not {code}", output.status).unwrap();
        }
        self.done += 1;
        let stdout = match into {
            Some(name) => {
                fs::write(self.folder.join(name), output.stdout).unwrap();
                String::new()
            }
            // If the output isn't text, the test shows replacement characters.
            None => String::from_utf8_lossy(&output.stdout).into_owned(),
        };
        (stdout, String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn list(&self, folder: &str) -> String {
        let mut files = BTreeSet::new();
        collect(&self.folder.join(folder), &mut files);
        let name =
            |path: &PathBuf| path.strip_prefix(self.folder).unwrap().to_str().unwrap().to_owned() + "\n";
        files.iter().map(name).collect()
    }
}

/// Bytes, 16 a line.
fn hex(bytes: &[u8]) -> String {
    let line =
        |line: &[u8]| line.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ") + "\n";
    bytes.chunks(16).map(line).collect()
}

/// Words as a shell takes them: between blanks, or between quotes of either kind.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote, mut begun) = (String::new(), None, false);
    for c in text.chars() {
        match quote {
            Some(q) if q == c => quote = None,
            None if c == '\'' || c == '"' => (quote, begun) = (Some(c), true),
            None if c == ' ' => {
                if std::mem::take(&mut begun) {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

/// Replaces what differs from build to build and from run to run: the program's path, versions, the operating system, the process's
/// id, how long `rewrite` took, and what depends on the lengths of these: a trace's size, and offsets of damage in it.
fn normalised(text: &str) -> String {
    use std::env::consts::{ARCH, OS};
    let mut text = text.replace(BINARY, "kperf-wasm").replace(env!("CARGO_PKG_VERSION"), "X");
    text = text.replace(&format!("on {OS} {ARCH}"), "on OS ARCH");
    for (name, value) in [("os", OS), ("arch", ARCH)] {
        text = text.replace(&format!("\"{name}\": \"{value}\""), &format!("\"{name}\": \"X\""));
    }
    let number = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    for (before, after) in
        [("wasmtime ", " "), ("\"version\": \"", "\""), (", process ", "\n"), ("\"pid\": ", "\n")]
    {
        text = masked(&text, before, after, number);
    }
    for key in ["process.pid", "os.type", "host.arch", "kperf.host.version"] {
        let kind = if key == "process.pid" { "int" } else { "string" };
        let before = format!("\"{key}\",\"value\":{{\"{kind}Value\":\"");
        text = masked(&text, &before, "\"", |c| c != '"');
    }
    if text.starts_with("trace  ") {
        text = masked(&text, " bytes, ", " a call", number);
        text = masked(&text, "trace        ", " bytes, X a call", number);
    }
    if text.contains("\"bytes_per_call\"") {
        for before in ["\"bytes_per_call\": ", "{\n  \"bytes\": "] {
            text = masked(&text, before, "", |c| c.is_ascii_digit() || c == '.');
        }
    }
    let warnings = text.split_inclusive('\n').map(|line| match line.starts_with("warning: ") {
        true => masked(line, "(at offset 0x", ")", |c| c.is_ascii_hexdigit()),
        false => line.to_owned(),
    });
    masked(&warnings.collect::<String>(), " %), ", "\n", |c| c != '\n')
}

/// Puts `X` in place of all such characters between the two texts, everywhere.
fn masked(text: &str, before: &str, after: &str, masks: impl Fn(char) -> bool) -> String {
    let mut parts = text.split(before);
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        masked += before;
        let rest = part.trim_start_matches(&masks);
        let is_masked = rest.len() < part.len() && rest.starts_with(after);
        masked += &if is_masked { format!("X{rest}") } else { part.to_owned() };
    }
    masked
}
