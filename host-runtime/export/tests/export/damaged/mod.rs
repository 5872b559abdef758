//! Profiles and traces whose chunks are damaged, though their checksums are right: every report and export comes to an end.

mod check;

use check::{check, trace};
use kperf_abi::symbols::ModuleIdentity;
use kperf_abi::{FuncIndex, Symbol, SymbolTable};
use kperf_trace::block::BlockHeader;
use kperf_trace::word::{Reason, Word};
use kperf_trace::{FuncId, Header, Stall, StallKind, TraceWriter, Window, WindowNode};

/// A profile with slow calls, and a trace of events: each chunk's kind and recorder, as [`check::trace`] takes them, and
/// payload.
fn real() -> Vec<([u8; 2], Vec<u8>)> {
    let symbol = |n: u32| Symbol {
        id: FuncId(n),
        func_index: FuncIndex(n),
        name: format!("module::function {n}").into(),
        ..Symbol::default()
    };
    let table = SymbolTable {
        module: ModuleIdentity::default(),
        id_base: 0,
        symbols: (0..8).map(symbol).collect(),
        ..SymbolTable::default()
    };
    let node =
        |parent, func, samples| WindowNode { parent, func: FuncId(func), samples, self_ticks: 100 * samples };
    let window = |recorder, start_ticks| Window {
        recorder,
        start_ticks,
        end_ticks: start_ticks + 1_000,
        period_nanos: 100,
        span_min_nanos: 100,
        samples: 10,
        idle_ticks: 10,
        squares: 9_000.0,
        nodes: vec![
            node(None, 0, 1),
            node(Some(0), 1, 2),
            node(Some(1), 2, 4),
            node(Some(0), 2, 2),
            node(None, 9, 1),
        ],
        calls: (0..9).map(|n| (FuncId(n), 3 * u64::from(n))).collect(),
        ..Window::default()
    };
    let words = [
        Word::Enter(0),
        Word::Time(70),
        Word::Enter(1),
        Word::Time(500),
        Word::Enter(2),
        Word::Leave,
        Word::Time(300),
        Word::Unwind { depth: 1, reason: Reason::Caught },
        Word::Leave,
    ];
    let mut block = BlockHeader::default().to_bytes().to_vec();
    words.iter().for_each(|word| block.extend(word.encode().to_le_bytes()));
    let mut writer = TraceWriter::new(Vec::new(), &Header::default()).unwrap();
    writer.symbols(&table.to_bytes()).unwrap();
    writer.window(&window(0, 0)).unwrap();
    writer.spans(0, &block).unwrap();
    writer.window(&window(0, 1_000)).unwrap();
    writer.window(&window(1, 500)).unwrap();
    writer.block(2, &block).unwrap();
    writer.lost(2, 5).unwrap();
    writer.stall(Stall { kind: StallKind::Ticker, recorder: None, start_ticks: 10, nanos: 20 }).unwrap();
    let file = writer.finish(&Default::default()).unwrap();
    let starts = file.windows(4).enumerate().filter(|(_, bytes)| bytes == b"\xf5kpf").map(|(at, _)| at);
    let starts: Vec<usize> = starts.chain([file.len()]).collect();
    let chunk = |range: &[usize]| {
        let chunk = &file[range[0]..range[1]];
        let kind = check::KINDS.iter().position(|&kind| kind == &chunk[4..8]).unwrap();
        ([kind as u8, chunk[8]], chunk[28..].to_vec())
    };
    // The header is there already.
    starts.windows(2).skip(1).map(chunk).collect()
}

fn file(chunks: &[([u8; 2], Vec<u8>)]) -> Vec<u8> {
    let bytes = chunks
        .iter()
        .flat_map(|(kind, payload)| [&kind[..], &(payload.len() as u16).to_le_bytes(), payload].concat());
    trace(&bytes.collect::<Vec<u8>>())
}

#[test]
fn what_is_whole_is_read() {
    let found = check(&file(&real()));
    // Chunks get other numbers here than the writer has given them, which may be noticed once.
    assert!(found.nodes > 8 && found.calls > 100 && found.anomalies <= 1, "{found:?}");
}

#[test]
fn damaged_profiles() {
    let real = real();
    let (mut whole, mut anomalies) = (0, 0);
    for seed in 0..2_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut chunks = real.clone();
        for _ in 0..random.usize(..5) {
            let at = random.usize(..chunks.len());
            match random.u8(..8) {
                0 => _ = chunks.remove(at),
                1 => chunks.insert(random.usize(..=at), real[random.usize(..real.len())].clone()),
                2 => chunks[at].0[1] = random.u8(..4),
                _ => {
                    let payload = &mut chunks[at].1;
                    // Windows are short: any of their numbers, and those at the front of the others.
                    let at = random.usize(..payload.len().clamp(1, 120));
                    if let Some(byte) = payload.get_mut(at) {
                        *byte = [0, 1, 2, 0x7f, 0x80, 0xff, byte.wrapping_add(1)][random.usize(..7)];
                    }
                }
            }
            if chunks.is_empty() {
                break;
            }
        }
        let found =
            std::panic::catch_unwind(|| check(&file(&chunks))).unwrap_or_else(|_| panic!("seed {seed}"));
        whole += usize::from(found.nodes > 8);
        anomalies += found.anomalies;
    }
    assert!(whole > 500 && anomalies > 500, "{whole} with most of their nodes, {anomalies} anomalies");
}
