//! A reader below that has nothing yet says so, and the trace is read on later: how a trace is followed while it grows.

use crate::common::{Random, full_trace, text};
use kperf_trace::{Item, TraceReader};
use std::io::{self, ErrorKind, Read};

/// Gives a few bytes at a time, and in between says that there are none yet.
struct Trickle<'a> {
    bytes: &'a [u8],
    random: Random,
    says_wait: bool,
}

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.says_wait = !self.says_wait;
        if self.says_wait {
            return Err(ErrorKind::WouldBlock.into());
        }
        let length = (1 + self.random.below(40) as usize).min(buffer.len());
        (&self.bytes[..self.bytes.len().min(length)]).read(buffer).inspect(|&read| {
            self.bytes = &self.bytes[read..];
        })
    }
}

/// What the reader gives, as text, and how often it had to wait.
fn trickled(bytes: &[u8], seed: u64) -> (String, usize) {
    // The header has to be there in one piece.
    let head = bytes.len().min(
        8 + 28
            + bytes
                .get(24..28)
                .map_or(0, |length| u32::from_le_bytes(length.try_into().expect("four bytes")) as usize),
    );
    let (head, rest) = bytes.split_at(head);
    let rest = Trickle { bytes: rest, random: Random(seed), says_wait: false };
    let mut reader = TraceReader::new(head.chain(rest)).expect("a trace");
    let (mut lines, mut waits) = (Vec::new(), 0);
    loop {
        match reader.next() {
            Ok(None) => break,
            Ok(Some(Item::Events(batch))) => lines.push(format!("{batch:?}")),
            Ok(Some(item)) => lines.push(format!("{item:?}")),
            Err(error) if error.kind() == ErrorKind::WouldBlock => waits += 1,
            Err(error) => panic!("{error}"),
        }
    }
    lines.extend(reader.anomalies().iter().map(ToString::to_string));
    (lines.join("\n"), waits)
}

fn whole(bytes: &[u8]) -> String {
    let mut reader = TraceReader::new(bytes).expect("a trace");
    let mut lines = Vec::new();
    while let Some(item) = reader.next().expect("from memory") {
        lines.push(match item {
            Item::Events(batch) => format!("{batch:?}"),
            item => format!("{item:?}"),
        });
    }
    lines.extend(reader.anomalies().iter().map(ToString::to_string));
    lines.join("\n")
}

#[test]
fn a_reader_goes_on_after_it_had_to_wait() {
    let file = full_trace();
    assert!(text(&file).ends_with("end: exit 3\n"));
    for seed in 0..50 {
        let (read, waits) = trickled(&file, seed);
        assert!(waits > 10, "{waits}");
        assert_eq!(read, whole(&file), "seed {seed}");
    }
}

#[test]
fn damage_costs_the_same_whether_it_had_to_wait_or_not() {
    let file = full_trace();
    for seed in 0..300 {
        let mut random = Random(seed);
        let mut bytes = file.clone();
        for _ in 0..1 + random.below(4) {
            // Behind the header.
            let at = 500 + random.below(bytes.len() as u64 - 500) as usize;
            match random.below(3) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => drop(bytes.drain(at..(at + random.below(50) as usize).min(bytes.len()))),
                _ => drop(bytes.splice(at..at, [0xf5; 7])),
            }
        }
        assert_eq!(trickled(&bytes, seed).0, whole(&bytes), "seed {seed}");
    }
}
