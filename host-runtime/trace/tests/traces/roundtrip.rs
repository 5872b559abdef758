//! What a recorder hands over comes back from the file.

use crate::common::{
    Random, block, block_at, full_header, full_trace, random_words, raw_trace, text, timed, trace, trace_with,
};
use kperf_trace::block::{BlockHeader, STACKS};
use kperf_trace::word::{Reason, Word};
use kperf_trace::{
    ClockInfo, ClockKind, Event, FuncId, Header, LaneId, Summary, TimedEvent, TraceReader, TraceWriter,
    count_events,
};
use std::io::{self, Write};

/// A block's events as the word table says it, a word at a time.
fn reference(start_ticks: u64, words: &[u32]) -> Vec<(LaneId, TimedEvent)> {
    let (mut lane, mut ticks, mut events) = (LaneId { recorder: 5, stack: 0 }, start_ticks, Vec::new());
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let event = match Word::decode(word) {
            Some(Word::Enter(id)) => Event::Enter(FuncId(id)),
            Some(Word::Leave) => Event::Leave,
            Some(Word::Leaf(id)) => {
                events.push((lane, TimedEvent { ticks, event: Event::Enter(FuncId(id)) }));
                Event::Leave
            }
            Some(Word::Unwind { depth, reason }) => Event::Unwind { depth, reason },
            Some(Word::Mark(value)) => Event::Mark(value),
            Some(Word::Record(_) | Word::RecordMore(_)) => Event::Memory(word),
            Some(Word::Pause(paused)) => Event::Pause(paused),
            Some(Word::Wait(waited)) => Event::Wait(waited),
            Some(Word::Time(passed)) => {
                ticks = ticks.saturating_add(passed.into());
                continue;
            }
            Some(Word::WideTime) => {
                if let (Some(low), Some(high)) = (words.next(), words.next()) {
                    ticks = ticks.saturating_add(u64::from(high) << 32 | u64::from(low));
                }
                continue;
            }
            Some(Word::Switch(stack)) if stack < STACKS => {
                lane.stack = stack;
                continue;
            }
            _ => continue,
        };
        events.push((lane, TimedEvent { ticks, event }));
    }
    events
}

#[test]
fn any_words_come_back() {
    for seed in 0..600 {
        let mut random = Random(seed);
        let count = 1 + random.below([20, 200, 5000][seed as usize % 3]) as usize;
        let words = random_words(&mut random, count);
        let start = random.below(1 << 40);
        let raw = block(start, &words);
        let file = trace(|writer| writer.block(5, &raw).expect("a block"));
        let expected = reference(start, &words);
        assert!(crate::common::events(&file) == expected, "seed {seed}");
        assert!(
            crate::common::events(&raw_trace(5, std::slice::from_ref(&raw))) == expected,
            "seed {seed}, raw"
        );
        let mut writer = TraceWriter::new(io::sink(), &Header::default()).expect("a writer");
        writer.block(5, &raw).expect("a block");
        // What is told of memory belongs to the event before it.
        let events = expected
            .iter()
            .filter(|(_, timed)| !matches!(timed.event, Event::Memory(_) | Event::Pause(_) | Event::Wait(_)))
            .count() as u64;
        assert_eq!((writer.written().events, count_events(&raw)), (events, events));
    }
}

/// Leaves among enters and leaves, of short and long ids, with and without times, and in a block so long that each can't make two
/// entries.
#[test]
fn leaves_are_an_enter_and_a_leave() {
    for ids in [1, 126, 127, 20_000, (1 << 30) - 2] {
        for (length, every) in [(1, 1), (16, 100), (40, 100), (1000, 2), (1000, 37), (600_000, 100)] {
            let mut words = Vec::new();
            for n in 0..length {
                if n % every == 0 {
                    words.push(Word::Time(300).encode());
                }
                words.push([Word::Enter(3), Word::Leaf(ids - n % 2), Word::Leave][n as usize % 3].encode());
            }
            let raw = block(9, &words);
            let file = trace(|writer| writer.block(5, &raw).expect("a block"));
            let expected = reference(9, &words);
            assert!(
                crate::common::events(&file) == expected,
                "ids {ids}, {length} words, a time every {every}"
            );
            assert!(
                crate::common::events(&raw_trace(5, std::slice::from_ref(&raw))) == expected,
                "raw, ids {ids}"
            );
            assert_eq!(count_events(&raw), expected.len() as u64);
        }
    }
}

/// Both forms of times, short and long ids, short and long times, all of whole vectors and not.
#[test]
fn every_path_of_the_codec_gives_the_same() {
    for ids in [1, 125, 126, 127, 20_000, (1 << 30) - 1] {
        for ticks in [0, 1, 127, 128, 70_000] {
            for length in [1, 7, 8, 9, 15, 16, 17, 33, 1000] {
                for every in [1, 2, 3, 40] {
                    let mut words = Vec::new();
                    for n in 0..length {
                        if n % every == 0 {
                            words.push(Word::Time(ticks).encode());
                        }
                        words.push(
                            if n % 2 == 0 { Word::Enter(ids - n / 2 % 2) } else { Word::Leave }.encode(),
                        );
                    }
                    let file = trace(|writer| writer.block(5, &block(9, &words)).expect("a block"));
                    assert!(
                        crate::common::events(&file) == reference(9, &words),
                        "ids {ids}, ticks {ticks}, {length} events, a time every {every}"
                    );
                }
            }
        }
    }
}

/// One word that is almost like its neighbours, at every place of a group that is handled at once.
#[test]
fn one_odd_word_among_many_is_seen() {
    let odd_words = [
        0x8000_0001,
        0x8000_007d,
        0x8000_007f,
        0x8000_0080,
        0xffff_ffff,
        0xffff_fffe,
        126,
        127,
        128,
        0x100,
        1 << 29,
    ];
    let odd_times = [0x4000_0080, 0x4000_0100, 0x4001_0000, 0x6000_0000];
    for place in 0..48 {
        for odd in odd_words.into_iter().chain(odd_times) {
            for timed in [true, false] {
                let mut words = crate::common::timed(3, &[Some(1), None].repeat(24));
                words.retain(|word| timed || word >> 30 != 1);
                let at = if odd >> 30 == 1 && timed { place / 2 * 2 } else { place };
                words[at] = odd;
                let file = trace(|writer| writer.block(5, &block(9, &words)).expect("a block"));
                assert!(
                    crate::common::events(&file) == reference(9, &words),
                    "{odd:#x} at {at}, timed: {timed}"
                );
            }
        }
    }
}

#[test]
fn a_trace_reads_as_it_was_written() {
    let file = full_trace();
    assert_eq!(TraceReader::new(&file[..]).expect("a trace").header(), &full_header());
    let text = text(&file);
    let (small, long) = text.split_once("lane 1,").expect("the block of recorder 1");
    assert_eq!(
        small,
        "\
symbols \"a symbol table\"
lane 0, depth 0, from 1000000
  1000040 enter 1
  1000080 enter 2
  1000120 leave
Stall { kind: Ticker, recorder: None, start_ticks: 1000100, nanos: 60000 }
recorder 0, stack 0: children of 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 \"b=2\"
lane 0, depth 0, from 1002000
  1002000 lost 3
  1002030 leave
"
    );
    let (long, sampled) = long.split_once("spans of lane 2").expect("what a sampler saw");
    assert_eq!(long.lines().count(), 61);
    assert!(long.ends_with("  1001975 enter 7\n  1002000 leave\n"), "{long}");
    assert!(sampled.starts_with(", depth 0, from 1000600\n  1002600 enter 4\n  1004600 leave\nWindow {"));
    assert!(sampled.ends_with("end: exit 3\n"), "{sampled}");
}

#[test]
fn words_that_are_no_calls_keep_their_places_and_times() {
    let words = [
        Word::Enter(4),
        Word::WideTime,
        Word::Enter(7), // low half
        Word::Enter(1), // high half
        Word::Enter(5),
        Word::Unwind { depth: 1, reason: Reason::Caught },
        Word::Time(3),
        Word::Mark(77),
        Word::Time(2),
        Word::Time(2),
        Word::Unwind { depth: 0, reason: Reason::Exit },
        Word::Time(1000),
    ];
    let words = words.map(Word::encode);
    let header = BlockHeader { stack: 2, depth: 0, start_ticks: 10 };
    let file = trace(|writer| writer.block(3, &block_at(header, &words)).expect("a block"));
    assert_eq!(
        text(&file),
        "\
lane 3.2, depth 0, from 10
  10 enter 4
  4294967313 enter 5
  4294967313 unwind to 1: unwound
  4294967316 mark 77
  4294967320 unwind to 0: exit
end: completed
"
    );
}

#[test]
fn switches_split_a_block_into_batches_with_their_depths() {
    let mut words = timed(1, &[Some(1), Some(2)]);
    words.push(Word::Switch(3).encode());
    words.extend(timed(1, &[Some(4)]));
    words.push(Word::Switch(0).encode());
    words.extend(timed(1, &[None, Some(6)]));
    let (first, second) = (block(0, &words), [Word::Switch(3).encode(), Word::Leave.encode()]);
    let second = block_at(BlockHeader { stack: 0, depth: 2, start_ticks: 5 }, &second);
    let file = trace(|writer| {
        writer.block(0, &first).expect("a block");
        writer.block(0, &second).expect("a block");
    });
    assert_eq!(
        text(&file),
        "\
lane 0, depth 0, from 0
  1 enter 1
  2 enter 2
lane 0.3, depth 0, from 2
  3 enter 4
lane 0, depth 2, from 3
  4 leave
  5 enter 6
lane 0.3, depth 1, from 5
  5 leave
end: completed
"
    );
}

/// Counts the calls of `write`.
#[derive(Default)]
struct Pieces(Vec<Vec<u8>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_others_execute_is_not_a_suspended_stacks() {
    // 0 executes 2, 3 executes 1, 0 executes 5, 3 executes 1 in one block and 40 in the next, 0 executes 7.
    let mut words = timed(1, &[Some(1), Some(2)]);
    words.push(Word::Switch(3).encode());
    words.extend(timed(1, &[Some(4)]));
    words.push(Word::Switch(0).encode());
    words.extend(timed(5, &[None]));
    words.push(Word::Switch(3).encode());
    words.extend(timed(1, &[Some(5)]));
    let first = block(0, &words);
    let mut words = timed(40, &[None]);
    words.push(Word::Switch(0).encode());
    words.extend(timed(7, &[None]));
    let second = block_at(BlockHeader { stack: 3, depth: 2, start_ticks: 9 }, &words);
    let clock = ClockInfo { kind: ClockKind::Instructions, ..ClockInfo::default() };
    let file = trace_with(&Header { clock, ..Header::default() }, |writer| {
        writer.block(0, &first).expect("a block");
        writer.block(0, &second).expect("a block");
    });
    assert_eq!(
        text(&file),
        "\
lane 0, depth 0, from 0
  1 enter 1
  2 enter 2
lane 0.3, depth 0, from 2
  3 enter 4
lane 0, depth 2, from 2
  7 leave
lane 0.3, depth 1, from 3
  4 enter 5
lane 0.3, depth 2, from 4
  44 leave
lane 0, depth 1, from 7
  14 leave
end: completed
"
    );
}

#[test]
fn every_chunk_is_written_at_once_and_counted() {
    let mut writer = TraceWriter::new(Pieces::default(), &Header::default()).expect("a writer");
    writer.symbols(b"table").expect("symbols");
    writer.block(0, &block(0, &timed(1, &[Some(1), None]))).expect("a block");
    writer.block(0, &block(0, &[])).expect("a block without words, which adds nothing");
    let written = writer.written();
    assert_eq!((written.events, written.blocks), (2, 1));
    let pieces = writer.finish(&Summary::default()).expect("an end").0;
    let kinds: Vec<_> = pieces[1..].iter().map(|piece| piece[4..8].escape_ascii().to_string()).collect();
    assert_eq!(kinds, ["HEAD", "SYMS", "EVTS", "ENDT"]);
    assert!(pieces[1..].iter().all(|piece| piece.starts_with(b"\xf5kpf")));
    let before_end: usize = pieces[..4].iter().map(Vec::len).sum();
    assert_eq!(written.bytes, before_end as u64);
}

#[test]
fn what_is_no_block_is_refused_and_leaves_no_trace() {
    let file = trace(|writer| {
        for length in [0, 15, 17, 18, 19, (4 << 20) + 4] {
            let error = writer.block(0, &vec![0; length]).expect_err("no block");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
        }
        writer.block(0, &block(0, &[Word::Mark(1).encode()])).expect("a block");
    });
    assert_eq!(text(&file), "lane 0, depth 0, from 0\n  0 mark 1\nend: completed\n");
}
