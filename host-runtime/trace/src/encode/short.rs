//! Encodes words with entries of two bytes at most, two words at a time.
//!
//! A pair of words is one u64, and each step handles both halves at once. No branch depends on the kind or the length of a word: ids
//! of real programs take one byte or two at random.

use kperf_abi::word::{LEAVE, TIME};

/// The number of words taken, and of their entries.
#[derive(Clone, Copy, Default)]
pub(super) struct Taken {
    pub(super) words: usize,
    /// How many entries they make.
    pub(super) entries: u32,
}

/// Takes enters, leaves and leaves of leaf functions with ids of two bytes at most, up to the first other word; perhaps one word less.
#[inline]
pub(super) fn take_calls(words: &[[u8; 4]], ids: &mut Pen<'_>) -> Taken {
    let (mut words_taken, mut entries) = (0, 0);
    for &pair in words.as_flattened().as_chunks().0 {
        let pair = u64::from_le_bytes(pair);
        let is_leave_or_leaf = pair >> 31 & ONES;
        let rest = pair & (0x7fff_ffff * ONES);
        // The highest bit of a half is set if the half had any other bit.
        let is_leaf = is_leave_or_leaf & (rest + 0x7fff_ffff * ONES) >> 31;
        // A leaf's word has one more than its id already. Any other word has the bit of a time, so it is too large.
        let numbers = rest + 2 * ONES - 2 * is_leave_or_leaf + is_leaf;
        if numbers & TOO_LARGE != 0 {
            break;
        }
        let (bytes, is_long) = leb(numbers);
        let counts = ONES + is_leaf;
        // The 0 of a leaf's leave is the byte after its enter.
        let [first, second] = halves(counts + is_long);
        ids.put(bytes & LOW | bytes >> 32 << (8 * first), first + second);
        words_taken += 2;
        entries += counts;
    }
    let [first, second] = halves(entries);
    Taken { words: words_taken, entries: (first + second) as u32 }
}

/// The same for pairs of a time of two bytes at most and an enter or a leave.
#[inline]
pub(super) fn take_pairs(words: &[[u8; 4]], ids: &mut Pen<'_>, times: &mut Pen<'_>) -> Taken {
    let mut pairs = 0;
    for &pair in words.as_flattened().as_chunks().0 {
        let pair = u64::from_le_bytes(pair) ^ u64::from(TIME);
        let is_leave = u64::from(pair >> 32 == u64::from(LEAVE));
        // A leaf is too large, since its leave would have a time of its own.
        let rest = pair - ((is_leave * u64::from(LEAVE)) << 32);
        let numbers = rest.wrapping_add((2 - 2 * is_leave) << 32);
        if (rest | numbers) & TOO_LARGE != 0 {
            break;
        }
        let (bytes, is_long) = leb(numbers);
        let [time, event] = halves(ONES + is_long);
        times.put(bytes & LOW, time);
        ids.put(bytes >> 32, event);
        pairs += 1;
    }
    Taken { words: 2 * pairs, entries: pairs as u32 }
}

/// A 1 in each half.
const ONES: u64 = 1 << 32 | 1;
/// The first half.
const LOW: u64 = 0xffff_ffff;
/// The bits of a number of more than two bytes.
const TOO_LARGE: u64 = 0xffff_c000 * ONES;

/// The halves of a pair.
#[inline(always)]
fn halves(pair: u64) -> [usize; 2] {
    [(pair & LOW) as usize, (pair >> 32) as usize]
}

/// Two numbers below 2^14 as LEB128, in each half the first byte lowest; and a 1 for each that takes two bytes.
#[inline(always)]
fn leb(numbers: u64) -> (u64, u64) {
    let is_long = (numbers + (0x4000 - 0x80) * ONES) >> 14 & ONES;
    // The bits from the eighth on move up by one.
    (numbers + (numbers & (0x3f80 * ONES)) + (is_long << 7), is_long)
}

/// Appends to a column by stores of a fixed length, which are faster than copies. The next store overwrites the surplus bytes.
pub(super) struct Pen<'a> {
    column: &'a mut [u8],
    len: usize,
}

impl Pen<'_> {
    /// Makes room for so many bytes.
    pub(super) fn new(room: &mut Vec<u8>, bytes: usize) -> Pen<'_> {
        let bytes = bytes + size_of::<u64>();
        if room.len() < bytes {
            room.resize(bytes, 0);
        }
        Pen { column: room, len: 0 }
    }

    pub(super) fn written(&self) -> &[u8] {
        self.column.get(..self.len).unwrap_or_default()
    }

    /// Appends the lowest bytes of a word.
    #[inline(always)]
    fn put(&mut self, bytes: u64, length: usize) {
        // There is room for every word of the block.
        if let Some(place) = self.column.get_mut(self.len..).and_then(<[u8]>::first_chunk_mut) {
            *place = bytes.to_le_bytes();
            self.len += length;
        }
    }

    /// Appends a number as LEB128.
    pub(super) fn leb(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.put(value & 0x7f | 0x80, 1);
            value >>= 7;
        }
        self.put(value, 1);
    }
}
