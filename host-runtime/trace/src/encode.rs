//! Sorts a raw block into columns.
//!
//! Almost every word of a real block is an enter, a leave, a leaf or a short time, and has an id of two bytes at most. Such words are
//! handled two at a time (`short.rs`). Any other word takes the slow path by itself.
//!
//! A leaf makes two entries, an enter and a leave. If a block would get too many entries, its leaves stay single words in `others`.

mod short;

use crate::columns::{Columns, MAX_BLOCK, Times};
use crate::encode::short::{Pen, take_calls, take_pairs};
use kperf_abi::block::BlockHeader;
use kperf_abi::word::{self, LEAF, LEAVE, MAX_FUNC_ID, Step, WIDE_TIME, Word};

/// How many events (enters, leaves, unwinds, marks) a raw block has. A host counts them as dropped if the block can't be
/// written.
pub fn count_events(raw_block: &[u8]) -> u64 {
    let Some((_, words)) = BlockHeader::split(raw_block) else { return 0 };
    let events = word::steps(words).map(|step| match step {
        Step::Word(word, _) => Word::decode(word).map_or(0, Word::events),
        Step::Passed(_) => 0,
    });
    events.sum()
}

/// How many of a block's words decide the form of its times.
const SAMPLE: usize = 1024;

/// The number of words that, if all are leaves, make as many entries as a block can have: a leaf makes two.
const MAX_LEAVES: usize = MAX_BLOCK / 8;

impl Columns {
    /// Sorts the words of a block. Returns how many events they have, as [`count_events`] counts them.
    pub(crate) fn encode(&mut self, words: &[[u8; 4]]) -> u64 {
        self.clear();
        // The whole block has one clock, so its beginning shows which form is smaller. A sparse pair takes about twice the
        // bytes of a dense difference, but every event has a dense difference.
        let sample = words.get(..SAMPLE).unwrap_or(words);
        let times = sample.iter().filter(|word| word[3] >> 6 == 1).count();
        self.form = if times > sample.len() / 3 { Times::Dense } else { Times::Sparse };
        let mut slow = Slow { words, splits_leaves: words.len() <= MAX_LEAVES, ..Slow::default() };
        match self.form {
            Times::Dense => self.encode_dense(&mut slow),
            Times::Sparse => self.encode_sparse(&mut slow),
        }
        u64::from(self.count) - slow.other_entries + slow.other_events
    }

    /// Every event after its time, as with the precise clock.
    fn encode_dense(&mut self, slow: &mut Slow<'_>) {
        let [ids, times] = &mut self.room;
        let mut ids = Pen::new(ids, IDS_A_WORD * slow.words.len());
        let mut times = Pen::new(times, TIMES_A_WORD * slow.words.len());
        while !slow.words.is_empty() {
            let taken = take_pairs(slow.words, &mut ids, &mut times);
            self.count += taken.entries;
            slow.words = slow.words.get(taken.words..).unwrap_or_default();
            if let Some(id) = slow.next(&mut self.others) {
                ids.leb(id);
                times.leb(slow.take_pending());
                self.count += 1;
                if std::mem::take(&mut slow.leaves) {
                    ids.leb(0);
                    times.leb(0);
                    self.count += 1;
                }
            }
        }
        self.ids.extend_from_slice(ids.written());
        self.times.extend_from_slice(times.written());
    }

    /// Many events between two times, as with the ticker.
    fn encode_sparse(&mut self, slow: &mut Slow<'_>) {
        let mut ids = Pen::new(&mut self.room[0], IDS_A_WORD * slow.words.len());
        // The position of the last time.
        let mut timed = 0;
        while !slow.words.is_empty() {
            let words = if slow.splits_leaves { slow.words } else { &[] };
            let taken = take_calls(words, &mut ids);
            self.count += taken.entries;
            slow.words = slow.words.get(taken.words..).unwrap_or_default();
            if let Some(id) = slow.next(&mut self.others) {
                if slow.pending != 0 {
                    push_leb(&mut self.times, u64::from(self.count - timed));
                    push_leb(&mut self.times, slow.take_pending());
                    timed = self.count;
                }
                ids.leb(id);
                self.count += 1;
                if std::mem::take(&mut slow.leaves) {
                    ids.leb(0);
                    self.count += 1;
                }
            }
        }
        self.ids.extend_from_slice(ids.written());
    }
}

/// Appends a number as LEB128.
fn push_leb(column: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        column.push(value as u8 | 0x80);
        value >>= 7;
    }
    column.push(value as u8);
}

/// The slow path, for any word.
#[derive(Default)]
struct Slow<'a> {
    words: &'a [[u8; 4]],
    /// Ticks since the last entry.
    pending: u64,
    /// Whether a leaf makes two entries, and whether the second one comes next.
    splits_leaves: bool,
    leaves: bool,
    /// The number of entries of other words, and of their events.
    other_entries: u64,
    other_events: u64,
}

impl Slow<'_> {
    fn take_pending(&mut self) -> u64 {
        std::mem::take(&mut self.pending)
    }

    /// The next entry of the `ids` column; adds times before it to `pending`. `None` at the end. Times after the
    /// last entry are left out, since the next block's header has them.
    #[inline]
    fn next(&mut self, others: &mut Vec<u8>) -> Option<u64> {
        if std::mem::take(&mut self.leaves) {
            return Some(0);
        }
        loop {
            let (&bytes, rest) = self.words.split_first()?;
            self.words = rest;
            let word = u32::from_le_bytes(bytes);
            match word >> 30 {
                0 => return Some(u64::from(word) + 2),
                1 => self.pending = self.pending.saturating_add(u64::from(word & MAX_FUNC_ID)),
                2 if word == LEAVE => return Some(0),
                2 if self.splits_leaves => {
                    self.leaves = true;
                    return Some(u64::from(word - LEAF) + 2);
                }
                _ => match rest {
                    [low, high, rest @ ..] if word == WIDE_TIME => {
                        self.words = rest;
                        let ticks =
                            u64::from(u32::from_le_bytes(*low)) | u64::from(u32::from_le_bytes(*high)) << 32;
                        self.pending = self.pending.saturating_add(ticks);
                    }
                    _ => {
                        // A wide time that is cut off is kept without its rest, so that a reader can report it.
                        if word == WIDE_TIME {
                            self.words = &[];
                        }
                        self.other_entries += 1;
                        self.other_events += Word::decode(word).map_or(0, Word::events);
                        others.extend_from_slice(&bytes);
                        return Some(1);
                    }
                },
            }
        }
    }
}

/// The maximum number of bytes of a word in each column: an id has at most five, a time ten, and a leaf's leave adds a 0 to
/// each.
const IDS_A_WORD: usize = 6;
const TIMES_A_WORD: usize = 11;

#[cfg(test)]
mod tests {
    use super::*;
    use kperf_abi::word::TIME;

    /// The columns of words, made one entry after the other.
    fn simply(words: &[u32], form: Times) -> Columns {
        let mut columns = Columns { form, ..Columns::default() };
        let (mut pending, mut timed) = (0, 0);
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let entries = match Word::decode(word) {
                Some(Word::Time(ticks)) => {
                    pending += u64::from(ticks);
                    continue;
                }
                Some(Word::WideTime) => {
                    let halves = [words.next(), words.next()].map(Option::unwrap_or_default);
                    pending += u64::from(halves[0]) | u64::from(halves[1]) << 32;
                    continue;
                }
                Some(Word::Enter(id)) => vec![u64::from(id) + 2],
                Some(Word::Leave) => vec![0],
                Some(Word::Leaf(id)) => vec![u64::from(id) + 2, 0],
                _ => {
                    columns.others.extend(word.to_le_bytes());
                    vec![1]
                }
            };
            for id in entries {
                let ticks = std::mem::take(&mut pending);
                if form == Times::Dense {
                    push_leb(&mut columns.times, ticks);
                } else if ticks != 0 {
                    push_leb(&mut columns.times, u64::from(columns.count - timed));
                    push_leb(&mut columns.times, ticks);
                    timed = columns.count;
                }
                push_leb(&mut columns.ids, id);
                columns.count += 1;
            }
        }
        columns
    }

    #[test]
    fn columns_are_those_of_one_entry_after_the_other() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let edges = [0, 125, 126, 127, 16_381, 16_382, 16_383, 1 << 21, MAX_FUNC_ID - 2];
        let mut seen = [0; 2];
        for round in 0..2_000 {
            // Few functions, many, or all; events with a time each, or few times.
            let ids = [100, 200, 20_000, u64::from(MAX_FUNC_ID) - 2][round % 4];
            let timed = [2, 3, 300][round / 4 % 3];
            let mut words = Vec::new();
            for _ in 0..random(300) {
                if random(timed) < 1 || timed == 2 {
                    let most = [200, 1 << 14, 1 << 30][random(3) as usize];
                    words.push(TIME | random(most) as u32);
                }
                let id = if random(50) == 0 { edges[random(9) as usize] } else { random(ids) as u32 };
                match random(20) {
                    0..8 => words.push(id),
                    8..15 => words.push(LEAVE),
                    15..18 => words.push(LEAF + id),
                    18 => words.extend([WIDE_TIME, random(1 << 31) as u32, random(9) as u32]),
                    _ => {
                        words.push([Word::Mark(id & 0xff).encode(), u32::MAX - id, !TIME][random(3) as usize])
                    }
                }
            }
            let bytes: Vec<_> = words.iter().map(|word| word.to_le_bytes()).collect();
            let mut columns = Columns::default();
            columns.encode(&bytes);
            let expected = simply(&words, columns.form);
            seen[columns.form as usize] += 1;
            assert_eq!(columns.count, expected.count, "{words:x?}");
            assert_eq!(columns.ids, expected.ids, "{words:x?}");
            assert_eq!(columns.times, expected.times, "{words:x?}");
            assert_eq!(columns.others, expected.others, "{words:x?}");
        }
        assert!(seen.iter().all(|&rounds| rounds > 300), "{seen:?}");
    }
}
