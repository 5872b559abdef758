//! How fast a trace becomes a report.
//!
//! Two workloads: the Game of Life's calls, whose tree has seven nodes, and calls that go anywhere, with a tree of some
//! 37,000 nodes and never the same callee twice in a row but by chance. Wanted: at least 50 M events a second on one core
//! for reading and the call tree together. Reading alone is printed beside it.

use kperf_abi::block::{BlockHeader, CAPACITY};
use kperf_abi::word::Word;
use kperf_profile::{FlatProfile, Profile};
use kperf_trace::{Header, Item, Summary, TraceReader, TraceWriter};
use std::io::Write;
use std::time::{Duration, Instant};

const STEPS: u64 = 2_000;
/// main, play, and of each step: itself, 400 cells, their 400 sums, and 8 looks at neighbours for each.
const LIFE_CALLS: u64 = 2 + STEPS * 4_001;
const ANYWHERE_CALLS: u64 = 4_000_000;
/// The second workload's levels, each of which can call this many functions.
const LEVELS: u32 = 5;
const CALLEES: u64 = 8;

/// Fills blocks as a recorder would.
struct Recorder {
    writer: TraceWriter<Vec<u8>>,
    block: Vec<u8>,
    depth: u32,
    now: u64,
    last: u64,
    /// Nanoseconds between two times that the recorder sees: 1 for a precise clock.
    period: u64,
    noise: u64,
}

impl Recorder {
    fn new(period: u64) -> Recorder {
        let writer = TraceWriter::new(Vec::new(), &Header::default()).expect("to memory");
        let mut recorder =
            Recorder { writer, block: Vec::new(), depth: 0, now: 0, last: 0, period, noise: 1 };
        recorder.begin();
        recorder
    }

    fn begin(&mut self) {
        let header = BlockHeader { stack: 0, depth: self.depth, start_ticks: self.last };
        self.block.clear();
        self.block.extend(header.to_bytes());
    }

    fn flush(&mut self) {
        self.writer.block(0, &self.block).expect("to memory");
        self.begin();
    }

    fn event(&mut self, word: Word) {
        if self.block.len() + 8 > CAPACITY {
            self.flush();
        }
        // Probed calls are some 10 to 30 ns apart.
        self.now += 10 + self.below(16);
        let seen = self.now / self.period * self.period;
        if seen != self.last {
            self.block.extend(Word::Time((seen - self.last) as u32).encode().to_le_bytes());
            self.last = seen;
        }
        self.block.extend(word.encode().to_le_bytes());
    }

    fn below(&mut self, end: u64) -> u64 {
        self.noise =
            self.noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.noise >> 33) % end
    }

    fn call(&mut self, id: u32, inside: &mut dyn FnMut(&mut Recorder)) {
        self.event(Word::Enter(id));
        self.depth += 1;
        inside(self);
        self.event(Word::Leave);
        self.depth -= 1;
    }

    fn game_of_life(mut self) -> Vec<u8> {
        self.call(0, &mut |main| {
            main.call(1, &mut |play| {
                for _ in 0..STEPS {
                    play.call(2, &mut |step| {
                        for _ in 0..400 {
                            step.call(3, &mut |cell| {
                                cell.call(4, &mut |sum| {
                                    for _ in 0..8 {
                                        sum.call(5, &mut |_| ());
                                    }
                                });
                            });
                        }
                    });
                }
            });
        });
        self.finish()
    }

    fn anywhere(mut self) -> Vec<u8> {
        let mut calls = 0;
        while calls < ANYWHERE_CALLS || self.depth > 0 {
            if calls < ANYWHERE_CALLS && self.depth < LEVELS && (self.depth == 0 || self.below(2) == 0) {
                let func = u64::from(self.depth) * CALLEES + self.below(CALLEES);
                self.event(Word::Enter(func as u32));
                self.depth += 1;
                calls += 1;
            } else {
                self.event(Word::Leave);
                self.depth -= 1;
            }
        }
        self.finish()
    }

    fn finish(mut self) -> Vec<u8> {
        self.flush();
        self.writer.finish(&Summary::default()).expect("to memory")
    }
}

fn read_alone(file: &[u8]) -> u64 {
    let mut reader = TraceReader::new(file).expect("a trace");
    let mut events = 0;
    while let Some(item) = reader.next().expect("from memory") {
        if let Item::Events(batch) = item {
            events += batch.events.len() as u64;
        }
    }
    events
}

fn report(file: &[u8]) -> u64 {
    let profile = Profile::read(TraceReader::new(file).expect("a trace"), |_| ()).expect("from memory");
    let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
    assert_eq!(flat.calls, profile.calls());
    profile.health.counts.events()
}

/// The shortest and the median time of what is run in turn.
fn measure<const N: usize>(
    events: u64,
    mut subjects: [&mut dyn FnMut() -> u64; N],
) -> [(Duration, Duration); N] {
    let mut times = [const { Vec::new() }; N];
    for _ in 0..11 {
        for (subject, times) in subjects.iter_mut().zip(&mut times) {
            let start = Instant::now();
            assert_eq!(subject(), events);
            times.push(start.elapsed());
        }
    }
    times.map(|mut times| {
        times.sort();
        (times[0], times[times.len() / 2])
    })
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "M events/s at best (median)")?;
    for (clock, period) in [("precise", 1), ("ticker", 2_000)] {
        let life = Recorder::new(period).game_of_life();
        let anywhere = Recorder::new(period).anywhere();
        for (workload, file, calls) in [("life", life, LIFE_CALLS), ("anywhere", anywhere, ANYWHERE_CALLS)] {
            let events = 2 * calls;
            let [read, report] = measure(events, [&mut || read_alone(&file), &mut || report(&file)]);
            let rate = |time: Duration| events as f64 / time.as_secs_f64() / 1e6;
            writeln!(
                out,
                "{workload:>9} {clock:>8}: read {:.0} ({:.0}), read and report {:.0} ({:.0}), {:.2} times as long; \
                 {:.3} bytes a call",
                rate(read.0),
                rate(read.1),
                rate(report.0),
                rate(report.1),
                report.1.as_secs_f64() / read.1.as_secs_f64(),
                file.len() as f64 / calls as f64,
            )?;
        }
    }
    Ok(())
}
