//! Rewriting beside parsing alone: `cargo bench -p kperf-rewriter`.
//!
//! The module is Go's Game of Life (1,634 functions, the runtime's with it), and the same ten times over. The floor is
//! one core reading every section and every operator with wasmparser. Runs take turns; minima and ratios are told.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use kperf_rewriter::{Options, rewrite};
use peak_alloc::PeakAlloc;
use std::time::{Duration, Instant};
use wasmparser::{Parser, Payload};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const ROUNDS: usize = 15;

fn main() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/game-of-life/go/life.wasm");
    let go = std::fs::read(path).unwrap();
    measure("go/life.wasm", &go);
    measure("the same, bodies ten times over", &repeated(&go, 10));
}

fn measure(name: &str, wasm: &[u8]) {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let (one, two) = (pool(1), pool(2));
    let options = Options::default();
    let functions = rewrite(wasm, &options).unwrap().symbols.symbols.len();
    let mut minima = [Duration::MAX; 3];
    for _ in 0..ROUNDS {
        let runs: [&dyn Fn() -> usize; 3] = [
            &|| parse(wasm),
            &|| one.install(|| rewrite(wasm, &options).unwrap().symbols.symbols.len()),
            &|| two.install(|| rewrite(wasm, &options).unwrap().symbols.symbols.len()),
        ];
        for (minimum, run) in minima.iter_mut().zip(runs) {
            let begun = Instant::now();
            assert_eq!(run(), functions, "each run sees every function");
            *minimum = begun.elapsed().min(*minimum);
        }
    }
    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    let rewritten = rewrite(wasm, &options).unwrap();
    let peak = HEAP.peak_usage() - before + wasm.len();

    let [parsing, one, two] = minima.map(|minimum| minimum.as_secs_f64() * 1e3);
    let size = wasm.len() as f64;
    println!("{name}: {functions} functions, {:.1} MB", size / 1e6);
    println!("  parsing alone, one core    {parsing:8.2} ms");
    println!("  rewriting, one core        {one:8.2} ms   {:.2} x parsing (wanted: 1.5)", one / parsing);
    println!("  rewriting, two cores       {two:8.2} ms   {:.2} x parsing", two / parsing);
    println!(
        "  peak memory, input and all {:8.2} MB   {:.2} x the module (wanted: 3)",
        peak as f64 / 1e6,
        peak as f64 / size
    );
    println!(
        "  size                       {:8.2} MB   {:+.1} %",
        rewritten.wasm.len() as f64 / 1e6,
        100.0 * (rewritten.wasm.len() as f64 / size - 1.0)
    );
}

/// Reads everything, as a tool must that wants to know what is in a module. Answers the number of bodies.
fn parse(wasm: &[u8]) -> usize {
    let mut bodies = 0;
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::CodeSectionEntry(body) = payload.unwrap() {
            bodies += 1;
            let mut operators = body.get_operators_reader().unwrap();
            while !operators.eof() {
                std::hint::black_box(operators.read().unwrap());
            }
        }
    }
    bodies
}

/// A module with all functions `times` over; the copies are called by nobody.
fn repeated(wasm: &[u8], times: usize) -> Vec<u8> {
    let mut out = wasm_encoder::Module::new();
    let mut bodies = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.unwrap();
        match &payload {
            Payload::CodeSectionStart { .. } | Payload::CustomSection(_) => {}
            Payload::CodeSectionEntry(body) => bodies.push(body.clone()),
            Payload::FunctionSection(functions) => {
                let mut section = wasm_encoder::FunctionSection::new();
                for _ in 0..times {
                    functions.clone().into_iter().for_each(|ty| {
                        section.function(ty.unwrap());
                    });
                }
                out.section(&section);
            }
            Payload::DataSection(_) => {
                code(&mut out, &bodies, times);
                let (id, range) = payload.as_section().unwrap();
                out.section(&wasm_encoder::RawSection {
                    id,
                    data: &wasm[range.start as usize..range.end as usize],
                });
            }
            payload => {
                if let Some((id, range)) = payload.as_section() {
                    out.section(&wasm_encoder::RawSection {
                        id,
                        data: &wasm[range.start as usize..range.end as usize],
                    });
                }
            }
        }
    }
    out.finish()
}

fn code(out: &mut wasm_encoder::Module, bodies: &[wasmparser::FunctionBody<'_>], times: usize) {
    let mut section = wasm_encoder::CodeSection::new();
    for _ in 0..times {
        bodies.iter().for_each(|body| {
            section.raw(body.as_bytes());
        });
    }
    out.section(&section);
}
