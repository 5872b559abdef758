//! Decodes a block's words, or its columns, into events.

use crate::columns::{Columns, Times};
use crate::event::{Event, TimedEvent};
use kperf_abi::FuncId;
use kperf_abi::block::STACKS;
use kperf_abi::word::{LEAVE, Word};

/// What a block holds.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// Longer than its contents while a block is decoded, so that it never grows meanwhile.
    pub(crate) events: Vec<TimedEvent>,
    /// How many events are decoded so far.
    len: usize,
    /// In the order of their places.
    pub(crate) switches: Vec<Switch>,
    /// How many words no recorder writes, and the first of them.
    pub(crate) unknown: u32,
    pub(crate) first_unknown: u32,
    /// The time of the last event, or of the last time word.
    pub(crate) end_ticks: u64,
}

/// A switch to another stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switch {
    /// The index of the first event after it.
    pub(crate) at: usize,
    pub(crate) stack: u32,
    pub(crate) ticks: u64,
}

impl Decoded {
    pub(crate) fn clear(&mut self, start_ticks: u64) {
        self.len = 0;
        self.switches.clear();
        (self.unknown, self.first_unknown, self.end_ticks) = (0, 0, start_ticks);
    }

    /// Makes room for so many events, in place of the last block's.
    fn reserve(&mut self, count: usize) {
        const FILLER: TimedEvent = TimedEvent { ticks: 0, event: Event::Leave };
        if self.events.len() < count {
            self.events.resize(count, FILLER);
        }
    }

    #[inline(always)]
    fn push(&mut self, ticks: u64, event: Event) {
        if let Some(place) = self.events.get_mut(self.len) {
            *place = TimedEvent { ticks, event };
            self.len += 1;
        }
    }

    /// Appends the events of a raw block's words.
    pub(crate) fn raw(&mut self, words: &[u8]) -> Result<(), &'static str> {
        let (words, []) = words.as_chunks::<4>() else { return Err("it ends inside a word") };
        let leaves = words.iter().filter(|word| is_leaf(word)).count();
        self.reserve(words.len() + leaves);
        let mut ticks = self.end_ticks;
        let mut words = words.iter().map(|&word| u32::from_le_bytes(word));
        while let Some(word) = words.next() {
            match Word::decode(word) {
                Some(Word::Time(passed)) => ticks = ticks.saturating_add(passed.into()),
                Some(Word::WideTime) => {
                    let (Some(low), Some(high)) = (words.next(), words.next()) else {
                        // Cut off: the rest has no meaning.
                        self.word(word, ticks);
                        break;
                    };
                    ticks = ticks.saturating_add(u64::from(low) | u64::from(high) << 32);
                }
                _ => self.word(word, ticks),
            }
        }
        self.end_ticks = ticks;
        self.events.truncate(self.len);
        Ok(())
    }

    /// Appends the events of columns.
    pub(crate) fn columns(&mut self, columns: &Columns) -> Result<(), &'static str> {
        let mut ids = Ids { rest: &columns.ids, others: columns.others.as_chunks().0 };
        let leaves = ids.others.iter().filter(|word| is_leaf(word)).count();
        self.reserve(columns.count as usize + leaves);
        match columns.form {
            Times::Dense => self.dense(&mut ids, columns)?,
            Times::Sparse => self.sparse(&mut ids, columns)?,
        }
        self.events.truncate(self.len);
        if ids.rest.is_empty() && ids.others.is_empty() { Ok(()) } else { Err("its columns disagree") }
    }

    fn dense(&mut self, ids: &mut Ids<'_>, columns: &Columns) -> Result<(), &'static str> {
        let mut ticks = self.end_ticks;
        let mut times = columns.times.as_slice();
        let mut left = columns.count as usize;
        while left != 0 {
            // Small times can't exceed the end of the clock, unless the block begins there.
            if let Some(small) = small_group(times).filter(|_| left >= GROUP && ticks < u64::MAX / 2) {
                times = &times[GROUP..];
                left -= GROUP;
                if let Some(calls) = small_group(ids.rest).filter(|&calls| !has_one(calls)) {
                    ids.rest = &ids.rest[GROUP..];
                    ticks = self.group(calls, small, ticks);
                } else {
                    for passed in small.to_le_bytes() {
                        ticks += u64::from(passed);
                        self.entry(ids, ticks)?;
                    }
                }
            } else {
                for _ in 0..left.min(GROUP) {
                    ticks = ticks.saturating_add(read_leb(&mut times)?);
                    self.entry(ids, ticks)?;
                }
                left -= left.min(GROUP);
            }
        }
        self.end_ticks = ticks;
        if times.is_empty() { Ok(()) } else { Err("it has more times than events") }
    }

    fn sparse(&mut self, ids: &mut Ids<'_>, columns: &Columns) -> Result<(), &'static str> {
        let mut ticks = self.end_ticks;
        let mut times = columns.times.as_slice();
        let mut left = columns.count as usize;
        while left != 0 || !times.is_empty() {
            let (events, passed) = match times {
                [] => (left, 0),
                _ => {
                    let events = usize::try_from(read_leb(&mut times)?).ok().filter(|&events| events <= left);
                    (events.ok_or("it has a time behind its events")?, read_leb(&mut times)?)
                }
            };
            left -= events;
            self.at_once(ids, events, ticks)?;
            ticks = ticks.saturating_add(passed);
        }
        self.end_ticks = ticks;
        Ok(())
    }

    /// Appends so many entries, all with this time.
    fn at_once(&mut self, ids: &mut Ids<'_>, mut entries: usize, ticks: u64) -> Result<(), &'static str> {
        while entries != 0 {
            if let Some(calls) = small_group(ids.rest).filter(|&calls| entries >= GROUP && !has_one(calls)) {
                ids.rest = &ids.rest[GROUP..];
                entries -= GROUP;
                self.group(calls, 0, ticks);
            } else {
                let slow = entries.min(GROUP);
                entries -= slow;
                for _ in 0..slow {
                    self.entry(ids, ticks)?;
                }
            }
        }
        Ok(())
    }

    /// Appends a group of enters and leaves, each after a time of one byte. Returns the last one's time.
    #[inline(always)]
    fn group(&mut self, calls: u64, times: u64, mut ticks: u64) -> u64 {
        let places = self.events.get_mut(self.len..).and_then(|rest| rest.first_chunk_mut::<GROUP>());
        if let Some(places) = places {
            for (n, place) in places.iter_mut().enumerate() {
                ticks += times >> (8 * n) & 0xff;
                *place = TimedEvent { ticks, event: enter_or_leave((calls >> (8 * n) & 0xff) as u32) };
            }
            self.len += GROUP;
        }
        ticks
    }

    /// Appends the next entry of the `ids` column.
    #[inline(always)]
    fn entry(&mut self, ids: &mut Ids<'_>, ticks: u64) -> Result<(), &'static str> {
        match u32::try_from(read_leb(&mut ids.rest)?) {
            Ok(1) => {
                let (&word, others) = ids.others.split_first().ok_or("its columns disagree")?;
                ids.others = others;
                self.word(u32::from_le_bytes(word), ticks);
            }
            Ok(id) => self.push(ticks, enter_or_leave(id)),
            Err(_) => return Err("an id exceeds 32 bits"),
        }
        Ok(())
    }

    /// Appends the event of one word that is no time.
    #[inline]
    fn word(&mut self, word: u32, ticks: u64) {
        let event = match Word::decode(word) {
            Some(Word::Enter(id)) => Event::Enter(FuncId(id)),
            Some(Word::Leave) => Event::Leave,
            Some(Word::Leaf(id)) => {
                self.push(ticks, Event::Enter(FuncId(id)));
                Event::Leave
            }
            Some(Word::Unwind { depth, reason }) => Event::Unwind { depth, reason },
            Some(Word::Mark(value)) => Event::Mark(value),
            Some(Word::Record(_) | Word::RecordMore(_)) => Event::Memory(word),
            Some(Word::Pause(paused)) => Event::Pause(paused),
            Some(Word::Wait(waited)) => Event::Wait(waited),
            Some(Word::Switch(stack)) if stack < STACKS => {
                self.switches.push(Switch { at: self.len, stack, ticks });
                return;
            }
            _ => {
                if self.unknown == 0 {
                    self.first_unknown = word;
                }
                self.unknown += 1;
                return;
            }
        };
        self.push(ticks, event);
    }
}

/// Whether a word makes two events.
fn is_leaf(word: &[u8; 4]) -> bool {
    u32::from_le_bytes(*word) >> 30 == LEAVE >> 30 && u32::from_le_bytes(*word) != LEAVE
}

/// The event of an entry that isn't 1.
#[inline(always)]
fn enter_or_leave(id: u32) -> Event {
    if id == 0 { Event::Leave } else { Event::Enter(FuncId(id.wrapping_sub(2))) }
}

/// The `ids` column, and the words it refers to.
struct Ids<'a> {
    rest: &'a [u8],
    others: &'a [[u8; 4]],
}

/// How many numbers of one byte each are decoded at a time.
const GROUP: usize = 8;
/// A byte 1 in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// The next numbers of a column, if each takes one byte.
#[inline(always)]
fn small_group(column: &[u8]) -> Option<u64> {
    let group = u64::from_le_bytes(*column.first_chunk::<GROUP>()?);
    (group & ONES << 7 == 0).then_some(group)
}

/// Whether any byte of a group of small numbers is 1. Only a 1 makes the subtraction borrow from the byte's top bit.
#[inline(always)]
fn has_one(group: u64) -> bool {
    let zero_where_one = group ^ ONES;
    zero_where_one.wrapping_sub(ONES) & !zero_where_one & ONES << 7 != 0
}

/// Takes an unsigned LEB128 number off the front.
#[inline(always)]
fn read_leb(bytes: &mut &[u8]) -> Result<u64, &'static str> {
    match bytes {
        [low @ 0..0x80, rest @ ..] => {
            let value = u64::from(*low);
            *bytes = rest;
            Ok(value)
        }
        [low, high @ 0..0x80, rest @ ..] => {
            let value = u64::from(low & 0x7f) | u64::from(*high) << 7;
            *bytes = rest;
            Ok(value)
        }
        _ => read_long_leb(bytes),
    }
}

fn read_long_leb(bytes: &mut &[u8]) -> Result<u64, &'static str> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or("a column ends too early")?;
        *bytes = rest;
        if shift == 63 && byte > 1 {
            break;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number exceeds 64 bits")
}
