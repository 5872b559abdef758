//! What the tests share: blocks from words, and traces as text.
#![allow(dead_code, reason = "each test file is a crate of its own and uses a part")]

use kperf_trace::block::BlockHeader;
use kperf_trace::word::{Reason, Word};
use kperf_trace::{
    Anchor, CallParent, ClockInfo, ClockKind, Event, FuncId, Header, HostInfo, Item, LaneId, ProbeCost,
    Stall, StallKind, StallTotal, Summary, TimedEvent, TraceContext, TraceReader, TraceWriter, Window,
    WindowNode, WindowPlace,
};
use std::fmt::Write;

/// A raw block of stack 0 at depth 0.
pub(crate) fn block(start_ticks: u64, words: &[u32]) -> Vec<u8> {
    block_at(BlockHeader { stack: 0, depth: 0, start_ticks }, words)
}

pub(crate) fn block_at(header: BlockHeader, words: &[u32]) -> Vec<u8> {
    let mut block = header.to_bytes().to_vec();
    block.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    block
}

/// The words of enters (`Some`) and leaves (`None`), each behind a time of `ticks`.
pub(crate) fn timed(ticks: u32, calls: &[Option<u32>]) -> Vec<u32> {
    let word = |call: &Option<u32>| call.map_or(Word::Leave, Word::Enter).encode();
    calls.iter().flat_map(|call| [Word::Time(ticks).encode(), word(call)]).collect()
}

/// A small generator of numbers that look random; the same for the same seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 31) % limit
    }
}

/// Any words at all, most of them what recorders write.
pub(crate) fn random_words(random: &mut Random, count: usize) -> Vec<u32> {
    let ids = [100, 126, 20_000, 1 << 30][random.below(4) as usize];
    let times = [1, 100, 300, 1 << 30][random.below(4) as usize];
    let odd = [5, 100, 100_000][random.below(3) as usize];
    let timed = random.below(3);
    let leaves = random.below(2) == 0;
    let mut words = Vec::new();
    while words.len() < count {
        if timed == 0 || timed == 1 && random.below(50) == 0 {
            words.push(Word::Time(random.below(times) as u32).encode());
        }
        if random.below(odd) != 0 {
            let id = random.below(ids) as u32;
            let leave = if leaves && random.below(2) == 0 { Word::Leaf(id) } else { Word::Leave };
            words.push(if random.below(2) == 0 { Word::Enter(id) } else { leave }.encode());
            continue;
        }
        let payload = random.below(1 << 26) as u32;
        let word = match random.below(6) {
            0 => Word::Unwind { depth: payload, reason: Reason::ALL[random.below(6) as usize] }.encode(),
            1 => Word::Mark(payload).encode(),
            2 => Word::Switch(random.below(900) as u32).encode(),
            3 => random.below(1 << 32) as u32,
            4 => Word::Time(payload).encode(),
            _ => {
                words.extend([Word::WideTime.encode(), random.below(1 << 32) as u32]);
                random.below(1 << 20) as u32
            }
        };
        words.push(word);
    }
    words
}

/// A trace with the default header.
pub(crate) fn trace(write: impl FnOnce(&mut TraceWriter<Vec<u8>>)) -> Vec<u8> {
    trace_with(&Header::default(), write)
}

/// The same with a header.
pub(crate) fn trace_with(header: &Header, write: impl FnOnce(&mut TraceWriter<Vec<u8>>)) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), header).expect("a writer");
    write(&mut writer);
    writer.finish(&Summary { outcome: "completed".into(), ..Summary::default() }).expect("an end")
}

/// A chunk made by hand, with checksums that are right.
pub(crate) fn chunk(kind: &[u8; 4], recorder: u32, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut chunk = b"\xf5kpf".to_vec();
    chunk.extend(kind);
    for number in [recorder, sequence, payload.len() as u32, crc32fast::hash(payload)] {
        chunk.extend(number.to_le_bytes());
    }
    chunk.extend(crc32fast::hash(&chunk).to_le_bytes());
    chunk.extend(payload);
    chunk
}

/// The simplest trace that a host can write: a header and raw blocks, as the first codec takes them.
pub(crate) fn raw_trace(recorder: u32, blocks: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"KPERF\0\x01\0".to_vec();
    file.extend(chunk(b"HEAD", 0, 0, b"{}"));
    for (sequence, block) in (0..).zip(blocks) {
        file.extend(chunk(b"EVTS", recorder, sequence, &[&[0], &block[..]].concat()));
    }
    file.extend(chunk(b"ENDT", 0, 0, br#"{"outcome": "completed"}"#));
    file
}

/// A span of somebody else's.
pub(crate) fn context(state: &str) -> TraceContext {
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    TraceContext::parse(parent, state).expect("a context")
}

/// A header with nothing left at its default.
pub(crate) fn full_header() -> Header {
    Header {
        clock: ClockInfo {
            kind: ClockKind::Ticker,
            source: "tsc".into(),
            ticks_per_second: 2.5e9,
            resolution_nanos: 0.4,
            period_nanos: Some(2000),
            no_ticker: None,
        },
        anchor: Anchor { ticks: 1_000_000, unix_nanos: 1_700_000_000_000_000_000 },
        probe_cost: Some(ProbeCost { inside_nanos: 10.5, outside_nanos: 11.0 }),
        host: HostInfo {
            name: "wasmtime".into(),
            version: "48.0.0".into(),
            os: "linux".into(),
            arch: "x86_64".into(),
            pid: 4711,
        },
        command: vec!["life.wasm".into(), "50".into()],
        parent: Some(context("a=1")),
        repeated: false,
    }
}

/// A window of a recorder's profile.
pub(crate) fn window(recorder: u32) -> Window {
    let node = |parent, func, samples, self_ticks| {
        let func = FuncId(func);
        WindowNode { parent, func, samples, self_ticks }
    };
    let place = |node, offset, samples, ticks| WindowPlace { node, offset, samples, ticks };
    Window {
        recorder,
        start_ticks: 1_000_000,
        end_ticks: 2_000_000,
        period_nanos: 100_000,
        span_min_nanos: 1_000_000,
        samples: 7,
        torn: 2,
        cut: 1,
        idle_ticks: 300_000,
        squares: 7.5e10,
        nodes: vec![
            node(None, 4, 1, 100_000),
            node(Some(0), 200, 4, 450_000),
            node(Some(0), 5, 1, 50_000),
            node(None, 5, 1, 100_000),
        ],
        calls: vec![(FuncId(0), 3), (FuncId(1), 1), (FuncId(200), 5_000_000_000)],
        places: vec![place(1, 7, 3, 350_000), place(1, 200, 1, 100_000), place(3, 0, 1, 100_000)],
        node_calls: Vec::new(),
        parent: None,
    }
}

/// A small trace with a chunk of every kind.
pub(crate) fn full_trace() -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), &full_header()).expect("a writer");
    let mut write = || {
        writer.symbols(b"a symbol table")?;
        writer.block(0, &block(1_000_000, &timed(40, &[Some(1), Some(2), None])))?;
        writer.stall(Stall {
            kind: StallKind::Ticker,
            recorder: None,
            start_ticks: 1_000_100,
            nanos: 60_000,
        })?;
        writer.lost(0, 3)?;
        writer.parent(&CallParent { recorder: 0, stack: Some(0), context: Some(context("b=2")) })?;
        writer.block(0, &block(1_002_000, &timed(30, &[None])))?;
        let long: Vec<_> = (0..60).map(|n| (n % 2 == 0).then_some(7)).collect();
        writer.block(1, &block(1_000_500, &timed(25, &long)))?;
        writer.spans(2, &block(1_000_600, &timed(2000, &[Some(4), None])))?;
        writer.window(&window(2))
    };
    write().expect("a Vec takes everything");
    let stall = StallTotal { count: 1, nanos: 60_000, longest_nanos: 60_000 };
    let summary = Summary {
        outcome: "exit 3".into(),
        end_ticks: 1_003_000,
        events: 67,
        blocks: 3,
        dropped_events: 3,
        recorders: 2,
        probes: 8,
        ticker_stalls: stall,
        ..Summary::default()
    };
    writer.finish(&summary).expect("an end")
}

/// All events of a trace with their lanes.
pub(crate) fn events(trace: &[u8]) -> Vec<(LaneId, TimedEvent)> {
    let mut reader = TraceReader::new(trace).expect("a trace");
    let mut events = Vec::new();
    while let Some(item) = reader.next().expect("no IO fails") {
        if let Item::Events(batch) | Item::Spans(batch) = item {
            events.extend(batch.events.iter().map(|event| (batch.lane, *event)));
        }
    }
    events
}

/// A trace as text: an item a line, an event a line, then the anomalies.
pub(crate) fn text(trace: &[u8]) -> String {
    let mut reader = TraceReader::new(trace).expect("a trace");
    let mut text = String::new();
    let mut line = |line: String| writeln!(text, "{line}").expect("a String takes everything");
    while let Some(item) = reader.next().expect("no IO fails") {
        match item {
            Item::Symbols(table) => line(format!("symbols \"{}\"", table.escape_ascii())),
            Item::Stall(stall) => line(format!("{stall:?}")),
            Item::Anchor(anchor) => line(format!("{anchor:?}")),
            Item::Parent(CallParent { recorder, stack, context }) => {
                let stack = stack.map_or("all stacks".into(), |stack| format!("stack {stack}"));
                let context = context.as_ref().map_or("the run's parent".into(), |context| {
                    format!("{} \"{}\"", context.traceparent(), context.state)
                });
                line(format!("recorder {recorder}, {stack}: children of {context}"));
            }
            Item::End(summary) => line(format!("end: {}", summary.outcome)),
            Item::Window(window) => {
                let told = format!("{window:?}");
                line(told.replace(": [", ": [\n  ").replace("}, ", "},\n  "));
            }
            Item::Events(batch) | Item::Spans(batch) => {
                let spans = if matches!(item, Item::Spans(_)) { "spans of " } else { "" };
                line(format!(
                    "{spans}lane {}, depth {}, from {}",
                    batch.lane, batch.depth, batch.start_ticks
                ));
                for TimedEvent { ticks, event } in batch.events {
                    line(match event {
                        Event::Enter(FuncId(id)) => format!("  {ticks} enter {id}"),
                        Event::Leave => format!("  {ticks} leave"),
                        Event::Unwind { depth, reason } => {
                            format!("  {ticks} unwind to {depth}: {}", reason.as_str())
                        }
                        Event::Mark(value) => format!("  {ticks} mark {value}"),
                        Event::Memory(word) => format!("  {ticks} memory {word:#x}"),
                        Event::Pause(paused) => format!("  {ticks} pause {paused}"),
                        Event::Wait(waited) => {
                            format!("  {ticks} wait {:?} {}", waited.wait(), waited.ticks())
                        }
                        Event::Lost { events: Some(events) } => format!("  {ticks} lost {events}"),
                        Event::Lost { events: None } => format!("  {ticks} lost"),
                    });
                }
            }
        }
    }
    for anomaly in reader.anomalies() {
        line(format!("! {anomaly}"));
    }
    text
}
