//! How fast blocks become a trace and a trace becomes events, beside floors of the same run, and how many bytes a call takes.
//!
//! The workload has the shape of the Game of Life of the examples (20x20, 4,001 calls a step) with made-up times: the
//! precise clock's like those of a TSC of 2.6 GHz, the ticker's one for about 250 events. Another has 3,000 functions,
//! whose ids take two bytes. Goals: bytes a call <= 1.5 and <= 0.3; blocks >= 30 M events/s, reading >= 50 M events/s.

use kperf_trace::block::{self, BlockHeader};
use kperf_trace::{Event, Header, Item, Summary, TraceReader, TraceWriter, count_events, word};
use std::hint::black_box;
use std::io::{self, Write};
use std::time::Instant;

/// Odd, so that the median is one of them.
const ROUNDS: usize = 11;
const STEPS: u32 = 150;
const CALLS_A_STEP: u32 = 4_001;

#[derive(Clone, Copy, PartialEq)]
enum Clock {
    Precise,
    Ticker,
}

/// A recorder that makes its time up.
struct Recorder {
    clock: Clock,
    noise: u64,
    ticks: u64,
    last: u64,
    block: Vec<u8>,
    blocks: Vec<Vec<u8>>,
    /// Distance between the ids of neighbouring functions.
    spread: u32,
    /// An enter and the leave right behind it become a leaf, as the recorder inside of modules does it.
    joins_leaves: bool,
}

impl Recorder {
    fn random(&mut self, below: u64) -> u64 {
        self.noise =
            self.noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.noise >> 33) % below
    }

    fn put(&mut self, word: u32) {
        // Two dice around 40 ticks, and an interrupt now and then.
        let interrupted = if self.random(3_000) == 0 { 2_000 + self.random(30_000) } else { 0 };
        self.ticks += 20 + self.random(21) + self.random(21) + interrupted;
        let now = match self.clock {
            Clock::Precise => self.ticks,
            Clock::Ticker => self.ticks / 10_000 * 10_000,
        };
        if self.block.len() + 28 > block::CAPACITY {
            self.flush();
        }
        if now != self.last || self.clock == Clock::Precise {
            self.block.extend((word::TIME | (now - self.last) as u32).to_le_bytes());
            self.last = now;
        }
        self.block.extend(word.to_le_bytes());
    }

    fn flush(&mut self) {
        let header = BlockHeader { stack: 0, depth: 3, start_ticks: self.last };
        let next = header.to_bytes().to_vec();
        self.blocks.push(std::mem::replace(&mut self.block, next));
    }

    fn call(&mut self, function: u32, children: u32, body: impl Fn(&mut Recorder, u32)) {
        self.put(function * self.spread);
        let entered = self.block.len();
        (0..children).for_each(|child| body(self, child));
        self.put(word::LEAVE);
        if self.joins_leaves && children == 0 && self.block.len() == entered + 4 {
            let leaf = word::LEAF + function * self.spread;
            self.block.splice(entered - 4.., leaf.to_le_bytes());
        }
    }
}

/// The blocks of a run, each as a recorder would hand it over.
fn game_of_life(clock: Clock, functions: u32, joins_leaves: bool) -> Vec<Vec<u8>> {
    let spread = functions / 8;
    let block = BlockHeader::default().to_bytes().to_vec();
    let blocks = Vec::new();
    let mut recorder = Recorder { clock, noise: 1, ticks: 0, last: 0, block, blocks, spread, joins_leaves };
    recorder.call(1, STEPS, |recorder, _| {
        recorder.call(2, 400, |recorder, _| {
            recorder.call(3, 1, |recorder, _| {
                recorder.call(4, 8, |recorder, child| recorder.call(5 + child % 2, 0, |_, _| {}));
            });
        });
    });
    recorder.flush();
    recorder.blocks
}

/// What takes part in a race, with its name.
type Rival<'a> = (&'static str, Box<dyn FnMut() + 'a>);

/// The least and the median seconds of the rounds of several rivals, which take turns.
fn race(rivals: &mut [Rival<'_>]) -> Vec<(&'static str, f64, f64)> {
    let mut seconds = vec![Vec::new(); rivals.len()];
    for _ in 0..ROUNDS {
        for ((_, rival), seconds) in rivals.iter_mut().zip(&mut seconds) {
            let start = Instant::now();
            rival();
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    seconds.iter_mut().for_each(|seconds| seconds.sort_by(f64::total_cmp));
    let of = |seconds: &Vec<f64>| (seconds[0], seconds[ROUNDS / 2]);
    rivals.iter().zip(&seconds).map(|((name, _), seconds)| (*name, of(seconds).0, of(seconds).1)).collect()
}

fn trace(blocks: &[Vec<u8>]) -> io::Result<Vec<u8>> {
    let mut writer = TraceWriter::new(Vec::new(), &Header::default())?;
    blocks.iter().try_for_each(|block| writer.block(0, block))?;
    writer.finish(&Summary::default())
}

/// Enters and all events of a trace.
fn read(trace: &[u8]) -> io::Result<(u64, u64)> {
    let mut reader = TraceReader::new(trace).map_err(io::Error::other)?;
    let (mut enters, mut events) = (0, 0);
    while let Some(item) = reader.next()? {
        if let Item::Events(batch) = item {
            events += batch.events.len() as u64;
            enters +=
                batch.events.iter().filter(|timed| matches!(timed.event, Event::Enter(_))).count() as u64;
        }
    }
    assert_eq!(reader.anomalies(), []);
    Ok((enters, events))
}

fn main() -> io::Result<()> {
    // `cargo test --benches` runs this too: then the counts are checked and nothing is measured.
    let measure = std::env::args().any(|argument| argument == "--bench");
    let mut out = io::stdout().lock();
    let calls = u64::from(1 + STEPS * CALLS_A_STEP);
    for (name, clock, functions, joins_leaves) in [
        ("precise", Clock::Precise, 8, false),
        ("ticker", Clock::Ticker, 8, false),
        ("ticker, inside", Clock::Ticker, 8, true),
        ("precise, 3,000 functions", Clock::Precise, 3_000, false),
    ] {
        let blocks = game_of_life(clock, functions, joins_leaves);
        let file = trace(&blocks)?;
        let counted: u64 = blocks.iter().map(|block| count_events(block)).sum();
        let (enters, events) = read(&file)?;
        assert_eq!((events, counted), (2 * enters, events), "every event that was written is read");
        assert_eq!(enters, calls, "the workload's calls");
        let raw: usize = blocks.iter().map(Vec::len).sum();
        let a_call = |bytes: usize| bytes as f64 / enters as f64;
        writeln!(out, "\n{name}: {enters} calls, {} blocks, {raw} bytes raw", blocks.len())?;
        writeln!(out, "  on disk {:.3} bytes a call (raw {:.2})", a_call(file.len()), a_call(raw))?;
        if !measure {
            continue;
        }

        let mut writer = TraceWriter::new(io::sink(), &Header::default())?;
        let mut copy = vec![0; block::CAPACITY];
        let mut zstd = zstd::bulk::Compressor::new(1)?;
        let mut packed = Vec::with_capacity(2 * block::CAPACITY);
        let mut pages = vec![0; raw];
        let results = race(&mut [
            (
                "memcpy of the blocks",
                Box::new(|| {
                    for block in &blocks {
                        copy[..block.len()].copy_from_slice(black_box(block));
                        black_box(&mut copy);
                    }
                }),
            ),
            (
                "zstd -1 of the blocks",
                Box::new(|| {
                    for block in &blocks {
                        packed.clear();
                        assert!(zstd.compress_to_buffer(block, &mut packed).is_ok());
                    }
                }),
            ),
            (
                "TraceWriter::block",
                Box::new(|| {
                    for block in &blocks {
                        assert!(writer.block(0, block).is_ok());
                    }
                }),
            ),
            (
                "memcpy of 16 bytes an event",
                Box::new(|| {
                    for chunk in pages.chunks_mut(256 << 10) {
                        chunk.copy_within(..chunk.len() / 2, chunk.len() / 2);
                        black_box(chunk);
                    }
                }),
            ),
            (
                "TraceReader::next",
                Box::new(|| {
                    assert_eq!(read(black_box(&file)).ok(), Some((enters, events)));
                }),
            ),
        ]);
        for (name, least, median) in results {
            let speed = |seconds: f64| events as f64 / seconds / 1e6;
            writeln!(out, "  {name:<28} {:>8.0} M events/s, median {:>8.0}", speed(least), speed(median))?;
        }
    }
    Ok(())
}
