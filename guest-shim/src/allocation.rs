//! Records of memory: three words of a block, with 26 bits of a record in each.
//!
//! A record is a kind (4 bits), a pointer and a size (37 bits each). The first word has the kind, and the upper 11 bits of the
//! size and of the pointer; the second has the lower bits of the pointer, the third those of the size. A record follows
//! the event that has its time, and belongs to the innermost open frame.
//!
//! | kind | | pointer | size |
//! |---|---|---|---|
//! | 0 | a block was allocated | the block; 0: it could not be had | bytes |
//! | 1 | a block was freed | the block | 0 |
//! | 2 | a block was resized: this one is gone, and the next record says where it went | the block | 0 |
//! | 3 | a block was resized: this is it | the block; 0: it stays as it was | bytes |
//! | 4 | a memory was to grow | how many pages it had before, and 1; 0: it did not grow | pages (26 bits), the memory's index above them |
//! | 5 | an object was made that is collected: no record says when it is gone | 0 | bytes |

use crate::word::Word;

/// The largest pointer or size that a record can have. Larger sizes become this; larger pointers lose their
/// high bits.
pub const MAX: u64 = (1 << 37) - 1;
/// How many words a record has.
pub const WORDS: usize = 3;

/// How many bits of a pointer or size are in a word of their own.
const LOW_BITS: u32 = 26;
const LOW: u64 = (1 << LOW_BITS) - 1;
const HIGH: u32 = (1 << 11) - 1;

/// Something that happened to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Allocation {
    /// A block was allocated.
    Allocated {
        /// Its address.
        pointer: u64,
        /// How many bytes were asked for.
        size: u64,
    },
    /// A block was freed.
    Freed {
        /// Its address.
        pointer: u64,
    },
    /// A block is gone because it was resized.
    ResizedFrom {
        /// Its address.
        pointer: u64,
    },
    /// The block that a resized one has become.
    ResizedTo {
        /// Its address.
        pointer: u64,
        /// How many bytes were asked for.
        size: u64,
    },
    /// An allocator had no block of this size.
    Failed {
        /// How many bytes were asked for.
        size: u64,
        /// Whether it was to resize a block, which is as it was.
        resizing: bool,
    },
    /// A memory was to grow.
    Grown {
        /// Its index in the module.
        memory: u32,
        /// How many pages it had before; `None` if it didn't grow.
        before: Option<u64>,
        /// By how many pages.
        pages: u64,
    },
    /// An object was made that is collected, by the engine or by the language's runtime.
    Created {
        /// How many bytes its fields take.
        size: u64,
    },
}

impl Allocation {
    /// What three words say; `None` if no recorder writes them.
    pub fn decode(words: [u32; WORDS]) -> Option<Allocation> {
        let [first, second, third] = words.map(Word::decode);
        let (Some(Word::Record(first)), Some(Word::RecordMore(second)), Some(Word::RecordMore(third))) =
            (first, second, third)
        else {
            return None;
        };
        let whole = |high: u32, low: u32| u64::from(high & HIGH) << LOW_BITS | u64::from(low);
        let (pointer, size) = (whole(first, second), whole(first >> 11, third));
        Some(match first >> 22 {
            0 if pointer == 0 => Allocation::Failed { size, resizing: false },
            0 => Allocation::Allocated { pointer, size },
            1 => Allocation::Freed { pointer },
            2 => Allocation::ResizedFrom { pointer },
            3 if pointer == 0 => Allocation::Failed { size, resizing: true },
            3 => Allocation::ResizedTo { pointer, size },
            4 => Allocation::Grown {
                memory: (size >> LOW_BITS) as u32,
                before: pointer.checked_sub(1),
                pages: size & LOW,
            },
            5 => Allocation::Created { size },
            _ => return None,
        })
    }

    /// The words as a recorder writes them.
    pub fn encode(self) -> [u32; WORDS] {
        let (kind, pointer, size) = match self {
            Allocation::Allocated { pointer, size } => (0, pointer, size),
            Allocation::Freed { pointer } => (1, pointer, 0),
            Allocation::ResizedFrom { pointer } => (2, pointer, 0),
            Allocation::ResizedTo { pointer, size } => (3, pointer, size),
            Allocation::Failed { size, resizing } => (if resizing { 3 } else { 0 }, 0, size),
            Allocation::Grown { memory, before, pages } => {
                let above = u64::from(memory & HIGH) << LOW_BITS;
                (4, before.map_or(0, |before| before + 1), above | pages.min(LOW))
            }
            Allocation::Created { size } => (5, 0, size),
        };
        let size = size.min(MAX);
        let high = |number: u64| (number >> LOW_BITS) as u32 & HIGH;
        [
            Word::Record(kind << 22 | high(size) << 11 | high(pointer)).encode(),
            Word::RecordMore((pointer & LOW) as u32).encode(),
            Word::RecordMore((size & LOW) as u32).encode(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_survives_the_round_trip() {
        let (pointer, size) = (MAX, MAX - 5);
        for record in [
            Allocation::Allocated { pointer: 0x1234_5678, size: 1 },
            Allocation::Allocated { pointer, size },
            Allocation::Freed { pointer },
            Allocation::ResizedFrom { pointer },
            Allocation::ResizedTo { pointer, size },
            Allocation::Failed { size, resizing: false },
            Allocation::Failed { size, resizing: true },
            Allocation::Grown { memory: 3, before: Some(0), pages: 1 },
            Allocation::Grown { memory: 0, before: None, pages: LOW },
            Allocation::Created { size },
        ] {
            assert_eq!(Allocation::decode(record.encode()), Some(record));
        }
    }

    #[test]
    fn words_that_are_no_record_are_refused() {
        let [first, second, third] = Allocation::Freed { pointer: 8 }.encode();
        assert_eq!(Allocation::decode([second, first, third]), None);
        assert_eq!(Allocation::decode([first, second, first]), None);
        assert_eq!(Allocation::decode([first | 15 << 22, second, third]), None);
    }
}
