//! Traces as recorders write them, and what reading them alone takes.

#![allow(dead_code, unreachable_pub, reason = "a part of every benchmark, none of which uses all of it")]

use kperf_abi::block::{BlockHeader, CAPACITY};
use kperf_abi::word::Word;
use kperf_trace::{Header, Item, Summary, TraceReader, TraceWriter};

/// The second workload's levels, each of which can call this many functions.
const LEVELS: u32 = 5;
const CALLEES: u64 = 8;

/// How many calls the Game of Life makes: main, play, and of each step: itself, 400 cells, their 400 sums, and 8 looks at
/// neighbours for each.
pub fn life_calls(steps: u64) -> u64 {
    2 + steps * 4_001
}

/// Fills blocks as a recorder would.
pub struct Recorder {
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
    pub fn new(period: u64) -> Recorder {
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

    pub fn game_of_life(mut self, steps: u64) -> Vec<u8> {
        self.call(0, &mut |main| {
            main.call(1, &mut |play| {
                for _ in 0..steps {
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

    pub fn anywhere(mut self, all: u64) -> Vec<u8> {
        let mut calls = 0;
        while calls < all || self.depth > 0 {
            if calls < all && self.depth < LEVELS && (self.depth == 0 || self.below(2) == 0) {
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

pub fn read_alone(file: &[u8]) -> u64 {
    let mut reader = TraceReader::new(file).expect("a trace");
    let mut events = 0;
    while let Some(item) = reader.next().expect("from memory") {
        if let Item::Events(batch) = item {
            events += batch.events.len() as u64;
        }
    }
    events
}
