//! The open calls between two blocks of a recorder, where one file of a trace ends and the next begins.

use kperf_abi::block::BlockHeader;
use kperf_abi::word::{self, Effect, Reason, Step, Word};
use std::collections::BTreeMap;

/// The calls that a recorder's blocks have left open.
#[derive(Clone, Default)]
pub(super) struct OpenCalls {
    /// The stack that runs.
    running: u32,
    /// The open calls of each stack, the outermost first; `None` for a call with a lost enter.
    stacks: BTreeMap<u32, Vec<Option<u32>>>,
    /// The time of the last event.
    pub(super) last: u64,
}

/// What a block of one stack changes in the open calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// The stack.
    pub(super) stack: u32,
    /// How many of its calls are open at the beginning, and how many of these stay open.
    pub(super) depth: u32,
    pub(super) kept: u32,
    /// The calls that it opens and leaves open, the outermost first.
    pub(super) opened: Box<[u32]>,
    /// The time of the last event.
    pub(super) last: u64,
}

/// More open calls than this don't fit into a block.
const MOST: usize = 500_000;

impl OpenCalls {
    /// Follows the recorder's next block.
    pub(super) fn follow(&mut self, block: &[u8]) {
        let Some((header, words)) = BlockHeader::split(block) else { return };
        self.running = header.stack;
        self.last = header.start_ticks;
        let mut calls = self.stacks.remove(&self.running).unwrap_or_default();
        calls.resize(header.depth as usize, None);
        for step in word::steps(words) {
            match step {
                Step::Passed(ticks) => self.last = self.last.saturating_add(ticks),
                Step::Word(_, Effect::Opens(id)) => calls.push(Some(id)),
                Step::Word(_, Effect::Closes) => drop(calls.pop()),
                Step::Word(_, Effect::ClosesTo(depth)) => calls.truncate(depth as usize),
                Step::Word(_, Effect::Switches(stack)) => {
                    let before = std::mem::replace(&mut self.running, stack);
                    self.stacks.insert(before, calls);
                    calls = self.stacks.remove(&stack).unwrap_or_default();
                }
                Step::Word(_, Effect::Nothing) => {}
            }
        }
        self.stacks.insert(self.running, calls);
        self.stacks.retain(|_, calls| !calls.is_empty());
    }

    /// Follows the recorder's next block by what it changes.
    pub(super) fn apply(&mut self, change: &Change) {
        self.running = change.stack;
        self.last = change.last;
        let calls = self.stacks.entry(change.stack).or_default();
        calls.resize(change.depth as usize, None);
        calls.truncate(change.kept as usize);
        calls.extend(change.opened.iter().copied().map(Some));
        if calls.is_empty() {
            self.stacks.remove(&change.stack);
        }
    }

    /// How many calls are open, on all stacks.
    pub(super) fn count(&self) -> usize {
        self.stacks.values().map(Vec::len).sum()
    }

    /// A block that closes all open calls; `None` if there are none.
    pub(super) fn closing(&self) -> Option<Vec<u8>> {
        let depth = self.stacks.get(&self.running).map_or(0, Vec::len) as u32;
        self.block(depth, |_| vec![Word::Unwind { depth: 0, reason: Reason::Unfinished }])
    }

    /// A block that opens them again, in another file; `None` if there are none.
    pub(super) fn opening(&self) -> Option<Vec<u8>> {
        self.block(0, |calls| calls.iter().flatten().map(|&id| Word::Enter(id)).collect())
    }

    /// A block with these words for each stack with open calls; the running stack comes last.
    fn block(&self, depth: u32, words: impl Fn(&[Option<u32>]) -> Vec<Word>) -> Option<Vec<u8>> {
        // After a lost enter, the callers of the other calls are unknown.
        let known = |calls: &&Vec<_>| calls.iter().all(Option::is_some);
        let stacks = self.stacks.iter().filter(|(_, calls)| known(calls));
        let (runs, others): (Vec<_>, Vec<_>) = stacks.partition(|(stack, _)| **stack == self.running);
        if runs.len() + others.len() == 0 || self.count() > MOST {
            return None;
        }
        let header = BlockHeader { stack: self.running, depth, start_ticks: self.last };
        let mut block = header.to_bytes().to_vec();
        let mut put = |word: Word| block.extend(word.encode().to_le_bytes());
        for &(&stack, calls) in &others {
            put(Word::Switch(stack));
            words(calls).into_iter().for_each(&mut put);
        }
        if !others.is_empty() {
            put(Word::Switch(self.running));
        }
        for (_, calls) in runs {
            words(calls).into_iter().for_each(&mut put);
        }
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(header: BlockHeader, words: &[Word]) -> Vec<u8> {
        let mut block = header.to_bytes().to_vec();
        block.extend(words.iter().flat_map(|word| word.encode().to_le_bytes()));
        block
    }

    #[test]
    fn what_is_open_is_closed_and_opened_again() {
        let mut open = OpenCalls::default();
        assert!(open.closing().is_none());
        let enter = Word::Enter;
        open.follow(&block(
            BlockHeader::default(),
            &[
                enter(1),
                Word::Time(5),
                enter(2),
                Word::Leave,
                Word::Switch(3),
                enter(4),
                enter(5),
                Word::Switch(0),
            ],
        ));
        let unfinished = Word::Unwind { depth: 0, reason: Reason::Unfinished };
        let header = BlockHeader { stack: 0, depth: 1, start_ticks: 5 };
        let closing = block(header, &[Word::Switch(3), unfinished, Word::Switch(0), unfinished]);
        assert_eq!(open.closing(), Some(closing));
        let opening = [Word::Switch(3), enter(4), enter(5), Word::Switch(0), enter(1)];
        assert_eq!(open.opening(), Some(block(BlockHeader { depth: 0, ..header }, &opening)));
        // The same again from the other file's front.
        let mut next = OpenCalls::default();
        next.follow(&block(BlockHeader { depth: 0, ..header }, &opening));
        assert_eq!(next.closing(), open.closing());
    }

    #[test]
    fn calls_whose_enter_is_lost_are_not_made_up() {
        let mut open = OpenCalls::default();
        open.follow(&block(BlockHeader { stack: 0, depth: 2, start_ticks: 9 }, &[Word::Enter(7)]));
        assert!(open.opening().is_none() && open.closing().is_none());
        open.follow(&block(
            BlockHeader { stack: 0, depth: 3, start_ticks: 9 },
            &[Word::Unwind { depth: 0, reason: Reason::Trap }, Word::Enter(8)],
        ));
        assert!(open.opening().is_some());
    }
}
