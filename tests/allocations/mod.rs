//! What a trace says of memory is what programs know that they allocated.

use crate::common::command::kperf;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Bytes, blocks, bytes that were freed, bytes that are left.
type Account = [u64; 4];

/// Each kind of probe and clock that records allocations.
const FORMS: [&[&str]; 6] = [
    &["--probe", "inline", "--clock", "ticker"],
    &["--probe", "inline", "--clock", "precise"],
    &["--probe", "import", "--clock", "ticker"],
    &["--probe", "import", "--clock", "precise"],
    &["--clock", "instructions"],
    &["--leaf", "count", "--clock", "test"],
];

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    /// Runs a module under probes. Answers what it says of itself: the accounts of its parts.
    fn run(&self, module: &Path, flags: &[&str]) -> BTreeMap<String, Account> {
        let run = ["run", module.to_str().unwrap(), "-q", "--allocations", "--trace", "trace.kperf"];
        let (stdout, stderr) = kperf(&self.0, &[&run, flags].concat());
        let text = stdout + &stderr;
        let part = |line: &str| {
            let (name, numbers) = line.split_once(' ').unwrap();
            let numbers: Vec<u64> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
            (name.to_owned(), numbers.try_into().unwrap())
        };
        text.lines().map(str::trim_start).map(part).collect()
    }

    /// What the trace says: for each path of calls that allocated its functions, the innermost first, and the account.
    fn paths(&self) -> Vec<(Vec<String>, Account)> {
        let report = ["report", "trace.kperf", "--by", "allocation-paths", "--format", "json"];
        // A busy machine's clock may be warned of.
        let (rows, warnings) = kperf(&self.0, &report);
        assert!(!warnings.contains("blocks"), "{warnings}");
        let rows: Vec<serde_json::Value> = serde_json::from_str(&rows).unwrap();
        let row = |row: &serde_json::Value| {
            let name = row["name"].as_str().unwrap();
            let figure = |key: &str| row[key].as_u64().unwrap();
            let account = ["allocated_bytes", "allocations", "freed_bytes", "live_bytes"].map(figure);
            (name.split(" < ").map(str::to_owned).collect(), account)
        };
        rows.iter().map(row).collect()
    }
}

fn module(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/allocations").join(name)
}

fn sum(accounts: impl Iterator<Item = Account>) -> Account {
    accounts.fold([0; 4], |sum, account| [0, 1, 2, 3].map(|n| sum[n] + account[n]))
}

/// Compares the accounts of a module's functions with those that it has itself; `path_of` makes a function's name of a part's.
fn compare(name: &str, path_of: impl Fn(&str) -> String) {
    compare_forms(name, path_of, true, &FORMS);
}

/// `is_all`: nothing else in the program allocates.
fn compare_forms(name: &str, path_of: impl Fn(&str) -> String, is_all: bool, forms: &[&[&str]]) {
    let folder = Folder::new();
    for &flags in forms {
        let known = folder.run(&module(name), flags);
        assert!(known.len() >= 6, "{known:?}");
        let paths = folder.paths();
        for (part, account) in &known {
            let function = path_of(part);
            let of_part = paths.iter().filter(|(path, _)| path.contains(&function));
            assert_eq!(sum(of_part.map(|(_, account)| *account)), *account, "{part}, {flags:?}");
        }
        if is_all {
            let all = sum(paths.iter().map(|(_, account)| *account));
            assert_eq!(all, sum(known.values().copied()), "all of it, {flags:?}");
        }
    }
}

#[test]
fn c_allocates_what_it_says() {
    compare("known.c.wasm", str::to_owned);
}

#[test]
fn rust_allocates_what_it_says() {
    compare("known.rust.wasm", |part| format!("known::{part}"));
}

/// When its objects are gone is not recorded.
#[test]
fn kotlin_allocates_what_it_says() {
    compare_forms("known.kotlin.wasm", |part| format!("known.{part}"), false, &FORMS[..5]);
}

/// Figures of samples are estimates, and not far off.
#[test]
fn samples_are_near_to_what_was_allocated() {
    let folder = Folder::new();
    for name in ["known.c.wasm", "known.rust.wasm"] {
        let module = module(name);
        let exact = {
            folder.run(&module, &["--probe", "inline"]);
            sum(folder.paths().into_iter().map(|(_, account)| account))
        };
        let module = module.to_str().unwrap();
        let flags = ["run", "-q", "--trace", "trace.kperf", "--allocations", "256B", module];
        kperf(&folder.0, &flags);
        let about = sum(folder.paths().into_iter().map(|(_, account)| account));
        for (n, most) in [(0, 0.05), (1, 0.25)] {
            let off = about[n] as f64 / exact[n] as f64 - 1.0;
            assert!(off.abs() < most, "{name}: {about:?}, and exactly {exact:?}");
        }
    }
}

/// pprof's profile of memory is the same, and the blocks that are left fit into the memory.
#[test]
fn blocks_fit_into_the_memory() {
    let folder = Folder::new();
    let known = folder.run(&module("known.rust.wasm"), &[]);
    let (report, _) = kperf(&folder.0, &["report", "trace.kperf", "--by", "allocations"]);
    let number_behind = |text: &str| {
        let (_, behind) = report.split_once(text).unwrap_or_else(|| panic!("no `{text}` in {report}"));
        let digits = behind.chars().take_while(|c| c.is_ascii_digit() || *c == ',');
        digits.filter(|c| *c != ',').collect::<String>().parse::<u64>().unwrap()
    };
    let [_, _, _, left] = sum(known.values().copied());
    let (peak, memory) = (number_behind("# at the peak "), number_behind("pages to "));
    assert!(number_behind("at the end ") == left && left < peak && peak < memory, "{report}");
    // A block of a megabyte is most of what it ever had.
    assert!((1 << 20..1 << 21).contains(&peak) && memory < 1 << 22, "{report}");
}

/// A tail call leaves its function first: what the callee throws is not caught there, and the stack stays flat.
#[test]
fn tail_calls_of_an_allocator_do_as_without_probes() {
    let folder = Folder::new();
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/allocations/tails.wat");
    let run = |flags: &[&str], n: &str| {
        let args = [&["run", "-q"], flags, &["--invoke", "run", module.to_str().unwrap(), n]].concat();
        kperf(&folder.0, &args).0
    };
    for n in ["1", "2", "3", "4", "5", "6", "7", "8", "1000000"] {
        let plain = run(&["--plain"], n);
        for form in FORMS {
            // With imported probes only the recorder knows which call is the outermost.
            if n == "1000000" && form[1] == "import" {
                continue;
            }
            let flags = [&["--allocations", "--trace", "trace.kperf"], form].concat();
            assert_eq!(run(&flags, n), plain, "{n}, {form:?}");
            let blocks = sum(folder.paths().into_iter().map(|(_, account)| account))[1];
            let caught_outside = plain.starts_with('2');
            assert_eq!(blocks, u64::from(!caught_outside), "{n}, {form:?}");
        }
    }
}
