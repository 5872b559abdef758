//! Takes a raw block apart into columns.
//!
//! Almost every word of a real block is an enter of a small id, a leave, or a short time. Those are handled eight or
//! sixteen at a time, in loops that compile to vector code; the first word that is something else sends its whole group
//! down the slow path.
//!
//! A leaf makes two entries, those of an enter and a leave. Where blocks are so long that these would be too many, it stays a
//! word among the others.

use crate::columns::{Columns, MAX_BLOCK, Times};
use kperf_abi::block::BlockHeader;
use kperf_abi::word::{LEAF, LEAVE, MAX_FUNC_ID, TIME, WIDE_TIME, Word};

/// How many events (enters, leaves, unwinds, marks) a raw block holds. What a host counts as dropped when a block can't
/// be written.
pub fn count_events(raw_block: &[u8]) -> u64 {
    let Some((_, words)) = BlockHeader::split(raw_block) else { return 0 };
    let mut words = words.as_chunks::<4>().0.iter();
    let mut events = 0;
    while let Some(&word) = words.next() {
        match Word::decode(u32::from_le_bytes(word)) {
            Some(Word::WideTime) => {
                words.nth(1);
            }
            Some(word) => events += events_of(word),
            None => {}
        }
    }
    events
}

/// How many of a block's words are looked at to choose the form of its times.
const SAMPLE: usize = 1024;

/// Of how many of the events that summaries count a word tells.
fn events_of(word: Word) -> u64 {
    match word {
        Word::Enter(_) | Word::Leave | Word::Unwind { .. } | Word::Mark(_) => 1,
        Word::Leaf(_) => 2,
        Word::Time(_) | Word::WideTime | Word::Switch(_) => 0,
    }
}

/// So many words, if all of them are leaves, make as many entries as a block can have.
const MAX_LEAVES: usize = MAX_BLOCK / 8;

impl Columns {
    /// Takes the words of a block apart. Answers how many events they hold, as [`count_events`] counts them.
    pub(crate) fn encode(&mut self, words: &[[u8; 4]]) -> u64 {
        self.clear();
        // The clock is the same for the whole block, so its beginning tells. A sparse pair takes about twice the bytes of
        // a dense difference, but that is there for every event.
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

    /// Every event behind its time, as the precise clock gives them.
    fn encode_dense(&mut self, slow: &mut Slow<'_>) {
        self.ids.reserve(slow.words.len());
        self.times.reserve(slow.words.len());
        let (mut slow_ids, mut slow_times) = (Numbers::<IDS_LEN>::new(), Numbers::<TIMES_LEN>::new());
        while !slow.words.is_empty() {
            while let Some((group, rest)) = slow.words.split_first_chunk::<GROUP>()
                && let Some((ids, times)) = pack_pairs(group)
            {
                self.ids.extend_from_slice(&ids);
                self.times.extend_from_slice(&times);
                self.count += 8;
                slow.words = rest;
            }
            // As much as a group, and on to the end of an event: there the next group can begin.
            let target = slow.words.len().saturating_sub(GROUP);
            while slow.is_before(target)
                && let Some(id) = slow.next(&mut self.others)
            {
                slow_ids.push(id);
                slow_times.push(slow.take_pending());
                self.count += 1;
            }
            slow_ids.drain_to(&mut self.ids);
            slow_times.drain_to(&mut self.times);
        }
    }

    /// Many events between two times, as the ticker gives them.
    fn encode_sparse(&mut self, slow: &mut Slow<'_>) {
        self.ids.reserve(slow.words.len());
        let (mut slow_ids, mut slow_times) = (Numbers::<IDS_LEN>::new(), Numbers::<TIMES_LEN>::new());
        // Of the group before: it tells what to try first.
        let (mut timed, mut has_leaves) = (0, false);
        while !slow.words.is_empty() {
            while let Some((group, rest)) = slow.words.split_first_chunk::<GROUP>() {
                if !has_leaves && let Some(ids) = pack_events(group) {
                    self.ids.extend_from_slice(&ids);
                    self.count += GROUP as u32;
                } else if slow.splits_leaves
                    && let Some((ids, count)) = pack_leaves(group)
                {
                    // A copy of known length is one of registers.
                    let end = self.ids.len() + count;
                    self.ids.extend_from_slice(&ids);
                    self.ids.truncate(end);
                    self.count += count as u32;
                    has_leaves = count > GROUP;
                } else {
                    break;
                }
                slow.words = rest;
            }
            let target = slow.words.len().saturating_sub(GROUP);
            while slow.is_before(target)
                && let Some(id) = slow.next(&mut self.others)
            {
                if slow.pending != 0 {
                    slow_times.push(u64::from(self.count - timed));
                    slow_times.push(slow.take_pending());
                    timed = self.count;
                }
                slow_ids.push(id);
                self.count += 1;
            }
            slow_ids.drain_to(&mut self.ids);
            slow_times.drain_to(&mut self.times);
        }
    }
}

/// Eight times of seven bits, each before an enter of a small id or a leave; `None` if any is something else.
///
/// A time and its event are one u64 here, and four of them fold into one: first the bytes, then what they mean.
#[inline(always)]
fn pack_pairs(words: &[[u8; 4]; GROUP]) -> Option<([u8; 8], [u8; 8])> {
    const SMALL: u64 = 0x7f;
    let pairs: &[[u8; 8]] = words.as_flattened().as_chunks().0;
    let (mut odd, mut folded) = (0, [0u64; 2]);
    for (n, &pair) in pairs.iter().enumerate() {
        let pair = u64::from_le_bytes(pair) ^ u64::from(TIME);
        odd |= pair & !(SMALL | SMALL << 32 | u64::from(LEAVE) << 32);
        // The leave's bit moves down to its byte.
        folded[n / 4] |= (pair & (SMALL | SMALL << 32) | pair >> 24 & 0x80 << 32) << (8 * (n % 4));
    }
    let [first, second] = folded;
    let events = first >> 32 | second & 0xffff_ffff << 32;
    let (small, leaves) = (events & (SMALL * ONES), events >> 7 & ONES);
    let ids = small + 2 * (ONES - leaves);
    odd |= ids & (0x80 * ONES) | small & (SMALL * leaves);
    let times = first & 0xffff_ffff | second << 32;
    (odd == 0).then_some((ids.to_le_bytes(), times.to_le_bytes()))
}

/// A byte 1 in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Sixteen words, each an enter of a small id or a leave; `None` if any is something else.
#[inline]
fn pack_events(words: &[[u8; 4]; GROUP]) -> Option<[u8; GROUP]> {
    let (mut ids, mut odd) = ([0; GROUP], 0);
    for n in 0..GROUP {
        ids[n] = small_id(u32::from_le_bytes(words[n]), &mut odd);
    }
    (odd == 0).then_some(ids)
}

/// Sixteen words, each an enter or a leaf of a small id, or a leave, and how many entries they make; `None` if any is
/// something else.
#[inline]
fn pack_leaves(words: &[[u8; 4]; GROUP]) -> Option<([u8; 2 * GROUP], usize)> {
    let (mut ids, mut count, mut odd) = ([0; 2 * GROUP], 0, 0);
    for &word in words {
        let word = u32::from_le_bytes(word);
        // A leaf has one more than its id already.
        let is_leaf = word > LEAVE;
        let id = if word < LEAVE { word.wrapping_add(2) } else { (word & !LEAVE) + u32::from(is_leaf) };
        odd |= id & !0x7f | word & !(LEAVE | 0x7f);
        ids[count] = id as u8;
        // The leave's 0 stands there already, or is written over.
        count += 1 + usize::from(is_leaf);
    }
    (odd == 0).then_some((ids, count))
}

/// The entry of the `ids` column for an enter below 126 or a leave. Any other word leaves a bit in `odd`.
#[inline(always)]
fn small_id(word: u32, odd: &mut u32) -> u8 {
    let id = if word == LEAVE { 0 } else { word.wrapping_add(2) };
    *odd |= id & !0x7f | word & !(LEAVE | 0x7f);
    id as u8
}

/// The path on which any word may come.
#[derive(Default)]
struct Slow<'a> {
    words: &'a [[u8; 4]],
    /// Ticks since the last entry.
    pending: u64,
    /// Whether a leaf makes two entries, and whether its second is the next.
    splits_leaves: bool,
    leaves: bool,
    /// How many entries stand for one of the other words, and how many events those are.
    other_entries: u64,
    other_events: u64,
}

impl Slow<'_> {
    fn take_pending(&mut self) -> u64 {
        std::mem::take(&mut self.pending)
    }

    /// Whether there are more words than so many, or half of one.
    fn is_before(&self, target: usize) -> bool {
        self.leaves || self.words.len() > target
    }

    /// The next entry of the `ids` column; times on the way are added to `pending`. `None` at the end. Times behind the
    /// last entry say nothing that the next block's header doesn't, and are left out.
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
                        // A wide time that is cut off is kept, so that a reader can say so, without what is left of it.
                        if word == WIDE_TIME {
                            self.words = &[];
                        }
                        self.other_entries += 1;
                        self.other_events += Word::decode(word).map_or(0, events_of);
                        others.extend_from_slice(&bytes);
                        return Some(1);
                    }
                },
            }
        }
    }
}

/// So many words are looked at together.
const GROUP: usize = 16;
/// Room for the entries of a group, of five bytes at most and one for what a leaf has behind it, and for their times, two
/// numbers of ten.
const IDS_LEN: usize = 6 * GROUP + 2;
const TIMES_LEN: usize = 20 * GROUP + 2;

/// A few LEB128 numbers, written without asking after each byte whether a vector must grow.
struct Numbers<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Numbers<N> {
    fn new() -> Self {
        Numbers { bytes: [0; N], len: 0 }
    }

    #[inline(always)]
    fn push(&mut self, mut value: u64) {
        let Some(place) = self.bytes.get_mut(self.len..).and_then(|rest| rest.first_chunk_mut::<2>()) else {
            return;
        };
        if value < 1 << 14 {
            // One byte or two, without a branch that would be mispredicted.
            let long = usize::from(value >= 0x80);
            *place = [value as u8 & 0x7f | (long as u8) << 7, (value >> 7) as u8];
            self.len += 1 + long;
            return;
        }
        for place in self.bytes.iter_mut().skip(self.len) {
            self.len += 1;
            *place = value as u8 & 0x7f;
            value >>= 7;
            if value == 0 {
                return;
            }
            *place |= 0x80;
        }
    }

    fn drain_to(&mut self, column: &mut Vec<u8>) {
        column.extend_from_slice(self.bytes.get(..self.len).unwrap_or_default());
        self.len = 0;
    }
}
