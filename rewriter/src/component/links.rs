//! Finds the module and the name from which core modules import each function.
//!
//! An import that is supplied later goes through a trampoline: one module exports functions that call through its
//! table, and another, the fixups, fills that table with functions of the same names.

use std::collections::{BTreeSet, HashMap, HashSet};

/// The origin of a core function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Origin<'a> {
    /// A module's export: the module's number, and the name.
    Module(usize, &'a str),
    /// A lowered function: the component's number, and the function's index.
    Lowered(usize, u32),
}

/// The component and index of a lowered function, by import module and name.
pub(super) type Lowered<'a> = HashMap<(&'a str, &'a str), (usize, u32)>;

/// The exports of a core instance.
#[derive(Clone, Copy)]
pub(super) enum Source<'s, 'a> {
    /// Those of this module.
    Module(usize),
    /// Functions and tables that are listed one by one.
    Bag(&'s Bag<'a>),
}

/// Functions and tables that are listed one by one, with their origins in core modules.
#[derive(Default)]
pub(super) struct Bag<'a> {
    pub(super) functions: HashMap<&'a str, Option<Origin<'a>>>,
    pub(super) tables: Vec<Option<usize>>,
}

/// The origins of functions that core modules import.
#[derive(Default)]
pub(super) struct Links<'a> {
    /// The names that a module imports, by its number and the import module.
    imports: HashMap<(usize, &'a str), Vec<&'a str>>,
    /// The origins of an import, over all instances of the module, by the module's number and the import.
    from: HashMap<(usize, &'a str, &'a str), BTreeSet<Origin<'a>>>,
    /// The functions that a trampoline calls, by its module and name.
    behind: HashMap<(usize, &'a str), BTreeSet<Origin<'a>>>,
    /// Modules that fill tables of other modules.
    fixups: HashSet<usize>,
}

impl<'a> Links<'a> {
    /// Notes that a module imports a function.
    pub(super) fn imports(&mut self, module: usize, from: &'a str, name: &'a str) {
        self.imports.entry((module, from)).or_default().push(name);
    }

    /// Notes that a module fills tables that it imports.
    pub(super) fn fills(&mut self, module: usize) {
        self.fixups.insert(module);
    }

    /// Notes that a module is instantiated with an instance named `from`.
    pub(super) fn link(&mut self, module: usize, from: &'a str, source: Source<'_, 'a>) {
        let names = self.imports.get(&(module, from)).map(Vec::as_slice).unwrap_or_default();
        for &name in names {
            let origin = match source {
                Source::Module(origin) => Some(Origin::Module(origin, name)),
                Source::Bag(bag) => bag.functions.get(name).copied().flatten(),
            };
            if let Some(origin) = origin {
                self.from.entry((module, from, name)).or_default().insert(origin);
            }
        }
    }

    /// Notes that a module that may fill tables is instantiated with these instances, by name.
    pub(super) fn fix(&mut self, module: usize, sources: &[(&'a str, Source<'_, 'a>)]) {
        if !self.fixups.contains(&module) {
            return;
        }
        let tables: BTreeSet<usize> = sources
            .iter()
            .flat_map(|(_, source)| match source {
                Source::Module(module) => vec![*module],
                Source::Bag(bag) => bag.tables.iter().flatten().copied().collect(),
            })
            .collect();
        for (from, source) in sources {
            let Source::Bag(bag) = source else { continue };
            for &name in self.imports.get(&(module, *from)).into_iter().flatten() {
                let Some(behind) = bag.functions.get(name).copied().flatten() else { continue };
                for &trampolines in &tables {
                    self.behind.entry((trampolines, name)).or_default().insert(behind);
                }
            }
        }
    }

    /// The imports from modules for which `has_probes` is true, by number of the importing module.
    pub(super) fn probed(
        &self,
        has_probes: impl Fn(usize) -> bool,
        are_trampolines: impl Fn(usize) -> bool,
    ) -> HashMap<usize, HashSet<(String, String)>> {
        let mut found: HashMap<usize, HashSet<(String, String)>> = HashMap::new();
        let is_one = |origin: &Origin<'a>| matches!(origin, Origin::Module(module, _) if has_probes(*module));
        let is_probed = |origin: &Origin<'a>| match *origin {
            Origin::Module(module, name) if are_trampolines(module) => {
                self.behind.get(&(module, name)).is_some_and(|behind| behind.iter().any(is_one))
            }
            _ => is_one(origin),
        };
        for ((module, from, name), origins) in &self.from {
            if origins.iter().any(is_probed) {
                found.entry(*module).or_default().insert(((*from).to_owned(), (*name).to_owned()));
            }
        }
        found
    }

    /// The imports that are lowered functions, the same in all instances: by number of the module, then by import
    /// module and name, the component and the function's index.
    pub(super) fn lowered(&self, are_trampolines: impl Fn(usize) -> bool) -> HashMap<usize, Lowered<'a>> {
        let mut found: HashMap<usize, Lowered<'a>> = HashMap::new();
        for (&(module, from, name), origins) in &self.from {
            let origins = match first_alone(origins) {
                Some(Origin::Module(module, name)) if are_trampolines(module) => {
                    self.behind.get(&(module, name))
                }
                _ => Some(origins),
            };
            if let Some(Origin::Lowered(component, function)) = origins.and_then(first_alone) {
                found.entry(module).or_default().insert((from, name), (component, function));
            }
        }
        found
    }
}

/// The element of a set with exactly one.
fn first_alone<T: Copy + Ord>(set: &BTreeSet<T>) -> Option<T> {
    set.first().copied().filter(|_| set.len() == 1)
}
