//! What functions have executed is what an interpreter counts that knows nothing of us.

use super::FORMS;
use super::counted;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The interpreter, of PyPI.
const PACKAGE: &str = "pywasm==2.2.3";
/// What depends on the host's answers: how much it takes at a time, what kind of file stdout is.
const OUTPUT: [&str; 10] = [
    "isatty",
    "write",
    "stdio",
    "printf",
    "std::io",
    "once_lock",
    "__towrite",
    "__stdout",
    "__wasilibc",
    "fwrite",
];

/// A Python with it, made in the build's own folder; or why there is none.
fn python() -> Result<PathBuf, String> {
    let ready = Path::new(env!("CARGO_TARGET_TMPDIR")).join(PACKAGE);
    let python = ready.join("bin/python");
    if ready.exists() {
        return Ok(python);
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).map_err(|error| error.to_string())?;
    let made = folder.path().join("python");
    let run = |program: &Path, args: &[&str]| match Command::new(program).args(args).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            Err(format!("`{}` failed: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
        }
        Err(error) => Err(format!("{}: {error}", program.display())),
    };
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE];
    run(Path::new("python3"), &["-m", "venv", made.to_str().unwrap()])?;
    run(&made.join("bin/python"), &pip)?;
    // Another run of this test may have been faster.
    match fs::rename(&made, &ready) {
        Err(error) if !ready.exists() => Err(error.to_string()),
        _ => Ok(python),
    }
}

/// By a function's index: how often it was called, and what it executed itself.
type Executed = BTreeMap<u64, (u64, u64)>;

fn in_python(python: &Path, module: &Path) -> Executed {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/instructions/interpreter.py");
    let output = Command::new(python).args([Path::new(script), module]).arg("2").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let line = |line: &str| {
        let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        (numbers[0], (numbers[1], numbers[2]))
    };
    String::from_utf8(output.stdout).unwrap().lines().map(line).collect()
}

#[test]
fn an_interpreter_counts_the_same() {
    let python = match python() {
        Ok(python) => python,
        Err(reason) => {
            // Past the test harness, which shows what a test prints only if it fails.
            writeln!(io::stderr(), "skipped: no Python with {PACKAGE}: {reason}").unwrap();
            return;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let kperf = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kperf-wasm"));
        let output = command.args(args).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    // Kotlin's and Go's modules take what the interpreter doesn't know, or minutes.
    for language in ["wat", "c", "assemblyscript", "rust"] {
        let original = format!("examples/game-of-life/{language}/life.wasm");
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join(original);
        let expected = in_python(&python, &original);
        let wasm = counted(&fs::read(&original).unwrap(), FORMS[0]);
        fs::write(folder.path().join("life"), &wasm.wasm).unwrap();
        kperf(&["run", "life", "--deterministic", "--trace", "life.kperf", "--", "2"]);
        let report = kperf(&["report", "life.kperf", "--format", "json", "--limit", "0"]);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let (mut all, mut compared) = (0, 0);
        for row in report["functions"].as_array().unwrap() {
            let number = |key: &str| row[key].as_u64().unwrap();
            let (name, id) = (row["name"].as_str().unwrap(), number("id"));
            let symbol = wasm.symbols.get(kperf_abi::FuncId(id as u32)).unwrap();
            let own = (number("calls"), number("self_instructions"));
            all += own.1;
            if !OUTPUT.iter().any(|part| name.contains(part)) {
                assert_eq!(expected.get(&symbol.func_index.0.into()), Some(&own), "{language}: {name}");
                compared += own.1;
            }
        }
        assert!(compared > 150_000 && compared * 100 > all * 97, "{language}: {compared} of {all}");
    }
}
