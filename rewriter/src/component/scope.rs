//! Maps old indices to new ones, for each kind and each component. Definitions are counted as they are written, so
//! others can come between them.

use std::collections::HashMap;
use wasmparser::{ComponentExternalKind, ExternalKind};

/// One index space.
#[derive(Debug, Default)]
pub(super) struct Space {
    map: Vec<u32>,
    next: u32,
}

impl Space {
    /// The original's next definition is written.
    pub(super) fn keep(&mut self) {
        self.map.push(self.next);
        self.next += 1;
    }

    /// An added definition is written; returns its index.
    pub(super) fn add(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// Whether the original's definition with this index is written.
    pub(super) fn has(&self, old: u32) -> bool {
        (old as usize) < self.map.len()
    }

    /// Number of written definitions.
    pub(super) fn len(&self) -> usize {
        self.next as usize
    }

    /// The new index. An out-of-range index (only names can have one) stays out of range.
    pub(super) fn get(&self, old: u32) -> u32 {
        self.map.get(old as usize).copied().unwrap_or(u32::MAX)
    }
}

/// A core function with a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wrapped {
    /// It runs while its component may not be left: its index in the original.
    Held(u32),
    /// It is lifted: the number of the lift in its component.
    Lifted(usize),
    /// It continues a call of a lifted function.
    Callback(usize),
}

/// The index spaces of a component.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Its number in the scan. `None`: a scope of types, which gets no additions.
    pub(super) component: Option<usize>,
    pub(super) types: Space,
    pub(super) instances: Space,
    pub(super) functions: Space,
    pub(super) components: Space,
    pub(super) values: Space,
    pub(super) core_types: Space,
    pub(super) core_modules: Space,
    pub(super) core_instances: Space,
    pub(super) core_functions: Space,
    pub(super) core_memories: Space,
    pub(super) core_tables: Space,
    pub(super) core_globals: Space,
    pub(super) core_tags: Space,
    /// The original's modules and components by index, as numbers in the scan.
    pub(super) known_modules: Vec<Option<usize>>,
    pub(super) known_components: Vec<Option<usize>>,
    /// The instance of the host's functions, if it is imported.
    pub(super) host: Option<u32>,
    /// The core instance of the recorder, if there is one.
    pub(super) recorder: Option<u32>,
    /// The guards, by the function that each is for.
    pub(super) guards: HashMap<Wrapped, u32>,
    /// Number of lifted functions so far.
    pub(super) lifts: usize,
    /// Number of guard modules that record calls from outside.
    pub(super) tables: usize,
}

impl Scope {
    pub(super) fn of(component: usize) -> Scope {
        Scope { component: Some(component), ..Scope::default() }
    }

    /// An index in one of the spaces. In a scope of types nothing moves.
    pub(super) fn index(&self, space: impl FnOnce(&Scope) -> &Space, old: u32) -> u32 {
        if self.component.is_some() { space(self).get(old) } else { old }
    }

    /// The original's next definition of this kind is an import or an alias.
    pub(super) fn keep(&mut self, kind: ComponentExternalKind) {
        match kind {
            ComponentExternalKind::Func => self.functions.keep(),
            ComponentExternalKind::Module => self.keep_module(None),
            ComponentExternalKind::Component => self.keep_component(None),
            ComponentExternalKind::Type => self.types.keep(),
            ComponentExternalKind::Instance => self.instances.keep(),
            ComponentExternalKind::Value => self.values.keep(),
        }
    }

    pub(super) fn keep_module(&mut self, known: Option<usize>) {
        self.core_modules.keep();
        self.known_modules.push(known);
    }

    pub(super) fn keep_component(&mut self, known: Option<usize>) {
        self.components.keep();
        self.known_components.push(known);
    }

    /// The original's next core definition of this kind is an alias.
    pub(super) fn keep_core(&mut self, kind: ExternalKind) {
        match kind {
            ExternalKind::Func | ExternalKind::FuncExact => self.core_functions.keep(),
            ExternalKind::Table => self.core_tables.keep(),
            ExternalKind::Memory => self.core_memories.keep(),
            ExternalKind::Global => self.core_globals.keep(),
            ExternalKind::Tag => self.core_tags.keep(),
        }
    }

    pub(super) fn module(&self, index: u32) -> Option<usize> {
        self.known_modules.get(index as usize).copied().flatten()
    }

    pub(super) fn component(&self, index: u32) -> Option<usize> {
        self.known_components.get(index as usize).copied().flatten()
    }
}
