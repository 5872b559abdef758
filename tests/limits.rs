//! No trace takes a gigabyte of memory, whatever reads it. The commands run under a limit that the system enforces.
//!
//! The traces are made to take as much memory as possible: frames, paths, functions, lanes, stacks, names, windows. Each is read by
//! a sixth of the commands, each command reads at least one; with `KPERF_TESTS=all` every command reads every trace.
#![cfg(target_os = "linux")]

use crate::common::effort;
use kperf_abi::symbols::{Allocations, ModuleIdentity};
use kperf_abi::{FuncId, FuncIndex, Source, Symbol, SymbolTable};
use kperf_trace::block::BlockHeader;
use kperf_trace::{Allocation, Header, Summary, TraceWriter, Window, WindowNode, word};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A gigabyte, in KiB.
const MOST: u64 = 1_000_000_000 / 1024;
/// Words of a full block.
const WORDS: u32 = (1 << 20) - 4;

fn writer() -> TraceWriter<Vec<u8>> {
    TraceWriter::new(Vec::new(), &Header::default()).unwrap()
}

fn block(trace: &mut TraceWriter<Vec<u8>>, recorder: u32, depth: u32, words: impl Iterator<Item = u32>) {
    let mut block = BlockHeader { depth, ..BlockHeader::default() }.to_bytes().to_vec();
    words.for_each(|word| block.extend(word.to_le_bytes()));
    trace.block(recorder, &block).unwrap();
}

fn end(trace: TraceWriter<Vec<u8>>) -> Vec<u8> {
    trace.finish(&Summary { outcome: "completed".into(), ..Summary::default() }).unwrap()
}

fn table(names: impl Iterator<Item = String>, files: Vec<String>) -> Vec<u8> {
    let symbol = |(id, name): (u32, String)| Symbol {
        id: FuncId(id),
        func_index: FuncIndex(id),
        name: name.into(),
        source: (!files.is_empty()).then_some(Source { file: 0, line: 1 }),
        ..Symbol::default()
    };
    let symbols = (0..).zip(names).map(symbol).collect();
    let module = ModuleIdentity { name: "module".into(), ..ModuleIdentity::default() };
    SymbolTable { module, id_base: 0, symbols, files, ..SymbolTable::default() }.to_bytes()
}

/// A stack of a hundred million open frames.
fn frames() -> Vec<u8> {
    let mut trace = writer();
    for n in 0..100 {
        block(&mut trace, 0, n * WORDS, (0..WORDS).map(|n| n & 1));
    }
    end(trace)
}

/// A path for every call, some time in each.
fn paths() -> Vec<u8> {
    let mut trace = writer();
    for n in 0..2 {
        let words = (0..WORDS / 96).flat_map(|at| {
            let round = n * (WORDS / 96) + at;
            let calls = (0..32).flat_map(move |depth| [word::TIME | 1, round >> (depth % 16) & 1]);
            calls.chain([word::LEAVE; 32])
        });
        block(&mut trace, 0, 0, words);
    }
    end(trace)
}

/// Calls of functions that no table knows, never the same again.
fn functions() -> Vec<u8> {
    let mut trace = writer();
    for n in 0..4 {
        let words =
            (0..WORDS / 4).flat_map(|at| [n * WORDS + at, word::TIME | 1, word::LEAVE, word::TIME | 1]);
        block(&mut trace, 0, 0, words);
    }
    end(trace)
}

/// Lanes with an open call each, on many stacks of many recorders.
fn lanes() -> Vec<u8> {
    let mut trace = writer();
    for recorder in 0..1000 {
        let words = (0..768u32).flat_map(|stack| [0xe400_0000 | stack, 1, 2, word::TIME | 9]);
        block(&mut trace, recorder, 0, words);
    }
    end(trace)
}

/// As many bytes of names as a trace may have, in calls of all of these functions inside each other.
fn names() -> Vec<u8> {
    const NAMES: u32 = 2_000;
    let mut trace = writer();
    let name = |n: u32| format!("{n:08} {}", "\"a\\ ".repeat(15_000));
    let files = vec!["/".repeat(1 << 20)];
    trace.symbols(&table((0..NAMES).map(name), files)).unwrap();
    for _ in 0..3 {
        let rounds = (0..NAMES).flat_map(|n| [n, word::TIME | 1000]);
        let leaves = (0..NAMES).flat_map(|_| [word::LEAVE, word::TIME | 1000]);
        block(&mut trace, 0, 0, rounds.chain(leaves).chain([word::LEAVE]));
    }
    end(trace)
}

/// As many symbols as a table may have, and more tables like it.
fn symbols() -> Vec<u8> {
    let mut trace = writer();
    let mut bytes = table((0..1 << 20).map(|n| format!("{n}")), Vec::new());
    for _ in 0..3 {
        trace.symbols(&bytes).unwrap();
        // Not the same table again, and no readable one either.
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
    }
    for half in 0..2 {
        block(&mut trace, 0, 0, (0..1 << 18).flat_map(|n| [half << 18 | n, word::LEAVE]));
    }
    end(trace)
}

/// Windows of a profile with as many paths and functions as a window may have.
fn windows() -> Vec<u8> {
    let mut trace = writer();
    for recorder in 0..12 {
        let nodes = (0..1u32 << 18).map(|n| WindowNode {
            parent: (n % 64 != 0).then(|| n - 1),
            func: FuncId(n + recorder * (1 << 18)),
            samples: 1,
            self_ticks: 1000,
        });
        let calls = (0..1 << 18).map(|n| (FuncId(n + recorder * (1 << 18)), 3));
        let window = Window {
            recorder,
            start_ticks: 0,
            end_ticks: 1 << 28,
            period_nanos: 1000,
            samples: 1 << 18,
            squares: 1.0,
            nodes: nodes.collect(),
            calls: calls.collect(),
            ..Window::default()
        };
        trace.window(&window).unwrap();
    }
    end(trace)
}

/// Threads that share a memory: as many blocks as are followed, many of them given once more, and ends of blocks that nobody saw.
fn blocks() -> Vec<u8> {
    let mut trace = writer();
    let allocations = Allocations { shared_memory: true, ..Allocations::default() };
    let module = ModuleIdentity { allocations: Some(allocations), ..ModuleIdentity::default() };
    let symbol = Symbol { name: "works".into(), ..Symbol::default() };
    let table = SymbolTable { module, id_base: 0, symbols: vec![symbol], ..SymbolTable::default() };
    trace.symbols(&table.to_bytes()).unwrap();
    const MANY: u64 = 1 << 22;
    const DISPLACED: u64 = 1 << 19;
    let given = |n: u64| Allocation::Allocated { pointer: 16 + 16 * (n % MANY), size: 1 + n % 7 };
    let freed = |n: u64| Allocation::Freed { pointer: 1 + 16 * n };
    let records: Vec<_> = (0..MANY + DISPLACED).map(given).chain((0..DISPLACED).map(freed)).collect();
    for records in records.chunks(WORDS as usize / 8) {
        let words = records.iter().flat_map(|record| {
            let [first, second, third] = record.encode();
            [0, first, second, third, word::TIME | 1, word::LEAVE]
        });
        block(&mut trace, 0, 0, words);
    }
    end(trace)
}

/// Runs a command that reads the trace `bomb.kperf`, and answers what it says on stderr.
fn run(folder: &Path, command: &str) -> (bool, String) {
    let program = env!("CARGO_BIN_EXE_kperf-wasm");
    let line = format!("ulimit -v {MOST}; exec '{program}' {command}");
    let output = Command::new("bash")
        .args(["-c", &line])
        .current_dir(folder)
        // Each arena reserves addresses, which the limit counts as if they were memory.
        .env("MALLOC_ARENA_MAX", "1")
        .stdout(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    // What runs out of memory is aborted, which is none of the exit codes.
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{command}: {code:?}\n{told}");
    assert!(code == Some(0) || told.starts_with("error:") || told.contains("\nerror:"), "{command}: {told}");
    (code == Some(0), told)
}

const COMMANDS: &[&str] = &[
    "report bomb.kperf",
    "report bomb.kperf --format json",
    "report bomb.kperf --format csv",
    "graph bomb.kperf -o x.dot",
    "graph bomb.kperf -o x.dot --tree",
    "flame bomb.kperf -o -",
    "flame bomb.kperf -o - --reverse",
    "flame bomb.kperf -o - --folded",
    "view bomb.kperf -o -",
    "diff bomb.kperf bomb.kperf",
    "diff bomb.kperf bomb.kperf --by path",
    "export bomb.kperf --format pprof -o -",
    "export bomb.kperf --format folded -o -",
];

/// Those that want single calls, and time.
const OF_CALLS: &[&str] = &[
    "report bomb.kperf --percentiles --format csv",
    "flame bomb.kperf -o - --chart",
    "replay bomb.kperf",
    "export bomb.kperf --format chrome -o -",
    "export bomb.kperf --format perfetto -o -",
    "export bomb.kperf --format firefox -o -",
    "export bomb.kperf --format speedscope -o - --lane 0",
    "export bomb.kperf --format csv -o -",
    "export bomb.kperf --format parquet -o -",
    "export bomb.kperf --format otlp -o -",
    "export bomb.kperf --format otlp-json -o - --metrics",
];

fn check(bytes: &[u8], commands: &[&str], expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bomb.kperf"), bytes).unwrap();
    for command in commands {
        let (fine, told) = run(folder.path(), command);
        // A picture of nothing, or of too much, is refused.
        let may_fail = ["flame", "export bomb.kperf --format firefox"];
        assert!(fine || may_fail.iter().any(|start| command.starts_with(start)), "{command}: {told}");
        if command.starts_with("report") {
            assert!(told.contains(expected), "{command}: {told}");
        }
    }
}

/// The first command, and every sixth behind it: others for another `n`.
fn some(n: usize, commands: &[&'static str]) -> Vec<&'static str> {
    let step = effort::of(6, 1);
    let rest = commands[1..].iter().skip(n % step).step_by(step);
    commands.iter().take(1).chain(rest).copied().collect()
}

fn some_of_all(n: usize) -> Vec<&'static str> {
    some(n, &[COMMANDS, OF_CALLS].concat())
}

#[test]
fn open_frames() {
    check(
        &frames(),
        &some_of_all(0),
        "103808624 calls are in [other]: at most 1048576 open calls have frames of their own",
    );
}

#[test]
fn paths_of_calls() {
    check(
        &paths(),
        &some_of_all(1),
        "in [other] where calls are shown by their paths: a call tree has at most 262144",
    );
}

#[test]
fn unknown_functions() {
    check(
        &functions(),
        &some_of_all(2),
        "in [other] where calls are shown by their paths: a call tree has at most 262144",
    );
}

#[test]
fn lanes_and_stacks() {
    check(&lanes(), &some_of_all(3), "more than 131072 lanes");
}

#[test]
fn long_names() {
    check(&names(), &some_of_all(4), "");
}

#[test]
fn large_tables() {
    check(&symbols(), &some_of_all(5), "");
}

#[test]
fn windows_of_profiles() {
    check(&windows(), &some(0, COMMANDS), "the path of");
    check(
        &windows(),
        &["report bomb.kperf --window series --format csv", "report bomb.kperf --window last"],
        "",
    );
}

#[test]
fn blocks_of_a_shared_memory() {
    let commands = [
        "report bomb.kperf --by allocations",
        "report bomb.kperf --by allocation-paths --format csv",
        "flame bomb.kperf -o - --by live",
        "flame bomb.kperf -o - --by allocated --folded",
        "export bomb.kperf --format pprof-heap -o -",
    ];
    check(&blocks(), &commands, "blocks of a shared memory can't be followed: at most 262144 may");
    check(
        &blocks(),
        &[
            "view bomb.kperf -o -",
            "export bomb.kperf --format otlp-json -o - --metrics",
            "diff bomb.kperf bomb.kperf",
        ],
        "",
    );
}
