//! Counts the calls of blocks, and finds what they change in the open calls and which calls were slow.
//!
//! The writer's thread does this for each block, beside packing it, so the usual words take no branch: an enter, a leave and a time are
//! told apart by arithmetic.

use crate::keep::Slower;
use crate::writer::open_calls::Change;
use kperf_abi::SymbolTable;
use kperf_abi::block::BlockHeader;
use kperf_abi::word::{self, Effect, LEAF, LEAVE, MAX_FUNC_ID, Reason, Step, WAIT_ID, Word};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The calls of each function so far, and what slow calls are.
#[derive(Default)]
pub(super) struct Fold {
    tables: Vec<Counts>,
    /// The table of the last call.
    current: usize,
    /// Calls of functions in no table.
    others: BTreeMap<u32, u64>,
    slower: Vec<Slower>,
    watches: bool,
    /// The open calls of the block, around its middle.
    stack: Vec<u32>,
}

/// The functions of a symbol table.
struct Counts {
    first: u32,
    functions: u32,
    /// [`PARTS`] counts for each function, to be summed up, and some for words that are no calls.
    calls: Vec<u64>,
    /// From how many ticks on a call is slow; empty if no function of the table is watched.
    limits: Vec<u64>,
}

/// How many counts a function has, in turn: an addition waits for the last one in its place.
const PARTS: usize = 4;
/// How many counts are nobody's.
const NOBODY: usize = 2;

/// An open call of a function that may be slow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched {
    /// How many calls are open around it.
    depth: u32,
    id: u32,
    begun: u64,
    limit: u64,
}

/// What a block has.
#[derive(Debug, Default)]
pub(super) struct Folded {
    /// `None` if it switches stacks.
    pub(super) change: Option<Change>,
    /// The time of its last event.
    pub(super) last: u64,
    /// Its first slow call: the function, and how many ticks it took.
    pub(super) slow: Option<(u32, u64)>,
    /// Whether a trap, or an error of the host or an exception that left the guest, closed calls.
    pub(super) failed: Option<Reason>,
}

impl Fold {
    pub(super) fn new(slower: Vec<Slower>) -> Fold {
        Fold { slower, ..Fold::default() }
    }

    /// Adds the functions of a symbol table. `ticks` converts a time. Returns those that may be slow, with their names.
    pub(super) fn add(&mut self, table: &[u8], ticks: impl Fn(Duration) -> u64) -> Vec<(u32, Arc<str>)> {
        let Ok(table) = SymbolTable::from_bytes(table) else { return Vec::new() };
        let limit = |name: &str| {
            let limits =
                self.slower.iter().filter(|slower| (slower.matches)(name)).map(|slower| ticks(slower.limit));
            limits.min().unwrap_or(u64::MAX)
        };
        let mut limits: Vec<u64> = Vec::new();
        if !self.slower.is_empty() {
            limits.extend(table.symbols.iter().map(|symbol| limit(symbol.display_name())));
        }
        if limits.iter().all(|&limit| limit == u64::MAX) {
            limits.clear();
        }
        self.watches |= !limits.is_empty();
        let watched = table.symbols.iter().zip(&limits).filter(|(_, limit)| **limit != u64::MAX);
        let watched = watched.map(|(symbol, _)| (symbol.id.0, symbol.display_name().into())).collect();
        let functions = table.symbols.len();
        let calls = vec![0; PARTS * (functions + NOBODY)];
        self.tables.push(Counts { first: table.id_base, functions: functions as u32, calls, limits });
        watched
    }

    /// The functions that were called, with the numbers of their calls, in the order of their ids. Blocks that are folded later count
    /// too.
    pub(super) fn calls<'a>(&self, later: impl Iterator<Item = &'a Vec<u8>>) -> Vec<(u32, u64)> {
        let mut all: Vec<(u32, u64)> = self.others.iter().map(|(&id, &calls)| (id, calls)).collect();
        for (_, words) in later.filter_map(|block| BlockHeader::split(block)) {
            all.extend(word::steps(words).filter_map(|step| match step {
                Step::Word(_, Effect::Opens(id)) => Some((id, 1)),
                Step::Word(word, _) => match Word::decode(word) {
                    Some(Word::Leaf(id)) => Some((id, 1)),
                    _ => None,
                },
                _ => None,
            }));
        }
        for Counts { first, functions, calls, .. } in &self.tables {
            let parts = calls.as_chunks::<PARTS>().0.iter().take(*functions as usize);
            all.extend((*first..).zip(parts.map(|parts| parts.iter().sum())));
        }
        all.retain(|&(id, calls)| calls > 0 && id != WAIT_ID);
        all.sort_unstable();
        all.dedup_by(|more, function| {
            let is_same = more.0 == function.0;
            function.1 += if is_same { more.1 } else { 0 };
            is_same
        });
        all
    }

    /// Adds calls of a function.
    pub(super) fn count(&mut self, id: u32, more: u64) {
        let counts = self.table_of(id).and_then(|table| self.tables.get_mut(table));
        match counts.and_then(|counts| counts.calls.get_mut(PARTS * (id - counts.first) as usize)) {
            Some(calls) => *calls += more,
            None => *self.others.entry(id).or_default() += more,
        }
    }

    fn table_of(&self, id: u32) -> Option<usize> {
        self.tables.iter().position(|counts| (counts.first..counts.first + counts.functions).contains(&id))
    }

    /// The counts of the current table, with its first id and the number of its functions.
    fn take_counts(&mut self) -> (u32, u32, Vec<u64>) {
        let counts = self.tables.get_mut(self.current);
        counts.map_or((0, 0, Vec::new()), |counts| {
            (counts.first, counts.functions, std::mem::take(&mut counts.calls))
        })
    }

    fn give_counts(&mut self, calls: Vec<u64>) {
        if let Some(counts) = self.tables.get_mut(self.current) {
            counts.calls = calls;
        }
    }

    /// Folds a block. `open`: the watched calls that the lane's last block left open.
    pub(super) fn block(&mut self, block: &[u8], open: &mut Vec<Watched>) -> Folded {
        let Some((header, words)) = BlockHeader::split(block) else { return Folded::default() };
        let words = words.as_chunks().0;
        if self.watches {
            self.pass::<true>(header, words, open)
        } else {
            self.pass::<false>(header, words, open)
        }
    }

    /// `WATCH`: whether slow calls are looked for.
    fn pass<const WATCH: bool>(
        &mut self,
        header: BlockHeader,
        words: &[[u8; 4]],
        open: &mut Vec<Watched>,
    ) -> Folded {
        let middle = words.len();
        let mut stack = std::mem::take(&mut self.stack);
        if stack.len() < 2 * middle + 1 {
            stack.resize(2 * middle + 1, 0);
        }
        // The depth in the middle, and where no call is open.
        let mut base = header.depth;
        let mut lowest = middle.saturating_sub(base as usize);
        let depth_at = |base: u32, at: usize| (base as usize + at).saturating_sub(middle) as u32;
        open.retain(|watched| watched.depth < header.depth);
        let (mut at, mut low, mut now) = (middle, middle, header.start_ticks);
        let mut folded = Folded::default();
        let mut switches = false;
        let (mut first, mut functions, mut calls) = self.take_counts();
        let mut n = 0;
        while let Some(&word) = words.get(n) {
            n += 1;
            let word = u32::from_le_bytes(word);
            let tag = word >> 30;
            if tag == 3 {
                match Word::decode(word) {
                    Some(Word::WideTime) => {
                        let Some(&[low, high]) = words.get(n..n + 2) else { break };
                        n += 2;
                        let [low, high] = [low, high].map(|half| u64::from(u32::from_le_bytes(half)));
                        now = now.saturating_add(low | high << 32);
                    }
                    Some(Word::Unwind { depth, reason }) => {
                        let depth = depth.min(depth_at(base, at));
                        if depth <= depth_at(base, low) {
                            (base, at, low) = (depth, middle, middle);
                            lowest = middle.saturating_sub(base as usize);
                        } else {
                            at = (middle + depth as usize).saturating_sub(base as usize);
                        }
                        if matches!(reason, Reason::Trap | Reason::Host) {
                            folded.failed = folded.failed.or(Some(reason));
                        }
                    }
                    Some(Word::Switch(_)) => switches = true,
                    _ => {}
                }
            } else {
                let is_enter = tag == 0;
                let is_leave = word == LEAVE;
                let is_leaf = tag == 2 && !is_leave;
                if let Some(place) = stack.get_mut(at) {
                    // Only an enter's stays.
                    *place = word;
                }
                let id = if is_leaf { word.wrapping_sub(LEAF) } else { word };
                let is_call = is_enter || is_leaf;
                // A word that is no call counts for nobody.
                let index = if is_call { id.wrapping_sub(first) } else { functions + (n as u32 >> 2 & 1) };
                if is_call && index >= functions {
                    self.give_counts(calls);
                    self.current = self.table_of(id).unwrap_or(self.current);
                    self.count(id, 1);
                    (first, functions, calls) = self.take_counts();
                } else if let Some(calls) = calls.get_mut(PARTS * index as usize + n % PARTS) {
                    *calls += 1;
                }
                if WATCH && is_enter {
                    let limits = self.tables.get(self.current).map_or(&[][..], |counts| &counts.limits);
                    if let Some(&limit) =
                        limits.get(id.wrapping_sub(first) as usize).filter(|&&limit| limit != u64::MAX)
                    {
                        open.push(Watched { depth: depth_at(base, at), id, begun: now, limit });
                    }
                }
                at = (at + usize::from(is_enter)).saturating_sub(usize::from(is_leave)).max(lowest);
                now = now.saturating_add(u64::from(if tag == 1 { word & MAX_FUNC_ID } else { 0 }));
            }
            low = low.min(at);
            if WATCH {
                while let Some(Watched { id, begun, limit, .. }) =
                    open.pop_if(|top| depth_at(base, at) <= top.depth)
                {
                    let took = now.saturating_sub(begun);
                    if took >= limit && !switches {
                        folded.slow = folded.slow.or(Some((id, took)));
                    }
                }
            }
        }
        if switches {
            // Their depths are of several stacks.
            open.clear();
        } else {
            let opened = stack.get(low..at).unwrap_or_default().into();
            let (depth, kept) = (header.depth, depth_at(base, low));
            folded.change = Some(Change { stack: header.stack, depth, kept, opened, last: now });
        }
        folded.last = now;
        self.stack = stack;
        self.give_counts(calls);
        folded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::open_calls::OpenCalls;
    use kperf_abi::symbols::Symbol;
    use kperf_abi::{FuncId, FuncIndex};

    fn table(first: u32, names: &[&str]) -> Vec<u8> {
        let symbols = names.iter().zip(first..).map(|(name, id)| Symbol {
            id: FuncId(id),
            func_index: FuncIndex(id),
            name: (*name).into(),
            ..Symbol::default()
        });
        SymbolTable { id_base: first, symbols: symbols.collect(), ..SymbolTable::default() }.to_bytes()
    }

    fn fold(limit: Option<u64>) -> Fold {
        let slower = limit.map(|limit| Slower {
            matches: Box::new(|name| name == "slow"),
            limit: Duration::from_nanos(limit),
        });
        let mut fold = Fold::new(slower.into_iter().collect());
        for (first, names) in [(3, &["a", "b", "slow"][..]), (100, &["c", "slow"])] {
            fold.add(&table(first, names), |time| time.as_nanos() as u64);
        }
        fold
    }

    fn block(header: BlockHeader, words: &[Word]) -> Vec<u8> {
        let mut block = header.to_bytes().to_vec();
        block.extend(words.iter().flat_map(|word| word.encode().to_le_bytes()));
        block
    }

    /// The calls of a block, one word after the other.
    fn simply(block: &[u8], calls: &mut BTreeMap<u32, u64>) {
        let (_, words) = BlockHeader::split(block).expect("a block");
        for step in word::steps(words) {
            if let Step::Word(word, effect) = step {
                match (effect, Word::decode(word)) {
                    (Effect::Opens(id), _) | (_, Some(Word::Leaf(id))) => *calls.entry(id).or_default() += 1,
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn what_blocks_change_is_what_their_words_say() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let ids = [3, 4, 5, 6, 99, 100, 101, 102, 7_000_000];
        for watched in [None, Some(40)] {
            let mut fold = fold(watched);
            let (mut expected, mut changed) = (OpenCalls::default(), OpenCalls::default());
            let (mut calls, mut open, mut depth) = (BTreeMap::new(), Vec::new(), 0u32);
            for _ in 0..3_000 {
                let header = BlockHeader { stack: 0, depth, start_ticks: expected.last };
                let mut words = Vec::new();
                for _ in 0..random(40) {
                    let id = ids[random(9) as usize];
                    words.push(match random(16) {
                        0..5 => Word::Enter(id),
                        5..10 => Word::Leave,
                        10 | 11 => Word::Leaf(id),
                        12..15 => Word::Time(random(30) as u32),
                        _ if random(4) > 0 => Word::Mark(3),
                        _ => Word::Unwind {
                            depth: random(u64::from(depth) + 3) as u32,
                            reason: Reason::Caught,
                        },
                    });
                }
                let mut block = block(header, &words);
                if random(9) == 0 {
                    block.extend(Word::WideTime.encode().to_le_bytes());
                    block.extend((1u64 << 33).to_le_bytes());
                }
                expected.follow(&block);
                simply(&block, &mut calls);
                // A dump that comes before it is folded counts it too.
                let counted = || calls.iter().map(|(&id, &calls)| (id, calls)).collect::<Vec<_>>();
                assert_eq!(fold.calls([&block].into_iter()), counted(), "{words:?}");
                let folded = fold.block(&block, &mut open);
                changed.apply(&folded.change.expect("one stack"));
                assert_eq!(changed.opening(), expected.opening(), "{words:?}");
                assert_eq!((changed.count(), folded.last), (expected.count(), expected.last), "{words:?}");
                depth = expected.count() as u32;
            }
            assert_eq!(fold.calls([].iter()), calls.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn slow_calls_are_found_across_blocks() {
        let mut fold = fold(Some(40));
        let mut open = Vec::new();
        let mut slow = |depth, start_ticks, words: &[Word]| {
            let header = BlockHeader { stack: 0, depth, start_ticks };
            fold.block(&block(header, words), &mut open).slow
        };
        let (enter, time, leave) = (Word::Enter, Word::Time, Word::Leave);
        assert_eq!(slow(0, 5, &[enter(3), enter(5), time(39), leave, enter(5), time(30), enter(4)]), None);
        // Another one inside is not slow.
        assert_eq!(slow(3, 74, &[time(9), leave, enter(101), time(1), leave, leave]), Some((5, 40)));
        let failed = Word::Unwind { depth: 0, reason: Reason::Trap };
        assert_eq!(slow(1, 84, &[enter(101), time(50), failed]), Some((101, 50)));
        assert_eq!(slow(0, 134, &[enter(101), Word::Switch(1), time(50), leave]), None);
    }

    #[test]
    fn failures_are_found_and_switches_counted() {
        let mut fold = fold(None);
        let mut open = Vec::new();
        let unwind = |reason| [Word::Enter(3), Word::Unwind { depth: 0, reason }];
        let header = BlockHeader::default();
        let mut failed = |reason| fold.block(&block(header, &unwind(reason)), &mut open).failed;
        let found = Reason::ALL.map(&mut failed);
        assert_eq!(found.iter().flatten().copied().collect::<Vec<_>>(), [Reason::Trap, Reason::Host]);
        let switches = block(header, &[Word::Enter(4), Word::Switch(2), Word::Enter(4), Word::Leaf(100)]);
        assert!(fold.block(&switches, &mut open).change.is_none());
        assert_eq!(fold.calls([].iter()), [(3, 6), (4, 2), (100, 1)]);
        // Cut off.
        assert_eq!(fold.block(&[0; 15], &mut open).last, 0);
        assert!(Fold::default().block(&switches, &mut open).change.is_none());
    }
}
