//! Programs that other people published, with every module rewritten: they say the same as before.
//!
//! A program is a file of this folder: `NAME.mjs` for node, `NAME.run` for a WASI command under wasmtime. Its first lines
//! say what it is (see [`case`]); add one by adding a file, and its package to `package.json` or `requirements.txt`. npm
//! and pip fetch the packages, pinned and checked by `package-lock.json` and the hashes, into a folder of the user's cache.
//!
//! `KPERF_PROGRAMS=all` runs them, `KPERF_PROGRAMS=php` those with that in their names; without it none. `README.md` in
//! the folder above has the table, which `BLESS=1` renews.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod case;
mod packages;
#[path = "../readme.rs"]
mod readme;
mod run;
mod stats;
mod table;

use packages::Packages;
use std::sync::Mutex;

#[test]
fn programs_say_the_same_with_probes() {
    let Some(wanted) = std::env::var("KPERF_PROGRAMS").ok().filter(|wanted| !wanted.is_empty()) else {
        println!("skipped: KPERF_PROGRAMS=all fetches some 300 MB of packages and runs them");
        return;
    };
    let all = wanted == "all";
    let mut cases = case::all();
    cases.retain(|case| all || case.name.contains(&wanted));
    assert!(!cases.is_empty(), "no program has `{wanted}` in its name");

    let packages = Packages::get();
    let queue = Mutex::new(cases.iter());
    let rows = Mutex::new(Vec::new());
    // Two at a time: some have threads of their own.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(case) = queue.lock().unwrap().next() else { break };
                    let row = run::compare(case, &packages);
                    rows.lock().unwrap().push((case, row));
                }
            });
        }
    });
    let rows = rows.into_inner().unwrap();
    let failed: Vec<_> = rows
        .iter()
        .filter_map(|(case, row)| Some(format!("{}: {}", case.name, row.as_ref().err()?)))
        .collect();
    assert!(failed.is_empty(), "{} of {} programs failed\n{}", failed.len(), rows.len(), failed.join("\n"));
    if all {
        let rows = rows.into_iter().map(|(case, row)| (case, row.unwrap())).collect();
        readme::compare("programs", &table::of(rows, &packages));
    }
}
