//! The WebAssembly specification's own test suite, with every module rewritten.
//!
//! Each script runs six times under wasmtime: with its modules as they are, with probes on all functions, with probes on calls of
//! imports too, with the recorder inside the modules (once with small leaves timed, once counted), and with the recorder of a
//! profile inside. The recorders inside must record the same calls as the imported probes (see [`inlined`]). Each directive must
//! end in the same way every time: results, the text of traps, exceptions and their values, refusals. Imported probes are answered
//! by a stricter recorder than the real ones (see [`probes`]).
//!
//! `README.md` has the counts, which `BLESS=1` renews. `KPERF_CONFORMANCE=try_table` runs only the scripts with that in their
//! names.

mod inlined;
mod outcome;
mod probes;
mod programs;
mod readme;
mod report;
mod script;
mod side;
mod spectest;
mod suite;
mod unwinding;
mod values;

use crate::common::effort;
use report::Report;
use wasmtime::{Config, Engine, OptLevel};

#[test]
fn rewritten_modules_do_as_the_originals() {
    let only = std::env::var("KPERF_CONFORMANCE").ok();
    let mut scripts = suite::scripts();
    if let Some(only) = &only {
        scripts.retain(|script| script.path().contains(only));
    }
    let report = Report::new(&suite::run(&engine(), &scripts));
    println!("{}", report.text());
    assert!(report.differences.is_empty(), "{}", report.differences.join("\n"));
    if only.is_none() {
        // A rewriter that does nothing must not pass.
        let work = report.work;
        assert!(work.entered > 30_000_000 && work.left > 30_000_000, "{work:?}");
        assert!(work.unwound > 10 && work.abandoned > 100_000, "{work:?}");
        readme::compare("counts", report.text());
    }
}

/// An engine with all proposals that wasmtime has and the suite tests.
fn engine() -> Engine {
    let mut config = Config::new();
    config
        .wasm_tail_call(true)
        .wasm_multi_memory(true)
        .wasm_memory64(true)
        .wasm_function_references(true)
        .wasm_gc(true)
        .wasm_exceptions(true)
        .wasm_threads(true)
        .shared_memory(true)
        .wasm_simd(true)
        .wasm_relaxed_simd(true)
        .wasm_extended_const(true)
        .wasm_wide_arithmetic(true)
        .wasm_custom_page_sizes(true);
    // Scripts run in parallel.
    config.parallel_compilation(false);
    // Most of the time goes into compiling what then runs once.
    config.cranelift_opt_level(effort::of(OptLevel::None, OptLevel::Speed));
    Engine::new(&config).unwrap()
}
