//! What a recorder keeps besides its memory.

use kperf_abi::block::BlockHeader;
use kperf_abi::names;
use kperf_abi::word::Word;
use wasmtime::{AsContextMut, Global, Val};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Open frames of the running stack.
    pub(crate) depth: u32,
    /// The stack that runs.
    pub(crate) stack: u32,
    /// The time of the last word, in ticks.
    pub(crate) last: u64,
}

impl State {
    /// How it stands behind a block: what is known of it when the store is gone. `saved_depth` tells how many frames of a
    /// stack were open when it last stopped running: what the recorder goes by too when it switches, so the last switch to
    /// the running stack found just that. `None` if there is no block.
    pub(crate) fn behind(block: &[u8], saved_depth: impl Fn(u32) -> u32) -> Option<State> {
        let (header, words) = BlockHeader::split(block)?;
        let mut state = State { depth: header.depth, stack: header.stack, last: header.start_ticks };
        let mut words =
            words.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        while let Some(word) = words.next() {
            match Word::decode(word) {
                Some(Word::Enter(_)) => state.depth = state.depth.saturating_add(1),
                Some(Word::Leave) => state.depth = state.depth.saturating_sub(1),
                Some(Word::Time(ticks)) => state.last = state.last.saturating_add(ticks.into()),
                Some(Word::WideTime) => {
                    let (Some(low), Some(high)) = (words.next(), words.next()) else { break };
                    state.last = state.last.saturating_add(u64::from(low) | u64::from(high) << 32);
                }
                Some(Word::Unwind { depth, .. }) => state.depth = state.depth.min(depth),
                Some(Word::Switch(stack)) => {
                    state.stack = stack;
                    state.depth = saved_depth(stack);
                }
                // A leaf is entered and left.
                Some(Word::Leaf(_) | Word::Mark(_)) | None => {}
            }
        }
        Some(state)
    }
}

/// The globals in which a recorder in a store keeps it.
#[derive(Clone, Copy)]
pub(crate) struct StateGlobals {
    depth: Global,
    stack: Global,
    last: Global,
}

impl StateGlobals {
    /// Finds them by the names under which the recorder's own module exports them.
    pub(crate) fn find<E>(
        mut global: impl FnMut(&'static str) -> Result<Global, E>,
    ) -> Result<StateGlobals, E> {
        Ok(StateGlobals {
            depth: global(names::STATE_DEPTH)?,
            stack: global(names::STATE_STACK)?,
            last: global(names::STATE_LAST)?,
        })
    }

    pub(crate) fn get(&self, mut store: impl AsContextMut) -> State {
        State {
            depth: self.depth.get(&mut store).i32().unwrap_or_default() as u32,
            stack: self.stack.get(&mut store).i32().unwrap_or_default() as u32,
            last: self.last.get(&mut store).i64().unwrap_or_default() as u64,
        }
    }

    pub(crate) fn set(&self, mut store: impl AsContextMut, state: State) {
        let values = [
            (&self.depth, Val::I32(state.depth as i32)),
            (&self.stack, Val::I32(state.stack as i32)),
            (&self.last, Val::I64(state.last as i64)),
        ];
        for (global, value) in values {
            // Fails for values of another type only, and these are the recorder's own globals.
            let _ = global.set(&mut store, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kperf_abi::word::Reason;

    fn read(words: &[u32]) -> Option<State> {
        let mut block = BlockHeader { stack: 0, depth: 2, start_ticks: 100 }.to_bytes().to_vec();
        block.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        State::behind(&block, |stack| stack * 10)
    }

    #[test]
    fn the_depth_follows_the_words() {
        let tail = read(&[Word::Time(5).encode(), 17, 17, 17, Word::Leave.encode()]);
        assert_eq!(tail, Some(State { last: 105, stack: 0, depth: 4 }));
        let unwind = Word::Unwind { depth: 1, reason: Reason::Trap }.encode();
        assert_eq!(read(&[17, unwind, 17]), Some(State { last: 100, stack: 0, depth: 2 }));
        assert_eq!(
            read(&[Word::WideTime.encode(), 1, 1]),
            Some(State { last: 101 + (1 << 32), stack: 0, depth: 2 })
        );
    }

    #[test]
    fn a_switch_goes_by_the_saved_depth() {
        let switches = [17, Word::Switch(3).encode(), 17, 17];
        assert_eq!(read(&switches), Some(State { last: 100, stack: 3, depth: 32 }));
    }

    #[test]
    fn no_block_has_no_tail() {
        assert_eq!(State::behind(&[0; 15], |_| 0), None);
        assert_eq!(read(&[Word::WideTime.encode(), 1]), Some(State { last: 100, stack: 0, depth: 2 }));
    }
}
