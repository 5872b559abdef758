//! Holds README.md, ARCHITECTURE.md and `docs/` against the program.
//!
//! * ```` ```console ````: the commands behind `$ ` run in bash, in one folder for each page. What follows a command is its
//!   output, stdout and stderr together. `...` stands for lines that are left out; then the order of lines doesn't count either.
//!   `[..]` stands for any text in a line. Times and other measured numbers may differ (see [`masked`]), counts may not.
//! * ```` ```sh ````: commands that no test runs (they install, serve, or need a Collector). Each flag must exist.
//! * ```` ```js app.mjs ````: a file that the page's commands use. ```` ```rust examples/x.rs ````: lines of that file.
//! * A relative link leads to a file.
//!
//! Blocks that run node with the package need it built (`npm run build` in host-runtime/js), and are skipped by name without it.

#![cfg(unix)]

use regex::Regex;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

const BINARY: &str = env!("CARGO_BIN_EXE_kperf-wasm");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A fenced block of a page.
struct Block {
    /// The line of the page that it begins at.
    line: usize,
    /// The words behind the fence.
    language: String,
    file: Option<String>,
    lines: Vec<String>,
}

fn pages() -> Vec<PathBuf> {
    let mut pages = vec![Path::new(ROOT).join("README.md"), Path::new(ROOT).join("ARCHITECTURE.md")];
    let mut folders = vec![Path::new(ROOT).join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(ending) if ending == "md" => pages.push(path),
                _ => {}
            }
        }
    }
    pages.sort();
    pages
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (n, line) in text.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(words) => {
                let mut words = words.split_whitespace().map(str::to_owned);
                let (language, file) = (words.next().unwrap_or_default(), words.next());
                blocks.push(Block { line: n + 1, language, file, lines: Vec::new() });
                open = true;
            }
            None if open => blocks.last_mut().unwrap().lines.push(line.to_owned()),
            None => {}
        }
    }
    blocks
}

#[test]
fn commands_print_what_the_pages_say() {
    let mut failures = Vec::new();
    let mut commands = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let folder = folder();
        let plain = plain_programs(&text);
        for block in blocks(&text) {
            let place = format!("{}:{}", page.strip_prefix(ROOT).unwrap().display(), block.line);
            match (block.language.as_str(), &block.file) {
                ("console", _)
                    if block.lines.iter().any(|line| needs_package(line, &plain)) && !has_package() =>
                {
                    eprintln!(
                        "skipped: {place} needs host-runtime/js/dist (`npm ci && npm run build` there)"
                    );
                }
                ("console", _) => {
                    for (command, expected) in commands_of(&block) {
                        commands += 1;
                        if let Err(problem) = check(folder.path(), &command, &expected) {
                            failures.push(format!("== {place}\n$ {command}\n{problem}"));
                        }
                    }
                }
                (_, Some(file)) if Path::new(ROOT).join(file).exists() => {
                    let source = fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
                    let source: BTreeSet<&str> = source.lines().map(str::trim).collect();
                    for line in block.lines.iter().map(|line| line.trim()).filter(|line| *line != "..") {
                        if !source.contains(line) {
                            failures.push(format!("== {place}\n{file} doesn't have the line: {line}"));
                        }
                    }
                }
                (_, Some(file)) => {
                    fs::write(folder.path().join(file), block.lines.join("\n") + "\n").unwrap();
                }
                _ => {}
            }
        }
    }
    assert!(commands > 30, "only {commands} commands were found");
    assert!(failures.is_empty(), "{} of {commands} differ\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn flags_exist_in_commands_that_are_not_run() {
    let mut known = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for block in blocks(&text).iter().filter(|block| block.language == "sh") {
            for line in &block.lines {
                let words: Vec<&str> = line.split_whitespace().take_while(|word| *word != "--").collect();
                let Some(at) = words.iter().position(|word| *word == "kperf-wasm") else { continue };
                let Some((subcommand, rest)) = words.get(at + 1..).and_then(<[&str]>::split_first) else {
                    continue;
                };
                let is_package = at > 0 && words[at - 1] == "npx";
                let help = if is_package { help_of_package() } else { help_of(subcommand) };
                for flag in rest.iter().filter(|word| word.starts_with("--")) {
                    let flag = flag.split('=').next().unwrap();
                    assert!(
                        [" ", "\n", ",", "["].iter().any(|end| help.contains(&format!("{flag}{end}"))),
                        "{}: {line}",
                        page.display()
                    );
                }
                known += 1;
            }
        }
    }
    assert!(known > 5, "only {known} commands were found");
}

fn help_of(subcommand: &str) -> String {
    let output = Command::new(BINARY).args([subcommand, "--help"]).output().unwrap();
    assert!(output.status.success(), "{subcommand} --help");
    String::from_utf8(output.stdout).unwrap()
}

/// The help of the npm package's command, from its source.
fn help_of_package() -> String {
    fs::read_to_string(Path::new(ROOT).join("host-runtime/js/src/node/cli/main.ts")).unwrap()
}

#[test]
fn links_lead_to_files() {
    let link = Regex::new(r##"\]\(([^)#]+)(?:#[^)]*)?\)|(?:src|href)="([^"#]+)""##).unwrap();
    let mut broken = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let text: Vec<&str> = outside_of_blocks(&text).collect();
        for found in text.iter().flat_map(|line| link.captures_iter(line)) {
            let target = found.get(1).or(found.get(2)).unwrap().as_str();
            let is_remote = target.starts_with("http://") || target.starts_with("https://");
            if !is_remote && !page.parent().unwrap().join(target).exists() {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The lines that are not in fenced blocks.
fn outside_of_blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.lines().filter(move |line| {
        let is_fence = line.starts_with("```");
        inside ^= is_fence;
        !inside && !is_fence
    })
}

/// The house's own limits: a reader gets through these pages in minutes.
#[test]
fn pages_are_short() {
    for (page, most) in [("README.md", 200), ("ARCHITECTURE.md", 300)] {
        let lines = fs::read_to_string(Path::new(ROOT).join(page)).unwrap().lines().count();
        assert!(lines <= most, "{page} has {lines} lines");
    }
}

/// A folder in which a page's commands run: with the examples, and the package for node.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("node_modules")).unwrap();
    let links = [
        ("examples", "examples"),
        ("host-runtime/js", "node_modules/kperf-wasm"),
        // Modules with debug information.
        ("rewriter/tests/source", "src"),
    ];
    for (from, to) in links {
        symlink(Path::new(ROOT).join(from), folder.path().join(to)).unwrap();
    }
    folder
}

fn has_package() -> bool {
    Path::new(ROOT).join("host-runtime/js/dist/node/index.js").exists()
}

/// The page's programs for node that don't use the package.
fn plain_programs(text: &str) -> Vec<String> {
    let is_plain = |block: &Block| !block.lines.iter().any(|line| line.contains("kperf-wasm"));
    blocks(text).into_iter().filter(is_plain).filter_map(|block| block.file).collect()
}

/// Whether a line runs node with the package.
fn needs_package(line: &str, plain: &[String]) -> bool {
    let Some(command) = line.strip_prefix("$ ") else { return false };
    let calls_node = command.starts_with("node ") || command.contains(" node ");
    calls_node && !plain.iter().any(|file| command.contains(&format!("node {file}")))
}

/// The commands of a block, each with the output that the page shows.
fn commands_of(block: &Block) -> Vec<(String, Vec<&str>)> {
    let mut commands: Vec<(String, Vec<&str>)> = Vec::new();
    for line in &block.lines {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), Vec::new())),
            (None, Some((_, output))) => output.push(line),
            (None, None) => panic!("line {}: a block begins with `$ COMMAND`", block.line),
        }
    }
    commands
}

/// Runs a command and compares its output with what the page shows. A page that shows none only wants success.
fn check(folder: &Path, command: &str, expected: &[&str]) -> Result<(), String> {
    let path =
        format!("{}:{}", Path::new(BINARY).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["-c", &format!("set -o pipefail; exec 2>&1; {command}")])
        .current_dir(folder)
        .env("PATH", path);
    for (name, _) in
        std::env::vars().filter(|(name, _)| name.starts_with("OTEL_") || name.starts_with("KPERF_"))
    {
        bash.env_remove(name);
    }
    let output = bash.output().unwrap();
    let actual = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("it ended with {}\n{actual}", output.status));
    }
    // What is said of a machine only while it is busy.
    let of_the_machine = |line: &&str| {
        line.starts_with("warning: the clock stood still ") || line.starts_with("hint: the machine was busy ")
    };
    let lines: Vec<String> = actual.lines().filter(|line| !of_the_machine(line)).map(masked).collect();
    let matches = |expected: &str, actual: &str| {
        let pattern = regex::escape(&masked(expected)).replace(r"\[\.\.\]", ".*");
        Regex::new(&format!("^{pattern}$")).unwrap().is_match(actual)
    };
    let missing: Vec<&str> = if expected.is_empty() {
        Vec::new()
    } else if expected.contains(&"...") {
        let is_there = |wanted: &&&str| **wanted == "..." || lines.iter().any(|line| matches(wanted, line));
        expected.iter().filter(|line| !is_there(line)).copied().collect()
    } else if expected.len() == lines.len() {
        expected
            .iter()
            .zip(&lines)
            .filter(|(wanted, line)| !matches(wanted, line))
            .map(|(wanted, _)| *wanted)
            .collect()
    } else {
        return Err(format!("it printed {} lines, not {}:\n{actual}", lines.len(), expected.len()));
    };
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!("missing:\n{}\nit printed:\n{actual}", missing.join("\n")))
    }
}

/// A line without what a run measures: numbers with a unit or with decimals, times that are below a limit, the clock, the star of
/// a significant change. Columns may be wider or narrower. Numbers of calls stay.
fn masked(line: &str) -> String {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"[<-]?(\d{1,3}(,\d{3})+|\d+)((\.\d+)? ?(ns|us|µs|ms|s|min|bytes|kB|MB)\b|(\.\d+)? ?%|\.\d+)",
        )
        .unwrap()
    });
    // Said only where it is a hundredth or more of the time.
    static PAUSES: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r", \S+ \S+( of it)? (in the recorder|waiting for a processor|in waits of its own) \([^)]*\)",
        )
        .unwrap()
    });
    static CLOCK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^(# )?clock:?\s.*").unwrap());
    static SAMPLES: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[\d,]+ samples").unwrap());
    let line = CLOCK.replace(line, "clock");
    let line = SAMPLES.replace(&line, "# samples");
    let line = PAUSES.replace_all(&line, "");
    let line = NUMBER.replace_all(&line, "#");
    line.split_whitespace().filter(|word| *word != "*").collect::<Vec<_>>().join(" ")
}
