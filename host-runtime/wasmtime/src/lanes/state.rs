//! What a recorder keeps outside its memory: depth, stack, last time.

use kperf_abi::block::BlockHeader;
use kperf_abi::names;
use kperf_abi::word::{self, Effect, Step};
use wasmtime::{AsContextMut, Global, Val};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecorderState {
    /// Open frames of the running stack.
    pub(crate) depth: u32,
    /// The stack that runs.
    pub(crate) stack: u32,
    /// The time of the last word, in ticks.
    pub(crate) last: u64,
    /// Instructions that the instance has executed, if they are the clock.
    pub(crate) instructions: Option<u64>,
}

impl RecorderState {
    /// The state after a block, computed from its words: the only way when the store is gone. `None` without a block.
    ///
    /// `saved_depth` gives the number of open frames of a stack when it last stopped running. The recorder itself uses it when
    /// it switches stacks.
    pub(crate) fn after(block: &[u8], saved_depth: impl Fn(u32) -> u32) -> Option<RecorderState> {
        let (header, words) = BlockHeader::split(block)?;
        let BlockHeader { depth, stack, start_ticks } = header;
        let mut state = RecorderState { depth, stack, last: start_ticks, instructions: None };
        for step in word::steps(words) {
            match step {
                Step::Passed(ticks) => state.last = state.last.saturating_add(ticks),
                Step::Word(_, Effect::Opens(_)) => state.depth = state.depth.saturating_add(1),
                Step::Word(_, Effect::Closes) => state.depth = state.depth.saturating_sub(1),
                Step::Word(_, Effect::ClosesTo(depth)) => state.depth = state.depth.min(depth),
                Step::Word(_, Effect::Switches(stack)) => {
                    (state.stack, state.depth) = (stack, saved_depth(stack));
                }
                Step::Word(_, Effect::Nothing) => {}
            }
        }
        Some(state)
    }
}

/// The global in which a recorder in a store keeps its depth.
#[derive(Clone, Copy)]
enum DepthGlobal {
    Depth(Global),
    /// In the upper half; the lower half is the position of the next word, which other recorders keep in their memory.
    WithPosition(Global),
}

/// The globals in which a recorder in a store keeps its state.
#[derive(Clone, Copy)]
pub(crate) struct StateGlobals {
    depth_global: DepthGlobal,
    stack: Global,
    last: Global,
    /// `None`: the time comes from the host.
    instructions: Option<Global>,
    /// Token of the outermost open call of an allocator; `None`: allocations are not recorded.
    allocator: Option<Global>,
}

impl StateGlobals {
    /// The globals of a recorder module, by their export names.
    pub(crate) fn beside<E>(
        mut global: impl FnMut(&'static str) -> Result<Global, E>,
    ) -> Result<StateGlobals, E> {
        let depth_global = DepthGlobal::Depth(global(names::STATE_DEPTH)?);
        StateGlobals::find(depth_global, global)
    }

    /// The globals of a recorder inside a module.
    pub(crate) fn inside<E>(
        mut global: impl FnMut(&'static str) -> Result<Global, E>,
    ) -> Result<StateGlobals, E> {
        let depth_global = DepthGlobal::WithPosition(global(names::STATE_HEAD)?);
        StateGlobals::find(depth_global, global)
    }

    fn find<E>(
        depth_global: DepthGlobal,
        mut global: impl FnMut(&'static str) -> Result<Global, E>,
    ) -> Result<StateGlobals, E> {
        Ok(StateGlobals {
            depth_global,
            stack: global(names::STATE_STACK)?,
            last: global(names::STATE_LAST)?,
            instructions: None,
            allocator: None,
        })
    }

    /// With the global that counts the module's instructions, if it has one.
    pub(crate) fn counting(self, instructions: Option<Global>) -> StateGlobals {
        StateGlobals { instructions, ..self }
    }

    /// With the global of open allocator calls, if the recorder has it.
    pub(crate) fn recording(self, allocator: Option<Global>) -> StateGlobals {
        StateGlobals { allocator, ..self }
    }

    /// The position of the next word, if it is in a global.
    pub(crate) fn position(&self, store: impl AsContextMut) -> Option<u32> {
        match &self.depth_global {
            DepthGlobal::Depth(_) => None,
            DepthGlobal::WithPosition(global) => Some(bits(global, store) as u32),
        }
    }

    /// Sets the position of the next word, if it is in a global.
    pub(crate) fn set_position(&self, mut store: impl AsContextMut, position: u32) {
        if let DepthGlobal::WithPosition(global) = &self.depth_global {
            let depth = bits(global, &mut store) >> 32 << 32;
            set(global, &mut store, Val::I64((depth | u64::from(position)) as i64));
        }
    }

    pub(crate) fn get(&self, mut store: impl AsContextMut) -> RecorderState {
        RecorderState {
            depth: match &self.depth_global {
                DepthGlobal::Depth(global) => global.get(&mut store).i32().unwrap_or_default() as u32,
                DepthGlobal::WithPosition(global) => (bits(global, &mut store) >> 32) as u32,
            },
            stack: self.stack.get(&mut store).i32().unwrap_or_default() as u32,
            last: self.last.get(&mut store).i64().unwrap_or_default() as u64,
            instructions: self
                .instructions
                .map(|global| global.get(&mut store).i64().unwrap_or_default() as u64),
        }
    }

    pub(crate) fn set(&self, mut store: impl AsContextMut, state: RecorderState) {
        match &self.depth_global {
            DepthGlobal::Depth(global) => set(global, &mut store, Val::I32(state.depth as i32)),
            DepthGlobal::WithPosition(global) => {
                let position = u64::from(bits(global, &mut store) as u32);
                set(global, &mut store, Val::I64((u64::from(state.depth) << 32 | position) as i64));
            }
        }
        set(&self.stack, &mut store, Val::I32(state.stack as i32));
        set(&self.last, &mut store, Val::I64(state.last as i64));
        if let Some(allocator) = &self.allocator {
            let token = allocator.get(&mut store).i32().unwrap_or_default() as u32;
            if token > state.depth {
                set(allocator, &mut store, Val::I32(0));
            }
        }
    }
}

/// The value of a global of the recorder's, an i64.
fn bits(global: &Global, store: impl AsContextMut) -> u64 {
    global.get(store).i64().unwrap_or_default() as u64
}

/// Fails for values of another type only, and these are the recorder's own globals.
fn set(global: &Global, store: impl AsContextMut, value: Val) {
    let _ = global.set(store, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use kperf_abi::word::{Reason, Word};

    fn read(words: &[u32]) -> Option<RecorderState> {
        let mut block = BlockHeader { stack: 0, depth: 2, start_ticks: 100 }.to_bytes().to_vec();
        block.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        RecorderState::after(&block, |stack| stack * 10)
    }

    #[test]
    fn the_depth_follows_the_words() {
        let tail = read(&[Word::Time(5).encode(), 17, 17, 17, Word::Leave.encode()]);
        assert_eq!(tail, Some(RecorderState { last: 105, depth: 4, ..RecorderState::default() }));
        let unwind = Word::Unwind { depth: 1, reason: Reason::Trap }.encode();
        assert_eq!(
            read(&[17, unwind, 17]),
            Some(RecorderState { last: 100, depth: 2, ..RecorderState::default() })
        );
        assert_eq!(
            read(&[Word::WideTime.encode(), 1, 1]),
            Some(RecorderState { last: 101 + (1 << 32), depth: 2, ..RecorderState::default() })
        );
    }

    #[test]
    fn a_switch_goes_by_the_saved_depth() {
        let switches = [17, Word::Switch(3).encode(), 17, 17];
        assert_eq!(
            read(&switches),
            Some(RecorderState { last: 100, stack: 3, depth: 32, instructions: None })
        );
    }

    #[test]
    fn no_block_has_no_tail() {
        assert_eq!(RecorderState::after(&[0; 15], |_| 0), None);
        assert_eq!(
            read(&[Word::WideTime.encode(), 1]),
            Some(RecorderState { last: 100, depth: 2, ..RecorderState::default() })
        );
    }
}
