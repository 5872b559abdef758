//! Runs a program twice: with its own modules, and with rewritten ones. Under node also with `register`.

use super::case::{Case, Host};
use super::packages::Packages;
use super::stats::Stats;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

const CLI: &str = env!("CARGO_BIN_EXE_kperf-wasm");

/// What a program's rewritten modules did, or how they differed from the originals.
pub(crate) fn compare(case: &Case, packages: &Packages) -> Result<Stats, String> {
    let scratch = tempfile::tempdir().unwrap();
    let [mut plain, mut probed] = match &case.host {
        Host::Wasmtime { module, args } => [true, false].map(|plain| {
            let mut command = Command::new(CLI);
            command.arg("run");
            if plain {
                command.arg("--plain");
            } else {
                command.arg("--quiet").arg("--trace").arg(scratch.path().join("trace.kperf"));
            }
            command.args(["--dir", ".", module, "--"]).args(args);
            command
        }),
        Host::Node | Host::NewNode => [true, false].map(|plain| {
            let mut command = node(case, packages);
            if !plain {
                let preload = packages.folder.join("preload.mjs");
                command.env("NODE_OPTIONS", format!("--import {}", preload.display()));
                command.env("KPERF_WASM", CLI).env("KPERF_STATS", scratch.path());
                command.env("KPERF_SHIM", concat!(env!("CARGO_MANIFEST_DIR"), "/guest-shim/src/recorder"));
            }
            command
        }),
    };
    let begun = Instant::now();
    let expected =
        plain.current_dir(&packages.folder).output().map_err(|error| format!("{plain:?}: {error}"))?;
    let half = Instant::now();
    let actual = probed.current_dir(&packages.folder).output().map_err(|error| error.to_string())?;
    let times = [half - begun, half.elapsed()].map(|time| time.as_secs_f64());
    let (before, after) = (said(&expected), said(&actual));
    if before != after || expected.stdout.is_empty() {
        let errors = [&expected, &actual].map(|output| String::from_utf8_lossy(&output.stderr));
        let [before_err, after_err] = errors;
        return Err(format!("-- plain\n{before}{before_err}\n-- probed\n{after}{after_err}\n"));
    }

    let stats = match &case.host {
        Host::Wasmtime { .. } => of_trace(&scratch.path().join("trace.kperf")),
        Host::Node | Host::NewNode => Stats::collect(scratch.path()),
    };
    stats.check(&case.expect).map_err(|wrong| format!("{wrong}: {stats:?}"))?;
    if !matches!(case.host, Host::Wasmtime { .. }) {
        compare_registered(case, packages, &before, &stats)?;
    }
    if case.counts_same {
        compare_counted(case, packages)?;
    }
    println!("{:16} {:5.1} s plain, {:5.1} s probed, {stats}", case.name, times[0], times[1]);
    Ok(stats)
}

/// The same under `register`, with modules as they are.
fn compare_registered(case: &Case, packages: &Packages, before: &str, stats: &Stats) -> Result<(), String> {
    let scratch = tempfile::tempdir().unwrap();
    let trace = scratch.path().join("trace.kperf");
    let mut command = registered(node(case, packages), packages, scratch.path());
    let output = command.output().map_err(|error| error.to_string())?;
    let after = said(&output);
    if before != after {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("-- plain\n{before}\n-- under register\n{after}{errors}\n"));
    }
    let calls = of_trace(&trace).enters;
    if calls != stats.enters && !case.expect.iter().any(|word| word == "varies") {
        return Err(format!("{calls} calls under register, {} where all was rewritten before", stats.enters));
    }
    Ok(())
}

/// In every node, the oldest of which has no room for the recorder in modules, each function executes as many instructions. So it does
/// under wasmtime, if the program runs there.
fn compare_counted(case: &Case, packages: &Packages) -> Result<(), String> {
    let newest = concat!(env!("CARGO_MANIFEST_DIR"), "/host-runtime/js/node_modules/node-current/bin/node");
    let nodes = [PathBuf::from("node"), packages.new_node(), newest.into(), "node".into()];
    let (script, args) = match &case.host {
        Host::Wasmtime { module, args } => {
            ("wasi.mjs".to_owned(), [std::slice::from_ref(module), &args[..]].concat())
        }
        _ => (format!("{}.mjs", case.name), Vec::new()),
    };
    let mut expected = match &case.host {
        Host::Wasmtime { module, args } => Some(counted_by_run(module, args, packages)?),
        _ => None,
    };
    for node in nodes {
        let scratch = tempfile::tempdir().unwrap();
        let mut command = Command::new(&node);
        command.arg(&script).args(&args);
        let mut command = registered(command, packages, scratch.path());
        // As `run` does.
        command.env("KPERF_IMPORTS", if script == "wasi.mjs" { "1" } else { "0" });
        let output =
            command.env("KPERF_CLOCK", "instructions").output().map_err(|error| error.to_string())?;
        let counted = counted(&scratch.path().join("trace.kperf"));
        let errors = String::from_utf8_lossy(&output.stderr);
        if counted.is_empty() {
            return Err(format!("nothing was counted in {}\n{errors}", node.display()));
        }
        let expected = expected.get_or_insert_with(|| counted.clone());
        let differs = counted.iter().zip(&*expected).find(|(function, other)| function != other);
        if counted.len() != expected.len() || differs.is_some() {
            let all = (counted.len(), expected.len());
            return Err(format!("{} counts {all:?} functions, and differs: {differs:?}", node.display()));
        }
    }
    Ok(())
}

/// The same, of `kperf-wasm run`.
fn counted_by_run(module: &str, args: &[String], packages: &Packages) -> Result<Counted, String> {
    let scratch = tempfile::tempdir().unwrap();
    let trace = scratch.path().join("trace.kperf");
    let mut run = Command::new(CLI);
    run.args(["run", "--quiet", "--clock", "instructions", "--dir", ".", "--trace"]).arg(&trace);
    run.args([module, "--"]).args(args).current_dir(&packages.folder);
    let output = run.output().map_err(|error| error.to_string())?;
    let counted = counted(&trace);
    let errors = || format!("`run` counted nothing\n{}", String::from_utf8_lossy(&output.stderr));
    if counted.is_empty() { Err(errors()) } else { Ok(counted) }
}

/// Name, calls and instructions of each function, in the order of their names.
type Counted = Vec<(String, u64, u64)>;

fn counted(trace: &Path) -> Counted {
    let mut report = Command::new(CLI);
    report.arg("report").arg(trace).args(["--format", "json", "--limit", "0"]);
    let report: Value = serde_json::from_slice(&report.output().unwrap().stdout).unwrap_or_default();
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let functions = report["functions"].as_array().map_or(&[][..], Vec::as_slice).iter();
    let mut functions: Vec<_> = functions
        .map(|function| {
            let name = function["name"].as_str().unwrap_or_default().to_owned();
            (name, number(&function["calls"]), number(&function["self_instructions"]))
        })
        .collect();
    functions.sort();
    functions
}

/// The command under `register`, with its trace and what it keeps of modules in a folder.
fn registered(mut command: Command, packages: &Packages, scratch: &Path) -> Command {
    let register = concat!(env!("CARGO_MANIFEST_DIR"), "/host-runtime/js/dist/node/register.js");
    assert!(
        Path::new(register).exists(),
        "{register} is missing: npm ci && npm run build in host-runtime/js"
    );
    command.current_dir(&packages.folder).env("NODE_OPTIONS", format!("--import {register}"));
    command.env("KPERF_TRACE", scratch.join("trace.kperf")).env("KPERF_CACHE", scratch.join("cache"));
    command.env("KPERF_IMPORTS", "0");
    command
}

/// The program under its node.
fn node(case: &Case, packages: &Packages) -> Command {
    let mut command = match case.host {
        Host::NewNode => Command::new(packages.new_node()),
        _ => Command::new("node"),
    };
    command.arg(format!("{}.mjs", case.name));
    command
}

/// What is compared of a run: stdout and the exit code. stderr has times and offsets in it.
fn said(output: &Output) -> String {
    format!("{}{}\n", String::from_utf8_lossy(&output.stdout), output.status)
}

/// The same counts, from a trace.
fn of_trace(trace: &Path) -> Stats {
    let output = Command::new(CLI).args(["info", "--format", "json"]).arg(trace).output().unwrap();
    let info: Value = serde_json::from_slice(&output.stdout).unwrap();
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let modules = info["symbols"].as_array().map_or(&[][..], Vec::as_slice);
    let (enters, leaves, unwound) =
        (count(&info["calls"]), count(&info["leaves"]), count(&info["cut_short"]["unwound"]));
    Stats {
        modules: modules.len() as u64,
        probed: modules.iter().map(|module| count(&module["functions"])).sum(),
        enters,
        leaves,
        unwound,
        depth: enters - leaves - unwound,
        ..Stats::default()
    }
}
