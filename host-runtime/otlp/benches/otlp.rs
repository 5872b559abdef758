//! How fast a trace becomes OTLP requests, and what memory that takes.
//!
//! The workload is the Game of Life's: 4,001 calls a step, six functions, as a trace of blocks that is made while it is
//! read. Wanted: at least 3 M spans a second on one core, and memory that doesn't grow with the trace. Reading alone and
//! reading with the open frames are the floors, measured in the same run, in turn.

use kperf_abi::block::BlockHeader;
use kperf_abi::symbols::ModuleIdentity;
use kperf_abi::word::Word;
use kperf_abi::{FuncId, FuncIndex, Symbol, SymbolTable};
use kperf_otlp::{SpanOptions, Spans};
use kperf_profile::CallTreeBuilder;
use kperf_trace::{Header, Item, Summary, TraceReader, TraceWriter};
use peak_alloc::PeakAlloc;
use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const STEPS_A_BLOCK: u64 = 3;
/// A step, 400 cells, their 400 sums, and 8 looks at neighbours for each.
const CALLS_A_STEP: u64 = 4_001;
const CALLS_A_BLOCK: u64 = STEPS_A_BLOCK * CALLS_A_STEP;
/// Many short rounds: where the machine is shared, one of them is undisturbed.
const ROUNDS: usize = 101;
const NAMES: [&str; 4] =
    ["life::step", "life::should_become_live", "life::n_live_neighbors", "life::is_valid_position"];

/// A trace that is made as it is read.
struct Made {
    writer: Option<TraceWriter<Shared>>,
    made: Shared,
    read: usize,
    blocks: u64,
    now: u64,
    block: Vec<u8>,
    /// Nanoseconds between two times that the recorder sees: 1 for a precise clock.
    period: u64,
}

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Made {
    fn new(calls: u64, period: u64) -> Made {
        let made = Shared::default();
        let mut writer = TraceWriter::new(made.clone(), &Header::default()).expect("to memory");
        writer.symbols(&symbols().to_bytes()).expect("to memory");
        let (blocks, block) = (calls / CALLS_A_BLOCK, Vec::new());
        Made { writer: Some(writer), made, read: 0, blocks, now: 0, block, period }
    }

    fn next_block(&mut self) {
        let seen = |now: u64, period: u64| now / period * period;
        let mut last = seen(self.now, self.period);
        let header = BlockHeader { stack: 0, depth: 0, start_ticks: last };
        self.block.clear();
        self.block.extend(header.to_bytes());
        let (block, now, period) = (&mut self.block, &mut self.now, self.period);
        let mut event = |word: Word| {
            *now += 13;
            let time = seen(*now, period);
            if time != last {
                block.extend(Word::Time((time - last) as u32).encode().to_le_bytes());
                last = time;
            }
            block.extend(word.encode().to_le_bytes());
        };
        for _ in 0..STEPS_A_BLOCK {
            event(Word::Enter(0));
            for _ in 0..400 {
                event(Word::Enter(1));
                event(Word::Enter(2));
                for _ in 0..8 {
                    event(Word::Enter(3));
                    event(Word::Leave);
                }
                event(Word::Leave);
                event(Word::Leave);
            }
            event(Word::Leave);
        }
    }
}

impl Read for Made {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.made.0.borrow().len() {
            self.made.0.borrow_mut().clear();
            self.read = 0;
            if self.blocks > 0 {
                self.blocks -= 1;
                self.next_block();
                if let Some(writer) = &mut self.writer {
                    writer.block(0, &self.block)?;
                }
            } else if let Some(writer) = self.writer.take() {
                writer.finish(&Summary { outcome: "completed".into(), ..Summary::default() })?;
            }
        }
        let made = self.made.0.borrow();
        let read = (&made[self.read..]).read(buffer)?;
        self.read += read;
        Ok(read)
    }
}

fn symbols() -> SymbolTable {
    let symbol = |(name, id): (&&str, u32)| Symbol {
        id: FuncId(id),
        func_index: FuncIndex(id + 7),
        name: (*name).into(),
        ..Symbol::default()
    };
    let module = ModuleIdentity { name: "life".into(), sha256: "ab".repeat(32), ..ModuleIdentity::default() };
    SymbolTable {
        module,
        id_base: 0,
        symbols: NAMES.iter().zip(0..).map(symbol).collect(),
        ..SymbolTable::default()
    }
}

/// Calls, requests and bytes.
fn encode(input: impl Read, options: SpanOptions) -> (u64, u64, u64) {
    let mut spans = Spans::new(TraceReader::new(input).expect("a trace"), options);
    while let Some(request) = spans.next().expect("from memory") {
        std::hint::black_box(&request);
    }
    let account = spans.account();
    assert!(account.health.warnings().is_empty());
    assert_eq!(account.calls, account.spans + account.elided.calls());
    (account.spans, account.requests, account.bytes)
}

fn read_alone(file: &[u8]) -> u64 {
    let mut reader = TraceReader::new(file).expect("a trace");
    let mut events = 0;
    while let Some(item) = reader.next().expect("from memory") {
        if let Item::Events(batch) = item {
            events += batch.events.len() as u64;
        }
    }
    events / 2
}

fn frames(file: &[u8]) -> u64 {
    let mut reader = TraceReader::new(file).expect("a trace");
    let mut builder = CallTreeBuilder::new();
    while let Some(item) = reader.next().expect("from memory") {
        if let Item::Events(batch) = item {
            builder.push(&batch);
        }
    }
    builder.counts().calls
}

/// The shortest and the median time of what is run in turn.
fn measure<const N: usize>(
    calls: u64,
    mut subjects: [&mut dyn FnMut() -> u64; N],
) -> [(Duration, Duration); N] {
    let mut times = [const { Vec::new() }; N];
    for _ in 0..ROUNDS {
        for (subject, times) in subjects.iter_mut().zip(&mut times) {
            let start = Instant::now();
            assert_eq!(subject(), calls);
            times.push(start.elapsed());
        }
    }
    times.map(|mut times| {
        times.sort();
        (times[0], times[times.len() / 2])
    })
}

fn speed(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "M calls/s at best (median)")?;
    for (clock, period) in [("precise", 1), ("ticker", 2_000)] {
        let mut file = Vec::new();
        let calls = 10 * CALLS_A_BLOCK;
        Made::new(calls, period).read_to_end(&mut file)?;
        let options = |metrics| SpanOptions { seed: Some(1), metrics, ..SpanOptions::default() };
        let (_, requests, bytes) = encode(&file[..], options(false));
        let [read, tree, spans, with_metrics, few] = measure(
            calls,
            [
                &mut || read_alone(&file),
                &mut || frames(&file),
                &mut || encode(&file[..], options(false)).0,
                &mut || encode(&file[..], options(true)).0,
                &mut || {
                    let few = SpanOptions { max_depth: Some(1), ..options(false) };
                    encode(&file[..], few).0 * CALLS_A_STEP
                },
            ],
        );
        for (what, time) in [
            ("read", read),
            ("read, call tree", tree),
            ("read, spans", spans),
            ("read, spans, metrics", with_metrics),
            ("read, spans of one call in 4,001", few),
        ] {
            let rate = |time: Duration| calls as f64 / time.as_secs_f64() / 1e6;
            let ratio = time.0.as_secs_f64() / read.0.as_secs_f64();
            writeln!(
                out,
                "{clock:>8} {what:<34} {:6.1} ({:.1}), {ratio:.2} x reading",
                rate(time.0),
                rate(time.1)
            )?;
        }
        writeln!(
            out,
            "{clock:>8} {:.1} bytes a span, {:.2} MB a request",
            bytes as f64 / calls as f64,
            bytes as f64 / requests as f64 / 1e6
        )?;
    }
    Ok(())
}

/// Encodes a trace of so many calls. Answers the calls and the most bytes of memory that took.
fn memory(calls: u64) -> (u64, usize) {
    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    let (spans, ..) =
        encode(Made::new(calls, 2_000), SpanOptions { seed: Some(1), ..SpanOptions::default() });
    (spans, HEAP.peak_usage() - before)
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    speed(&mut out)?;
    let (_, few) = memory(1_000_000);
    let (calls, many) = memory(100_000_000);
    assert_eq!(calls, 100_000_000 / CALLS_A_BLOCK * CALLS_A_BLOCK);
    writeln!(
        out,
        "memory: {:.2} MB for 1 M calls, {:.2} MB for {:.1} M",
        few as f64 / 1e6,
        many as f64 / 1e6,
        calls as f64 / 1e6
    )?;
    assert!(many < few + (1 << 20), "memory grows with the trace");
    Ok(())
}
