//! The memory that a record of a module is about.

use crate::symbols::Symbols;
use kperf_abi::FuncId;

/// Stands for all recorders that share a memory.
const SHARED: u32 = u32::MAX;

/// Stands for a module that isn't known.
const UNKNOWN: u32 = u32::MAX;

/// Stands for all modules that give their memory to others, or have it from others: it is taken to be one.
const LINKED: u32 = u32::MAX - 1;

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
    all: Vec<Module>,
    /// The range that was found last.
    last: Option<(u32, u32, usize)>,
}

#[derive(Clone, Debug, Default)]
struct Module {
    /// The module's hash or name: threads may have tables of their own for one module.
    identity: String,
    /// Which memory it has: its own number, or [`LINKED`].
    memory: u32,
    is_shared: bool,
}

impl Modules {
    /// One with functions of any id.
    #[cfg(test)]
    pub(super) fn one(is_shared: bool) -> Modules {
        let all = vec![Module { is_shared, ..Module::default() }];
        Modules { ranges: vec![(0, u32::MAX, 0)], all, last: None }
    }

    /// Reads the symbols again, as modules were added.
    pub(super) fn add(&mut self, symbols: &Symbols) {
        self.last = None;
        self.ranges.clear();
        for table in symbols.tables() {
            let Some(allocations) = &table.module.allocations else { continue };
            let (sha256, name) = (&table.module.sha256, &table.module.name);
            let identity = if sha256.is_empty() { name } else { sha256 };
            let known = self.all.iter().position(|other| other.identity == *identity);
            let place = known.unwrap_or(self.all.len());
            if place == self.all.len() {
                let memory = if allocations.linked_memory { LINKED } else { place as u32 };
                let is_shared = allocations.shared_memory;
                self.all.push(Module { identity: identity.clone(), memory, is_shared });
            }
            self.ranges.push((table.id_base, table.id_end(), place));
        }
    }

    pub(super) fn any_is_shared(&self) -> bool {
        self.all.iter().any(|module| module.is_shared)
    }

    /// The memory that a function of a recorder's instance uses, and whether that is known.
    pub(super) fn memory(&mut self, recorder: u32, FuncId(by): FuncId) -> (Memory, bool) {
        let of = |module: &Module| Memory {
            recorder: if module.is_shared { SHARED } else { recorder },
            module: module.memory,
        };
        if let [module] = &self.all[..] {
            return (of(module), true);
        }
        let holds = |&(first, end, _): &(u32, u32, usize)| first <= by && by < end;
        if !self.last.as_ref().is_some_and(holds) {
            let after = self.ranges.partition_point(|&(first, ..)| first <= by);
            self.last = after.checked_sub(1).and_then(|at| self.ranges.get(at).copied()).filter(holds);
        }
        match self.last.and_then(|(.., place)| self.all.get(place)) {
            Some(module) => (of(module), true),
            None => {
                let recorder = if self.any_is_shared() { SHARED } else { recorder };
                (Memory { recorder, module: UNKNOWN }, self.all.is_empty())
            }
        }
    }
}
