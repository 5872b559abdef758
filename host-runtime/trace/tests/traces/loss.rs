//! Loss is an event: where chunks are missing, where the writer says so, and at the end.

use crate::common::{block_at, text, timed, trace};
use kperf_trace::block::BlockHeader;
use kperf_trace::word::{Reason, Word};
use kperf_trace::{Header, Summary, TraceReader, TraceWriter};
use std::io::{self, Write};

fn at(depth: u32, start_ticks: u64, words: &[u32]) -> Vec<u8> {
    block_at(BlockHeader { stack: 0, depth, start_ticks }, words)
}

/// The places of a trace's chunks.
fn chunks(file: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut starts: Vec<_> =
        file.windows(4).enumerate().filter(|(_, bytes)| bytes == b"\xf5kpf").map(|(at, _)| at).collect();
    starts.push(file.len());
    starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

fn three_blocks() -> Vec<u8> {
    trace(|writer| {
        writer.block(0, &at(0, 0, &timed(1, &[Some(1), Some(2)]))).expect("a block");
        writer.block(7, &at(0, 5, &timed(1, &[Some(9), None]))).expect("a block");
        writer.block(0, &at(2, 2, &timed(1, &[Some(3)]))).expect("a block");
        writer.block(0, &at(3, 3, &timed(1, &[None, None]))).expect("a block");
    })
}

#[test]
fn a_missing_chunk_is_a_gap_of_its_recorder_only() {
    let mut file = three_blocks();
    file.drain(chunks(&file)[3].clone());
    assert_eq!(
        text(&file),
        "\
lane 0, depth 0, from 0
  1 enter 1
  2 enter 2
lane 7, depth 0, from 5
  6 enter 9
  7 leave
lane 0, depth 3, from 3
  3 lost
  4 leave
  5 leave
end: completed
! recorder 0: chunk 1 is missing (at offset 0x195)
"
    );
}

#[test]
fn a_damaged_chunk_is_a_loss_and_one_anomaly() {
    let mut file = three_blocks();
    let damaged = chunks(&file)[3].clone();
    file[damaged.start + 40] ^= 1;
    let text = text(&file);
    let after = text.split_once("lane 0, depth 3, ").expect("the last block").1;
    assert_eq!(
        after,
        format!(
            "\
from 3
  3 lost
  4 leave
  5 leave
end: completed
! EVTS chunk of recorder 0 with a bad checksum, ignored (at offset {:#x})
",
            damaged.start
        )
    );
}

#[test]
fn chunks_that_come_twice_are_told() {
    let mut file = three_blocks();
    let again = file[chunks(&file)[2].clone()].to_vec();
    let end = chunks(&file)[5].start;
    file.splice(end..end, again);
    let text = text(&file);
    let after = text.split_once("  5 leave\n").expect("the last block").1;
    assert_eq!(
        after,
        format!(
            "\
lane 7, depth 0, from 5
  5 lost
  6 enter 9
  7 leave
end: completed
! recorder 7: chunk 0 where 1 should be (at offset {end:#x})
"
        )
    );
}

/// Takes so many writes, fails so many, and takes the rest.
struct Full {
    file: Vec<u8>,
    good: u32,
    bad: u32,
    /// How many bytes of a failed write it takes.
    fits: usize,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.good > 0 {
            self.good -= 1;
        } else if self.bad > 0 {
            self.bad -= 1;
            self.file.extend(&bytes[..self.fits]);
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A trace whose third block isn't written; then what `then` writes, and a fourth.
fn full_disk(fits: usize, then: impl FnOnce(&mut TraceWriter<Full>)) -> String {
    let full = Full { file: Vec::new(), good: 4, bad: 1, fits };
    let mut writer = TraceWriter::new(full, &Header::default()).expect("a writer");
    writer.block(0, &at(0, 0, &timed(1, &[Some(1)]))).expect("a block");
    writer.block(0, &at(1, 1, &timed(1, &[Some(2)]))).expect("a block");
    let third = writer.block(0, &at(2, 2, &timed(1, &[Some(3), None, Some(4)])));
    assert_eq!(third.expect_err("full").kind(), io::ErrorKind::StorageFull);
    assert_eq!(writer.written().events, 2);
    then(&mut writer);
    writer.block(0, &at(3, 5, &timed(1, &[None]))).expect("a block");
    text(&writer.finish(&Summary::default()).expect("an end").file)
}

#[test]
fn a_full_disk_costs_what_was_not_written() {
    let after = |text: String| text.split_once("lane 0, depth 3, ").expect("the fourth block").1.to_owned();
    let lost = |writer: &mut TraceWriter<Full>| writer.lost(0, 3).expect("a chunk");
    assert_eq!(
        after(full_disk(0, |_| {})),
        "from 5\n  5 lost\n  6 leave\nend: \n! recorder 0: chunk 2 is missing (at offset 0x191)\n"
    );
    assert_eq!(after(full_disk(0, lost)), "from 5\n  5 lost 3\n  6 leave\nend: \n");
    assert_eq!(
        after(full_disk(20, lost)),
        "from 5\n  5 lost 3\n  6 leave\nend: \n! 20 bytes that are not a chunk, skipped (at offset 0x191)\n"
    );
    // Half a chunk looks like a damaged one, about which the writer's number says nothing.
    assert_eq!(
        after(full_disk(40, lost)),
        "from 5\n  5 lost\n  6 leave\nend: \n\
         ! EVTS chunk of recorder 0 with a bad checksum, ignored (at offset 0x191)\n\
         ! 40 bytes that are not a chunk, skipped (at offset 0x191)\n"
    );
}

#[test]
fn what_is_lost_at_the_end_is_an_event_too() {
    let file = trace(|writer| {
        writer.block(4, &at(0, 0, &timed(9, &[Some(1)]))).expect("a block");
        writer.lost(4, 1 << 40).expect("a chunk");
        writer.lost(2, 10).expect("a chunk");
        writer.lost(2, 5).expect("a chunk");
        writer.lost(3, 0).expect("a chunk that says nothing");
    });
    let lost = "\
lane 2, depth 0, from 0
  0 lost 15
lane 4, depth 0, from 9
  9 lost 4294967295
";
    assert_eq!(text(&file), format!("lane 4, depth 0, from 0\n  9 enter 1\n{lost}end: completed\n"));
    // The same without an end chunk.
    let cut = &file[..chunks(&file).last().expect("the end").start];
    let end = format!("! the recording was cut off: there is no end chunk (at offset {:#x})\n", cut.len());
    assert_eq!(text(cut), format!("lane 4, depth 0, from 0\n  9 enter 1\n{lost}{end}"));
}

#[test]
fn what_is_lost_at_an_unknown_time_is_no_earlier_than_the_rest() {
    let file = trace(|writer| {
        writer.block(4, &at(0, 7, &timed(9, &[Some(1)]))).expect("a block");
        writer.block(5, &at(0, 5, &timed(9, &[Some(1)]))).expect("a block");
        writer.lost(2, 10).expect("a chunk");
    });
    assert!(text(&file).contains("lane 2, depth 0, from 5\n  5 lost 10\n"), "{}", text(&file));
    // Where nothing else is known, the recording began at its anchor.
    let file = trace(|writer| writer.lost(2, 10).expect("a chunk"));
    let begun = TraceReader::new(&file[..]).expect("a trace").header().anchor.ticks;
    assert!(
        text(&file).contains(&format!("lane 2, depth 0, from {begun}\n  {begun} lost 10\n")),
        "{}",
        text(&file)
    );
}

#[test]
fn after_a_gap_other_stacks_are_as_deep_as_their_events_need() {
    let switch = |stack| Word::Switch(stack).encode();
    let words = |pieces: &[Vec<u32>]| pieces.concat();
    let unwind = Word::Unwind { depth: 4, reason: Reason::Caught }.encode();
    let file = trace(|writer| {
        let first =
            words(&[vec![switch(1)], timed(1, &[Some(10), Some(11)]), vec![switch(0)], timed(1, &[Some(1)])]);
        writer.block(0, &at(0, 0, &first)).expect("a block");
        writer.lost(0, 2).expect("a chunk");
        let second = words(&[
            timed(1, &[None]),
            vec![switch(1)],
            timed(1, &[None, Some(12), None, None]),
            vec![switch(2), switch(3), Word::Enter(5).encode(), unwind, Word::Leave.encode(), switch(1)],
            timed(1, &[Some(13)]),
        ]);
        writer.block(0, &at(6, 100, &second)).expect("a block");
    });
    assert_eq!(
        text(&file),
        "\
lane 0.1, depth 0, from 0
  1 enter 10
  2 enter 11
lane 0, depth 0, from 2
  3 enter 1
lane 0, depth 6, from 100
  100 lost 2
  101 leave
lane 0.1, depth 2, from 101
  101 lost
  102 leave
  103 enter 12
  104 leave
  105 leave
lane 0.3, depth 3, from 105
  105 lost
  105 enter 5
  105 unwind to 4: unwound
  105 leave
lane 0.1, depth 0, from 105
  106 enter 13
end: completed
"
    );
}

#[test]
fn words_that_nobody_writes_are_counted_and_skipped() {
    let words = [
        1,
        0xe000_0001,
        Word::Switch(768).encode(),
        0xffff_ffff,
        Word::Leave.encode(),
        Word::WideTime.encode(),
        2,
    ];
    let file = trace(|writer| writer.block(3, &at(0, 0, &words)).expect("a block"));
    let offset = chunks(&file)[1].start;
    assert_eq!(
        text(&file),
        format!(
            "lane 3, depth 0, from 0\n  0 enter 1\n  0 leave\nend: completed\n\
             ! recorder 3: 4 words that nobody writes, ignored, the first 0xe0000001 (at offset {offset:#x})\n"
        )
    );
}
