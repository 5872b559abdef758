//! Where a recorder stood when its last block ended, read from the block itself: the only witness when the store is gone.

use kperf_abi::block::BlockHeader;
use kperf_abi::word::Word;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The time of the last word, in ticks.
    pub(crate) last: u64,
    /// The stack that ran.
    pub(crate) stack: u32,
    /// How many of its frames were open.
    pub(crate) depth: u32,
}

impl Tail {
    /// Reads a block. `saved_depth` tells how many frames of a stack were open when it last stopped running: what the
    /// recorder goes by too when it switches, so the last switch to the running stack found just that. `None` if there is
    /// no block.
    pub(crate) fn read(block: &[u8], saved_depth: impl Fn(u32) -> u32) -> Option<Tail> {
        let (header, words) = BlockHeader::split(block)?;
        let mut tail = Tail { last: header.start_ticks, stack: header.stack, depth: header.depth };
        let mut words =
            words.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        while let Some(word) = words.next() {
            match Word::decode(word) {
                Some(Word::Enter(_)) => tail.depth = tail.depth.saturating_add(1),
                Some(Word::Leave) => tail.depth = tail.depth.saturating_sub(1),
                Some(Word::Time(ticks)) => tail.last = tail.last.saturating_add(ticks.into()),
                Some(Word::WideTime) => {
                    let (Some(low), Some(high)) = (words.next(), words.next()) else { break };
                    tail.last = tail.last.saturating_add(u64::from(low) | u64::from(high) << 32);
                }
                Some(Word::Unwind { depth, .. }) => tail.depth = tail.depth.min(depth),
                Some(Word::Switch(stack)) => {
                    tail.stack = stack;
                    tail.depth = saved_depth(stack);
                }
                Some(Word::Mark(_)) | None => {}
            }
        }
        Some(tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kperf_abi::word::Reason;

    fn read(words: &[u32]) -> Option<Tail> {
        let mut block = BlockHeader { stack: 0, depth: 2, start_ticks: 100 }.to_bytes().to_vec();
        block.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        Tail::read(&block, |stack| stack * 10)
    }

    #[test]
    fn the_depth_follows_the_words() {
        let tail = read(&[Word::Time(5).encode(), 17, 17, 17, Word::Leave.encode()]);
        assert_eq!(tail, Some(Tail { last: 105, stack: 0, depth: 4 }));
        let unwind = Word::Unwind { depth: 1, reason: Reason::Trap }.encode();
        assert_eq!(read(&[17, unwind, 17]), Some(Tail { last: 100, stack: 0, depth: 2 }));
        assert_eq!(
            read(&[Word::WideTime.encode(), 1, 1]),
            Some(Tail { last: 101 + (1 << 32), stack: 0, depth: 2 })
        );
    }

    #[test]
    fn a_switch_goes_by_the_saved_depth() {
        let switches = [17, Word::Switch(3).encode(), 17, 17];
        assert_eq!(read(&switches), Some(Tail { last: 100, stack: 3, depth: 32 }));
    }

    #[test]
    fn no_block_has_no_tail() {
        assert_eq!(Tail::read(&[0; 15], |_| 0), None);
        assert_eq!(read(&[Word::WideTime.encode(), 1]), Some(Tail { last: 100, stack: 0, depth: 2 }));
    }
}
