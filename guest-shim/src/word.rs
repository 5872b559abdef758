//! The words of a block: four bytes each, the kind in the top bits.
//!
//! | word | means |
//! |---|---|
//! | `0x0000_0000 \| id` | enter function `id` (30 bits) |
//! | `0x4000_0000 \| n` | `n` ticks have passed (30 bits); holds for the words after it |
//! | `0x8000_0000` | leave: the innermost frame is closed |
//! | `0x8000_0000 \| id + 1` | leaf: function `id` is entered and left at once (an id below 2^30 - 1) |
//! | `0xc000_0000 \| reason << 26 \| d` | unwind: frames deeper than `d` (26 bits) are closed, for a [`Reason`] |
//! | `0xe000_0000`, low, high | many ticks have passed: 64 bits, in the next two words |
//! | `0xe400_0000 \| s` | switch: what follows belongs to stack `s` |
//! | `0xe800_0000 \| n` | mark `n` (26 bits), a point in time |
//! | `0xec00_0000 \| b` | a record of memory begins, with 26 bits `b` |
//! | `0xf000_0000 \| b` | 26 bits more of it |
//! | `0xf400_0000 \| n` | pause: the last `n` ticks (26 bits) were not the guest's |
//! | `0xf800_0000 \| w << 23 \| n` | wait: in the last ticks the guest's thread had no processor ([`Waited`]) |

/// Largest FuncId that an enter can carry.
pub const MAX_FUNC_ID: u32 = (1 << 30) - 1;
/// Largest FuncId that a leaf can carry: it holds the id plus one.
pub const MAX_LEAF_ID: u32 = MAX_FUNC_ID - 1;
/// The FuncId of no function: between its enter and its leave the guest's thread waits (`memory.atomic.wait32`).
pub const WAIT_ID: u32 = MAX_FUNC_ID - 2;
/// The first number of ticks that is too large for a time word.
pub const TIME_LIMIT: u64 = 1 << 30;
/// The largest payload of an unwind, a switch or a mark: 26 bits. Enters, leaves and times have 30.
pub const MAX_PAYLOAD: u32 = (1 << 26) - 1;

/// Tag of a time word.
pub const TIME: u32 = 0x4000_0000;
/// The whole of a leave.
pub const LEAVE: u32 = 0x8000_0000;
/// A leaf of function 0. Add the id for others.
pub const LEAF: u32 = LEAVE + 1;
/// Tag of an unwind word. The reason and the depth are added.
pub const UNWIND: u32 = 0xc000_0000;
/// The first of the three words of a wide time.
pub const WIDE_TIME: u32 = 0xe000_0000;
/// Tag of a switch word. The stack's number is added.
pub const SWITCH: u32 = 0xe400_0000;
/// Tag of a mark word. The mark's number is added.
pub const MARK: u32 = 0xe800_0000;
/// Tag of the first word of a record of memory. 26 bits of it are added.
pub const RECORD: u32 = 0xec00_0000;
/// Tag of its two other words. 26 bits of it are added to each.
pub const RECORD_MORE: u32 = 0xf000_0000;
/// Tag of a pause. Its ticks are added.
pub const PAUSE: u32 = 0xf400_0000;
/// Tag of a wait. Its kind and its ticks are added.
pub const WAIT: u32 = 0xf800_0000;

/// Why frames were closed without a leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Reason {
    /// An exception passed through them and was caught, by the guest or by a host function that it called.
    Caught = 0,
    /// The guest trapped.
    Trap = 1,
    /// The guest ended the program (`proc_exit`).
    Exit = 2,
    /// The host ended the call: an error from a host function, an exception that left the guest.
    Host = 3,
    /// A signal ended the program.
    Interrupted = 4,
    /// The recording ended while they were open.
    Unfinished = 5,
}

impl Reason {
    /// All reasons, in the order of their codes.
    pub const ALL: [Reason; 6] =
        [Reason::Caught, Reason::Trap, Reason::Exit, Reason::Host, Reason::Interrupted, Reason::Unfinished];

    /// The reason as one word, for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Caught => "unwound",
            Reason::Trap => "trap",
            Reason::Exit => "exit",
            Reason::Host => "host error",
            Reason::Interrupted => "interrupted",
            Reason::Unfinished => "unfinished",
        }
    }
}

/// Why a thread had no processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Wait {
    /// It was ready to run, and others had the processors.
    Processor = 0,
    /// It waited itself: for input, for a lock, for a time.
    Own = 1,
    /// It was ready to run; only the sum is known, and the place of this part is a guess.
    Estimated = 2,
}

impl Wait {
    /// All kinds, in the order of their codes.
    pub const ALL: [Wait; 3] = [Wait::Processor, Wait::Own, Wait::Estimated];
}

/// A wait, or a part of one, as a word has it: three bits for the kind, one for the unit (a tick, or 2^22 ticks), 22 for the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Waited(u32);

impl Waited {
    const UNIT_BITS: u32 = 22;
    const MAX: u32 = (1 << Waited::UNIT_BITS) - 1;

    /// The parts of a wait, which add up to `ticks`.
    pub fn parts(wait: Wait, ticks: u64) -> impl Iterator<Item = Waited> {
        let mut left = ticks;
        std::iter::from_fn(move || {
            let is_large = left > u64::from(Waited::MAX);
            let scale = if is_large { Waited::UNIT_BITS } else { 0 };
            let number = (left >> scale).min(Waited::MAX.into());
            left -= number << scale;
            let unit = u32::from(is_large) << Waited::UNIT_BITS;
            (number > 0).then_some(Waited((wait as u32) << 23 | unit | number as u32))
        })
    }

    fn decode(payload: u32) -> Option<Waited> {
        Wait::ALL.get((payload >> 23) as usize).map(|_| Waited(payload))
    }

    /// Its kind.
    pub fn wait(self) -> Wait {
        Wait::ALL.get((self.0 >> 23) as usize).copied().unwrap_or(Wait::Processor)
    }

    /// How long it was, in ticks.
    pub fn ticks(self) -> u64 {
        let scale = if self.0 >> Waited::UNIT_BITS & 1 == 1 { Waited::UNIT_BITS } else { 0 };
        u64::from(self.0 & Waited::MAX) << scale
    }
}

/// A word, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The function with this FuncId was entered.
    Enter(u32),
    /// Ticks that have passed.
    Time(u32),
    /// The innermost frame is closed.
    Leave,
    /// The function with this FuncId was entered and left at once.
    Leaf(u32),
    /// Frames deeper than `depth` are closed.
    Unwind {
        /// How many frames stay open.
        depth: u32,
        /// Why they are closed.
        reason: Reason,
    },
    /// The next two words are a u64 of ticks that have passed.
    WideTime,
    /// From here on this stack of the lane runs.
    Switch(u32),
    /// A point in time that the host marked with this number.
    Mark(u32),
    /// A record of memory begins, with these 26 bits.
    Record(u32),
    /// 26 bits more of it.
    RecordMore(u32),
    /// The number of last ticks in which the guest's thread worked for the recorder, or waited for it.
    Pause(u32),
    /// A part of the last ticks in which the guest's thread had no processor.
    Wait(Waited),
}

impl Word {
    /// Takes a word apart; `None` for one that no recorder writes.
    #[inline]
    pub fn decode(word: u32) -> Option<Word> {
        let payload = word & MAX_PAYLOAD;
        Some(match word >> 30 {
            0 => Word::Enter(word),
            1 => Word::Time(word & MAX_FUNC_ID),
            2 if word == LEAVE => Word::Leave,
            2 => Word::Leaf(word - LEAF),
            3 => match word >> 26 & 0xf {
                code @ 0..=5 => Word::Unwind { depth: payload, reason: Reason::ALL[code as usize] },
                8 if payload == 0 => Word::WideTime,
                9 => Word::Switch(payload),
                10 => Word::Mark(payload),
                11 => Word::Record(payload),
                12 => Word::RecordMore(payload),
                13 => Word::Pause(payload),
                14 => Word::Wait(Waited::decode(payload)?),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// The word as a recorder writes it. Payloads that are too large are cut to their field.
    #[inline]
    pub fn encode(self) -> u32 {
        match self {
            Word::Enter(id) => id & MAX_FUNC_ID,
            Word::Time(ticks) => TIME | ticks & MAX_FUNC_ID,
            Word::Leave => LEAVE,
            Word::Leaf(id) => LEAF + id.min(MAX_LEAF_ID),
            Word::Unwind { depth, reason } => UNWIND | (reason as u32) << 26 | depth.min(MAX_PAYLOAD),
            Word::WideTime => WIDE_TIME,
            Word::Switch(stack) => SWITCH | stack.min(MAX_PAYLOAD),
            Word::Mark(value) => MARK | value & MAX_PAYLOAD,
            Word::Record(bits) => RECORD | bits & MAX_PAYLOAD,
            Word::RecordMore(bits) => RECORD_MORE | bits & MAX_PAYLOAD,
            Word::Pause(ticks) => PAUSE | ticks.min(MAX_PAYLOAD),
            Word::Wait(waited) => WAIT | waited.0,
        }
    }

    /// The word's effect on the open frames.
    #[inline]
    pub fn effect(self) -> Effect {
        match self {
            Word::Enter(id) => Effect::Opens(id),
            Word::Leave => Effect::Closes,
            Word::Unwind { depth, .. } => Effect::ClosesTo(depth),
            Word::Switch(stack) => Effect::Switches(stack),
            // A leaf is entered and left.
            Word::Leaf(_) | Word::Time(_) | Word::WideTime | Word::Mark(_) => Effect::Nothing,
            Word::Record(_) | Word::RecordMore(_) | Word::Pause(_) | Word::Wait(_) => Effect::Nothing,
        }
    }

    /// Number of the trace's events in the word. Records, pauses and times belong to other events.
    #[inline]
    pub fn events(self) -> u64 {
        match self {
            Word::Enter(_) | Word::Leave | Word::Unwind { .. } | Word::Mark(_) => 1,
            Word::Leaf(_) => 2,
            Word::Time(_) | Word::WideTime | Word::Switch(_) => 0,
            Word::Record(_) | Word::RecordMore(_) | Word::Pause(_) | Word::Wait(_) => 0,
        }
    }
}

/// What a word does to the open frames of its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The function with this FuncId is entered.
    Opens(u32),
    /// The innermost frame is closed.
    Closes,
    /// Frames deeper than this are closed.
    ClosesTo(u32),
    /// Another stack runs.
    Switches(u32),
    /// None.
    Nothing,
}

/// A time, or another word with its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// So many ticks have passed.
    Passed(u64),
    /// Another word, which may be unknown.
    Word(u32, Effect),
}

/// The words of a block, without its header, up to a wide time that is cut off.
pub fn steps(words: &[u8]) -> impl Iterator<Item = Step> + '_ {
    let mut words = words.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
    std::iter::from_fn(move || {
        let word = words.next()?;
        Some(match Word::decode(word) {
            Some(Word::Time(ticks)) => Step::Passed(ticks.into()),
            Some(Word::WideTime) => Step::Passed(u64::from(words.next()?) | u64::from(words.next()?) << 32),
            known => Step::Word(word, known.map_or(Effect::Nothing, Word::effect)),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_survives_the_round_trip() {
        let mut words = vec![Word::Leave, Word::WideTime, Word::Enter(0), Word::Enter(MAX_FUNC_ID)];
        words.extend([Word::Leaf(0), Word::Leaf(MAX_LEAF_ID)]);
        words.extend([Word::Time(0), Word::Time(MAX_FUNC_ID), Word::Switch(767), Word::Mark(MAX_PAYLOAD)]);
        words.extend([
            Word::Record(0),
            Word::Record(MAX_PAYLOAD),
            Word::RecordMore(0),
            Word::RecordMore(MAX_PAYLOAD),
            Word::Pause(1),
            Word::Pause(MAX_PAYLOAD),
        ]);
        words.extend(Wait::ALL.iter().flat_map(|&wait| Waited::parts(wait, u64::MAX >> 16).map(Word::Wait)));
        words.extend(Reason::ALL.map(|reason| Word::Unwind { depth: MAX_PAYLOAD, reason }));
        for word in words {
            assert_eq!(Word::decode(word.encode()), Some(word));
        }
    }

    #[test]
    fn the_parts_of_a_wait_add_up() {
        for ticks in [0, 1, (1 << 22) - 1, 1 << 22, (1 << 22) + 1, (1 << 44) - 1, (1 << 45) + 12_345] {
            let parts: Vec<Waited> = Waited::parts(Wait::Own, ticks).collect();
            assert_eq!(parts.iter().map(|part| part.ticks()).sum::<u64>(), ticks);
            assert!(
                parts.len() <= 4 && parts.iter().all(|part| part.wait() == Wait::Own),
                "{ticks}: {parts:?}"
            );
        }
    }

    #[test]
    fn unknown_words_are_refused() {
        for word in [0xe000_0001, 0xd800_0000, 0xf980_0000, 0xffff_ffff] {
            assert_eq!(Word::decode(word), None, "{word:#x}");
        }
    }
}
