//! Whose memory a record is about.

use crate::symbols::Symbols;
use kperf_abi::FuncId;
use kperf_abi::symbols::Allocations;

/// Stands for all recorders that share a memory.
const SHARED: u32 = u32::MAX;

/// Stands for a module that isn't known.
const UNKNOWN: u32 = u32::MAX;

/// A memory that blocks are in: one of a module's in each instance, or in all of them. Pointers to it are no other memory's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Memory {
    /// Its recorder, or [`SHARED`].
    recorder: u32,
    module: u32,
}

impl Memory {
    pub(super) fn is_shared(self) -> bool {
        self.recorder == SHARED
    }
}

/// The modules of a trace whose allocations are recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Modules {
    /// The ids of a table's functions, in their order, and its place in `all`.
    ranges: Vec<(u32, u32, usize)>,
    /// What tells each from others, and whether its memory is shared: threads may have tables of their own for one module.
    all: Vec<((String, String), bool)>,
    /// The range that was found last.
    last: Option<(u32, u32, usize)>,
}

impl Modules {
    /// One with functions of any id.
    #[cfg(test)]
    pub(super) fn one(is_shared: bool) -> Modules {
        Modules { ranges: vec![(0, u32::MAX, 0)], all: vec![Default::default()], last: None }
            .shared(is_shared)
    }

    #[cfg(test)]
    fn shared(mut self, is_shared: bool) -> Modules {
        self.all.iter_mut().for_each(|module| module.1 = is_shared);
        self
    }

    /// There are more of them.
    pub(super) fn add(&mut self, symbols: &Symbols) {
        self.last = None;
        self.ranges.clear();
        for table in symbols.tables() {
            let Some(Allocations { shared_memory, .. }) = table.module.allocations else { continue };
            let module = (table.module.sha256.clone(), table.module.name.clone());
            let known = self.all.iter().position(|(other, _)| *other == module);
            let place = known.unwrap_or(self.all.len());
            if place == self.all.len() {
                self.all.push((module, shared_memory));
            }
            self.ranges.push((table.id_base, table.id_end(), place));
        }
    }

    pub(super) fn any_is_shared(&self) -> bool {
        self.all.iter().any(|&(_, is_shared)| is_shared)
    }

    /// The memory of a recorder's instance that the code of a function is about, and whether that is known.
    pub(super) fn memory(&mut self, recorder: u32, FuncId(by): FuncId) -> (Memory, bool) {
        if let [(_, is_shared)] = self.all[..] {
            return (Memory { recorder: if is_shared { SHARED } else { recorder }, module: 0 }, true);
        }
        let holds = |&(first, end, _): &(u32, u32, usize)| first <= by && by < end;
        if !self.last.as_ref().is_some_and(holds) {
            let behind = self.ranges.partition_point(|&(first, ..)| first <= by);
            self.last = behind.checked_sub(1).and_then(|at| self.ranges.get(at).copied()).filter(holds);
        }
        match self.last {
            Some((.., module)) => {
                let recorder = if self.all[module].1 { SHARED } else { recorder };
                (Memory { recorder, module: module as u32 }, true)
            }
            None => {
                let recorder = if self.any_is_shared() { SHARED } else { recorder };
                (Memory { recorder, module: UNKNOWN }, self.all.is_empty())
            }
        }
    }
}
