//! Programs of embedders add to a dataset while commands do.

use super::support::{command, kperf, life, output};
use kperf_dataset::{Adder, Options, Store};
use std::path::Path;

/// Calls of a function, by a report.
fn calls(folder: &Path, of: &str, function: &str) -> u64 {
    let report = kperf(folder, &["report", of, "--format", "csv"]);
    let row = report.lines().find(|line| line.contains(&format!(",{function},"))).unwrap();
    row.split(',').nth(2).unwrap().parse().unwrap()
}

/// Records a trace of few calls.
fn small(folder: &Path, trace: &str, steps: &str) {
    let module = life("c");
    kperf(folder, &["run", "-q", "--clock", "precise", "--trace", trace, &module, steps]);
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
