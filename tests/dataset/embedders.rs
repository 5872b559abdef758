//! What programs of embedders add to a dataset while they run.

use super::support::{ask, command, kperf, life, output};
use example::record;
use kperf_dataset::{Account, Added, Adder, Background, Options, Store};
use kperf_wasmtime::Rotation;
use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

#[path = "../../examples/embed-dataset/main.rs"]
#[allow(dead_code)]
mod example;

/// Calls of a function, by a report.
fn calls(folder: &Path, of: &str, function: &str) -> u64 {
    let report = kperf(folder, &["report", of, "--format", "csv"]);
    let row = report.lines().find(|line| line.contains(&format!(",{function},"))).unwrap();
    row.split(',').nth(2).unwrap().parse().unwrap()
}

/// Every file of a rotated trace is a run, added once, while the guest runs.
#[test]
fn each_file_of_a_rotated_trace_is_added() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let module = life("c");
    kperf(path, &["rewrite", &module, "-o", "probed.wasm"]);
    fs::create_dir(path.join("traces")).unwrap();
    let probed = path.join("probed.wasm");
    let (traces, dataset) = (path.join("traces"), path.join("fleet"));
    let account = record(probed.to_str().unwrap(), &traces, &dataset, Rotation::by_size(1 << 17)).unwrap();
    let files = fs::read_dir(&traces).unwrap().count() as u64;
    assert!(files > 2, "{files}");
    assert_eq!(account, Account { new: files, ..Account::default() });
    // 500 steps, 3200 calls each. A call that is open at the end of a file is in the next one too.
    let calls = calls(path, "fleet", "isValidPosition");
    assert!((1_600_000..1_600_000 + files).contains(&calls), "{calls}");
    let told = kperf(path, &["collect", "traces", "-o", "fleet"]);
    assert!(told.contains(&format!("0 runs new, {files} collected before")), "{told}");
    let Some(rows) = ask_of(path, "SELECT DISTINCT r.service, r.version, complete FROM runs r") else {
        return;
    };
    assert_eq!(rows, serde_json::json!([["shop", "1.2", true]]));
}

fn ask_of(folder: &Path, query: &str) -> Option<serde_json::Value> {
    fs::rename(folder.join("fleet"), folder.join("dataset")).unwrap();
    ask("duckdb", folder, query)
}

/// Records a trace of few calls.
fn small(folder: &Path, trace: &str, steps: &str) {
    let module = life("c");
    kperf(folder, &["run", "-q", "--clock", "precise", "--trace", trace, &module, steps]);
}

/// What can't be added is told, and the others are added all the same.
#[test]
fn what_fails_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    small(path, "a.kperf", "1");
    small(path, "b.kperf", "2");
    fs::write(path.join("broken.kperf"), "no trace").unwrap();
    let (told, tells) = mpsc::channel();
    let fleet = Background::start(&path.join("fleet"), Options::default(), move |trace, added| {
        let text = match added {
            Ok(outcome) => format!("{:?}", outcome.added),
            Err(error) => format!("{error}"),
        };
        told.send((trace.file_name().unwrap().to_string_lossy().into_owned(), text)).unwrap();
    })
    .unwrap();
    for trace in ["a.kperf", "missing.kperf", "broken.kperf", "b.kperf", "a.kperf"] {
        fleet.add(&path.join(trace));
    }
    assert_eq!(fleet.finish(), Account { new: 2, before: 1, failed: 2, grown: 0 });
    let told: Vec<(String, String)> = tells.iter().collect();
    assert!(told[1].1.starts_with("failed to read the trace `"), "{told:?}");
    assert!(told[2].1.starts_with("failed to read the trace `"), "{told:?}");
    assert_eq!((told[3].1.as_str(), told[4].1.as_str()), ("New", "Before"));
    let error = Background::start(path, Options::default(), |_, _| ()).unwrap_err();
    assert!(error.to_string().contains("failed to make the dataset"), "{error}");
}

/// A file is added when it is closed, not before, and while the recording goes on.
#[test]
fn a_file_is_added_when_it_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    small(path, "a.kperf", "1");
    let bytes = fs::read(path.join("a.kperf")).unwrap();
    let (told, tells) = mpsc::channel();
    let fleet = Background::start(&path.join("fleet"), Options::default(), move |_, added| {
        told.send(added.as_ref().unwrap().added).unwrap();
    })
    .unwrap();
    let mut file = fleet.files().create(path.join("copy.kperf")).unwrap();
    std::io::Write::write_all(&mut file, &bytes).unwrap();
    assert!(tells.recv_timeout(Duration::from_millis(200)).is_err());
    drop(file);
    assert_eq!(tells.recv_timeout(Duration::from_secs(30)), Ok(Added::New));
    fleet.finish();
}

/// Programs and commands that add to one dataset at once lose nothing and count nothing twice.
#[test]
fn programs_and_commands_add_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for n in 1..9 {
        small(path, &format!("{n}.kperf"), &n.to_string());
    }
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let path = path.to_owned();
            std::thread::spawn(move || {
                let store = Store::open_or_create(&path.join("fleet")).unwrap();
                let mut adder = Adder::new(&store, Options::default()).unwrap();
                for n in 1..9 {
                    adder.add_file(&path.join(format!("{n}.kperf"))).unwrap();
                }
            })
        })
        .collect();
    let mut child = command(path, &["collect", "-q", ".", "-o", "fleet"]).spawn().unwrap();
    for thread in threads {
        thread.join().unwrap();
    }
    assert!(child.wait().unwrap().success());
    output(path, &["collect", "-q", "-o", "fleet", "--compact"]);
    assert_eq!(calls(path, "fleet", "isValidPosition"), 3200 * (1..9).sum::<u64>());
}
