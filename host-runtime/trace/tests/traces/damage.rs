//! Whatever the bytes are: a trace and a list of anomalies, or an error, and never a panic.

use crate::common::{Random, block, chunk, full_trace, random_words, text, timed, trace, window};
use kperf_trace::{AnomalyKind, ErrorKind, Event, Item, LaneId, TimedEvent, TraceReader, Window};

/// Everything a reader makes of bytes, read to the end. `None` where they are no trace.
struct Outcome {
    events: Vec<(LaneId, TimedEvent)>,
    windows: Vec<Window>,
    anomalies: Vec<AnomalyKind>,
    ended: bool,
}

fn outcome(bytes: &[u8]) -> Option<Outcome> {
    let mut reader = TraceReader::new(bytes).ok()?;
    let (mut events, mut windows, mut ended) = (Vec::new(), Vec::new(), false);
    while let Some(item) = reader.next().expect("reading from memory") {
        match item {
            Item::Events(batch) | Item::Spans(batch) => {
                assert!(!batch.events.is_empty());
                assert!(batch.events.is_sorted_by_key(|event| event.ticks));
                let lost = |event: &TimedEvent| matches!(event.event, Event::Lost { .. });
                assert!(!batch.events[1..].iter().any(lost), "a loss stands in front");
                events.extend(batch.events.iter().map(|event| (batch.lane, *event)));
            }
            Item::End(_) => ended = true,
            Item::Window(window) => windows.push(window.clone()),
            Item::Symbols(_) | Item::Stall(_) | Item::Parent(_) | Item::Anchor(_) => {}
        }
    }
    assert!(matches!(reader.next(), Ok(None)), "the end stays the end");
    let anomalies = reader.anomalies().iter().map(|anomaly| anomaly.kind.clone()).collect();
    reader.anomalies().iter().for_each(|anomaly| assert!(!anomaly.to_string().is_empty()));
    Some(Outcome { events, windows, anomalies, ended })
}

/// The events without the losses.
fn real(events: &[(LaneId, TimedEvent)]) -> Vec<(LaneId, TimedEvent)> {
    events.iter().filter(|(_, timed)| !matches!(timed.event, Event::Lost { .. })).copied().collect()
}

fn is_subsequence<T: PartialEq>(part: &[T], whole: &[T]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|item| whole.any(|other| other == item))
}

#[test]
fn truncation_at_every_byte_leaves_the_chunks_before_it() {
    let file = full_trace();
    let whole = real(&outcome(&file).expect("a trace").events);
    let mut counts = Vec::new();
    for length in 0..file.len() {
        let Some(outcome) = outcome(&file[..length]) else {
            assert!(length < 8, "only without its first bytes it is no trace");
            continue;
        };
        let events = real(&outcome.events);
        assert!(whole.starts_with(&events), "cut at {length}");
        assert!(!outcome.ended && outcome.anomalies.contains(&AnomalyKind::NoEnd), "cut at {length}");
        if counts.last() != Some(&events.len()) {
            counts.push(events.len());
        }
    }
    assert_eq!(counts, [0, 3, 4, 64, 66], "whole blocks come back, one after the other");
}

#[test]
fn a_flipped_bit_costs_one_chunk_and_is_noticed() {
    /// Make the versions 1.0 and 1.5 of 1.4.
    const MINOR_VERSION: [usize; 2] = [7 * 8 + 2, 7 * 8];
    let file = full_trace();
    let whole = real(&outcome(&file).expect("a trace").events);
    for bit in 0..file.len() * 8 {
        let mut bytes = file.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let Some(outcome) = outcome(&bytes) else {
            assert!(bit < 8 * 8);
            continue;
        };
        if MINOR_VERSION.contains(&bit) {
            // Nothing else differs.
            assert!(outcome.anomalies.is_empty() && real(&outcome.events) == whole);
            continue;
        }
        assert!(!outcome.anomalies.is_empty(), "bit {bit}");
        assert!(is_subsequence(&real(&outcome.events), &whole), "bit {bit}");
        assert!(outcome.events.len() >= 6, "bit {bit}: at most the longest block is gone");
        assert!(outcome.windows == [window(2)] || outcome.windows.is_empty(), "bit {bit}");
    }
}

#[test]
fn a_byte_missing_or_too_many_costs_one_chunk() {
    let file = full_trace();
    let whole = real(&outcome(&file).expect("a trace").events);
    for at in 8..file.len() {
        let mut missing = file.clone();
        missing.remove(at);
        let mut added = file.clone();
        added.insert(at, 0xf5);
        for bytes in [missing, added] {
            let outcome = outcome(&bytes).expect("a trace");
            assert!(!outcome.anomalies.is_empty(), "byte {at}");
            assert!(is_subsequence(&real(&outcome.events), &whole), "byte {at}");
            assert!(outcome.events.len() >= 6, "byte {at}");
            assert!(outcome.windows == [window(2)] || outcome.windows.is_empty(), "byte {at}");
        }
    }
}

/// Chunks with the right checksums and anything for a payload get as far as the decoders.
#[test]
fn whole_chunks_of_nonsense_are_anomalies() {
    let (mut malformed, mut windows) = (0, 0);
    for seed in 0..5_000 {
        let mut random = Random(seed);
        let mut payload = Vec::new();
        let kind = [b"EVTS", b"SPAN", b"PROF", b"HEAD", b"STAL", b"LOST", b"PRNT", b"ENDT", b"SYMS", b"WHAT"]
            [random.below(10) as usize];
        if random.below(4) == 0 {
            payload.extend((0..random.below(100)).map(|_| random.below(256) as u8));
        } else {
            // A real one, with a few bytes changed.
            let words = random_words(&mut random, 60);
            let file = trace(|writer| match kind {
                b"PROF" => writer.window(&window(0)).expect("a window"),
                _ => writer.block(0, &block(7, &words)).expect("a block"),
            });
            let named: &[u8] = if kind == b"PROF" { b"PROF" } else { b"EVTS" };
            let start = file.windows(4).position(|bytes| bytes == named).expect("a chunk") + 24;
            let end = file.windows(4).rposition(|bytes| bytes == b"\xf5kpf").expect("an end");
            payload.extend(&file[start..end]);
            for _ in 0..random.below(4) {
                let at = random.below(payload.len().min(60) as u64) as usize;
                payload[at] = [0, 1, 2, 0x7f, 0x80, 0xff][random.below(6) as usize];
            }
            payload.truncate(payload.len() - [0, 0, 0, 1, 9][random.below(5) as usize]);
        }
        let mut bytes = b"KPERF\0\x01\0".to_vec();
        bytes.extend(chunk(b"HEAD", 0, 0, b"{}"));
        bytes.extend(chunk(kind, 0, 0, &payload));
        let outcome = outcome(&bytes).expect("a trace");
        malformed +=
            usize::from(outcome.anomalies.iter().any(|kind| matches!(kind, AnomalyKind::Malformed { .. })));
        windows += outcome.windows.len();
    }
    assert!(windows > 50, "{windows} windows of nonsense were read");
    assert!((1_000..4_800).contains(&malformed), "{malformed} of 5000: nonsense of the interesting kind");
}

#[test]
fn bytes_mixed_up_never_panic() {
    let file = full_trace();
    for seed in 0..5_000 {
        let mut random = Random(seed);
        let mut bytes = file[..8].to_vec();
        while bytes.len() < 2000 && random.below(12) != 0 {
            let start = random.below(file.len() as u64) as usize;
            let length = random.below(300) as usize;
            bytes.extend(file[start..].iter().take(length));
            bytes.extend((0..random.below(20)).map(|_| random.below(256) as u8));
        }
        outcome(&bytes).expect("its first bytes are right");
    }
}

#[test]
fn a_chunk_that_claims_a_lot_costs_what_is_there() {
    // A header whose own checksum is good says that 128 MiB follow, as many as may. Then whole chunks come.
    let file = full_trace();
    let mut bytes = file[..8].to_vec();
    let mut liar = b"\xf5kpfSYMS\0\0\0\0\0\0\0\0\0\0\0\x08\0\0\0\0".to_vec();
    liar.extend(crc32fast::hash(&liar).to_le_bytes());
    bytes.extend(liar);
    bytes.extend(&file[8..]);
    let outcome = outcome(&bytes).expect("a trace");
    assert!(outcome.ended);
    assert_eq!(outcome.anomalies[0], AnomalyKind::Truncated);
}

#[test]
fn damaged_chunks_inside_damaged_chunks_take_no_time() {
    // 10,000 headers, each of which claims all that follows: to check each would be hours.
    let count = 10_000u32;
    let mut bytes = b"KPERF\0\x01\0".to_vec();
    for n in 0..count {
        let mut header = b"\xf5kpfSYMS\0\0\0\0\0\0\0\0".to_vec();
        header.extend(((count - 1 - n) * 28).to_le_bytes());
        header.extend([1; 4]);
        header.extend(crc32fast::hash(&header).to_le_bytes());
        bytes.extend(header);
    }
    let outcome = outcome(&bytes).expect("a trace");
    assert!(outcome.anomalies.len() < 100, "{}", outcome.anomalies.len());
}

#[test]
fn a_long_list_of_anomalies_is_cut_with_its_number() {
    let mut bytes = b"KPERF\0\x01\0".to_vec();
    (0..5000).for_each(|_| bytes.extend(chunk(b"WHAT", 0, 0, b"")));
    let anomalies = outcome(&bytes).expect("a trace").anomalies;
    assert_eq!(anomalies.len(), 1001);
    // 5,000 chunks, that there is no header, and no end.
    assert_eq!(anomalies.last(), Some(&AnomalyKind::More { count: 4002 }));
}

#[test]
fn what_is_no_trace_is_an_error_that_says_what_it_is() {
    let error = |bytes: &[u8]| TraceReader::new(bytes).err().expect("no trace");
    assert_eq!(error(b"").to_string(), "not a kperf trace: it is empty");
    assert_eq!(
        error(b"\0asm\x01\0\0\0..").to_string(),
        "not a kperf trace: it is a WebAssembly module; `kperf-wasm run` records one"
    );
    assert_eq!(
        error(b"\x7fELF\x02\x01\x01\0..").to_string(),
        r#"not a kperf trace: it begins with "\x7fELF\x02\x01\x01\x00" (at offset 0x0)"#
    );
    assert!(matches!(error(b"KPERF\0\x01").kind(), ErrorKind::NotATrace { found } if found.len() == 7));
    assert_eq!(
        error(b"KPERF\0\x02\x01").to_string(),
        "the trace has format version 2.1, this reader knows version 1.5 (at offset 0x6)"
    );
}

#[test]
fn joined_files_are_read_to_the_first_end() {
    let file = trace(|writer| writer.block(0, &block(0, &timed(1, &[Some(1)]))).expect("a block"));
    let joined = [&file[..], &file[..]].concat();
    let end = file.len();
    assert_eq!(
        text(&joined),
        format!(
            "lane 0, depth 0, from 0\n  1 enter 1\nend: completed\n! bytes after the end chunk, ignored (at offset {end:#x})\n"
        )
    );
}
