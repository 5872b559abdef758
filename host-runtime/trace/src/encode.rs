//! Takes a raw block apart into columns.
//!
//! Almost every word of a real block is an enter, a leave, a leaf or a short time. In small programs ids are below 126: sixteen such
//! words are handled at a time, in loops that compile to vector code. Ids of two bytes are handled one by one, without a branch
//! that depends on the word. The first word that is something else goes down the slow path, alone.
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
        // They say more of an event, or of time.
        Word::Record(_) | Word::RecordMore(_) | Word::Pause(_) => 0,
    }
}

/// A leaf makes two entries: so many leaf words make as many entries as a block can have.
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
        let mut ids = Pen::new(&mut self.ids, IDS_A_WORD * slow.words.len());
        let mut times = Pen::new(&mut self.times, TIMES_A_WORD * slow.words.len());
        // Whether the last pairs were all short: it tells what to try first.
        let mut are_short = true;
        while !slow.words.is_empty() {
            while are_short
                && let Some((group, rest)) = slow.words.split_first_chunk::<GROUP>()
                && let Some((group_ids, group_times)) = pack_pairs(group)
            {
                ids.put(&group_ids, GROUP / 2);
                times.put(&group_times, GROUP / 2);
                self.count += GROUP as u32 / 2;
                slow.words = rest;
            }
            let taken = take_pairs(slow.words, &mut ids, &mut times);
            self.count += taken.entries;
            are_short = taken.are_short;
            slow.words = slow.words.get(taken.words..).unwrap_or_default();
            if taken.words < GROUP
                && let Some(id) = slow.next(&mut self.others)
            {
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
        let (ids, times) = (ids.len, times.len);
        self.ids.truncate(ids);
        self.times.truncate(times);
    }

    /// Many events between two times, as the ticker gives them.
    fn encode_sparse(&mut self, slow: &mut Slow<'_>) {
        let mut ids = Pen::new(&mut self.ids, IDS_A_WORD * slow.words.len());
        // Where the last time stood, and whether the last words were all short.
        let (mut timed, mut are_short) = (0, true);
        while !slow.words.is_empty() {
            while are_short
                && let Some((group, rest)) = slow.words.split_first_chunk::<GROUP>()
                && let Some(group) = pack_events(group)
            {
                ids.put(&group, GROUP);
                self.count += GROUP as u32;
                slow.words = rest;
            }
            let words = if slow.splits_leaves { slow.words } else { &[] };
            let taken = take_calls(words, &mut ids);
            self.count += taken.entries;
            are_short = taken.are_short;
            slow.words = slow.words.get(taken.words..).unwrap_or_default();
            if taken.words < GROUP
                && let Some(id) = slow.next(&mut self.others)
            {
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
        let ids = ids.len;
        self.ids.truncate(ids);
    }
}

/// Takes the first [`GROUP`] words, up to one that is neither an enter nor a leave nor a leaf of an id of two bytes at most.
/// There is no branch that depends on which of these a word is: ids of real programs take one byte or two at random.
#[inline(always)]
fn take_calls(words: &[[u8; 4]], ids: &mut Pen<'_>) -> Taken {
    let (mut taken, mut leaves, mut len) = (0, 0, 0);
    if let Some(place) = ids.place() {
        for &word in words.iter().take(GROUP) {
            let Some(entry) = ShortEntry::of(u32::from_le_bytes(word)) else { break };
            // The 0 of a leaf's leave is the byte behind its enter.
            put(place, len, entry.bytes);
            len += entry.len + entry.is_leaf;
            leaves += entry.is_leaf;
            taken += 1;
        }
    }
    ids.len += len;
    Taken { words: taken, entries: (taken + leaves) as u32, are_short: len == taken }
}

/// The same for pairs of a time of two bytes at most and an enter or a leave.
#[inline(always)]
fn take_pairs(words: &[[u8; 4]], ids: &mut Pen<'_>, times: &mut Pen<'_>) -> Taken {
    let (mut taken, mut ids_len, mut times_len) = (0, 0, 0);
    if let (Some(id_place), Some(time_place)) = (ids.place(), times.place()) {
        for &[time, word] in words.as_chunks::<2>().0.iter().take(GROUP / 2) {
            let time = u32::from_le_bytes(time) ^ TIME;
            let Some(entry) = ShortEntry::of(u32::from_le_bytes(word)) else { break };
            if time >= SHORT || entry.is_leaf > 0 {
                break;
            }
            let (time, time_len) = leb(time);
            put(id_place, ids_len, entry.bytes);
            put(time_place, times_len, time);
            ids_len += entry.len;
            times_len += time_len;
            taken += 1;
        }
    }
    ids.len += ids_len;
    times.len += times_len;
    Taken { words: 2 * taken, entries: taken as u32, are_short: ids_len + times_len == 2 * taken }
}

/// What was taken of a group of words.
struct Taken {
    /// How many words; fewer than a group where one is something else.
    words: usize,
    /// How many entries they make.
    entries: u32,
    /// Whether each entry has one byte.
    are_short: bool,
}

/// Numbers below this have two bytes at most.
const SHORT: u32 = 1 << 14;

/// The entry of an enter, of a leave, or of the enter of a leaf.
struct ShortEntry {
    /// LEB128, the first byte lowest.
    bytes: u32,
    len: usize,
    /// 1 if a leave's entry follows.
    is_leaf: usize,
}

impl ShortEntry {
    /// `None` for another word, and for an id of more than two bytes.
    #[inline(always)]
    fn of(word: u32) -> Option<ShortEntry> {
        let (is_leave_or_leaf, is_leave) = (word >> 31, u32::from(word == LEAVE));
        // A leaf has one more than its id already. What is neither has the bit of a time, and so is too large.
        let id = (word & !LEAVE) + 2 - is_leave_or_leaf - is_leave;
        if id >= SHORT {
            return None;
        }
        let (bytes, len) = leb(id);
        Some(ShortEntry { bytes, len, is_leaf: (is_leave_or_leaf - is_leave) as usize })
    }
}

/// A number below [`SHORT`] as LEB128, the first byte lowest, and its length.
#[inline(always)]
fn leb(value: u32) -> (u32, usize) {
    let long = u32::from(value >= 0x80);
    // The bits from the eighth on move up by one.
    (value + (value & !0x7f) + (long << 7), 1 + long as usize)
}

/// Where a group's entries go: three bytes for each word, and what is written too much.
type Place = [u8; 4 * GROUP + 4];

/// Writes four bytes at `at`, which is below 64.
#[inline(always)]
fn put(place: &mut Place, at: usize, bytes: u32) {
    const { assert!(size_of::<Place>() >= 64 + 4) };
    let at = at % 64;
    place[at..at + 4].copy_from_slice(&bytes.to_le_bytes());
}

/// Appends to a column by stores of a fixed length, which are faster than copies. What they write too much is overwritten by the
/// next.
struct Pen<'a> {
    column: &'a mut [u8],
    len: usize,
}

impl Pen<'_> {
    /// Makes room in an empty column for so many bytes.
    fn new(column: &mut Vec<u8>, room: usize) -> Pen<'_> {
        column.resize(room + size_of::<Place>(), 0);
        Pen { column, len: 0 }
    }

    /// Where a group's entries go. Whoever writes them adds to the length.
    #[inline(always)]
    fn place(&mut self) -> Option<&mut Place> {
        self.column.get_mut(self.len..)?.first_chunk_mut()
    }

    /// Appends the first `len` bytes.
    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: &[u8; N], len: usize) {
        // There is room for every word of the block.
        if let Some(place) = self.column.get_mut(self.len..).and_then(|rest| rest.first_chunk_mut()) {
            *place = *bytes;
            self.len += len;
        }
    }

    /// Appends a number as LEB128.
    fn leb(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.put(&[value as u8 | 0x80], 1);
            value >>= 7;
        }
        self.put(&[value as u8], 1);
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
/// The most bytes that a word makes in each column: an id of five with the 0 of a leaf's leave behind it, a time of ten with the 0
/// of that leave.
const IDS_A_WORD: usize = 6;
const TIMES_A_WORD: usize = 11;

#[cfg(test)]
mod tests {
    use super::*;

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
                    _ => words.push(Word::Mark(id & 0xff).encode()),
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
