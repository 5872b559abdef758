//! What counting instructions and recording allocations cost beside a full trace of calls: published programs run in turn without probes,
//! with a ticker's trace, with one whose clock is the instructions, and with one of what is allocated.

use crate::sustained::Runs;
use crate::workload::Workload;
use anyhow::Context;
use kperf_rewriter::{Allocations, Clock, Inline, Options, Recording, rewrite};
use kperf_trace::{Event, Item, TraceReader};
use kperf_wasmtime::ClockChoice;
use std::path::Path;
use wasmtime::Module;

/// Nanoseconds of a run, by the wall: the least of all rounds.
#[derive(Debug)]
pub(crate) struct Costs {
    workload: Workload,
    plain: f64,
    ticker: f64,
    instructions: f64,
    allocations: f64,
    /// Records of memory in a run: calls of an allocator's functions, mostly.
    records: f64,
    /// Calls of a run.
    calls: f64,
}

/// Runs a program in these four ways in turn, for some rounds.
pub(crate) fn measure(root: &Path, workload: &Workload, rounds: usize) -> anyhow::Result<Costs> {
    let engine = crate::guest::engine()?;
    let wasm = std::fs::read(workload.module(root))?;
    let runs = Runs { engine: &engine, root, workload };
    let probed = |clock, allocations| -> anyhow::Result<(Module, Vec<u8>)> {
        let options = Options {
            recording: Recording::Inline(Inline { clock, allocations, ..Inline::default() }),
            ..Options::default()
        };
        let rewritten = rewrite(&wasm, &options)?;
        Ok((Module::new(&engine, &rewritten.wasm)?, rewritten.symbols.to_bytes()))
    };
    let plain = Module::new(&engine, &wasm)?;
    let ways = [
        (probed(Clock::Host, Allocations::Off)?, ClockChoice::ticker()),
        (probed(Clock::Instructions, Allocations::Off)?, ClockChoice::Instructions),
        (probed(Clock::Host, Allocations::All)?, ClockChoice::ticker()),
    ];
    let mut least = [f64::INFINITY; 4];
    let mut calls = 0.0;
    let mut keep = |way: usize, wall: f64| least[way] = least[way].min(wall);
    for _ in 0..rounds.max(1) {
        keep(0, runs.many(&plain, |_| Ok(()))?.0.wall);
        for (n, ((module, symbols), clock)) in ways.iter().enumerate() {
            let recorded = runs.recorded(module, symbols, *clock)?;
            keep(n + 1, recorded.guest.wall);
            if n == 0 {
                calls = recorded.calls;
            }
        }
    }
    let ((module, symbols), clock) = &ways[2];
    let records = records(&runs.trace(module, symbols, *clock)?)?;
    let [plain, ticker, instructions, allocations] = least;
    Ok(Costs { workload: workload.clone(), plain, ticker, instructions, allocations, records, calls })
}

/// How many records of memory a trace has.
fn records(trace: &[u8]) -> anyhow::Result<f64> {
    /// Words of a record.
    const WORDS: f64 = 3.0;
    let mut reader = TraceReader::new(trace).context("the trace")?;
    let mut words = 0;
    while let Some(item) = reader.next()? {
        if let Item::Events(batch) = item {
            words += batch.events.iter().filter(|event| matches!(event.event, Event::Memory(_))).count();
        }
    }
    Ok(words as f64 / WORDS)
}

/// A row for each program.
pub(crate) fn table(measured: &[Costs]) -> String {
    let mut text = String::from(
        "| program | M calls a run | ms without probes | trace of a ticker | of instructions | instructions / ticker | with allocations | \
         M records of memory | ns a record |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for Costs { workload, plain, ticker, instructions, allocations, records, calls } in measured {
        text += &format!(
            "| {workload} | {:.1} | {:.0} | x{:.2} | x{:.2} | x{:.2} | x{:.2} | {:.3} | {:.1} |\n",
            calls / 1e6,
            plain / 1e6,
            ticker / plain,
            instructions / plain,
            instructions / ticker,
            allocations / plain,
            records / 1e6,
            (allocations - ticker) / records,
        );
    }
    text
}
