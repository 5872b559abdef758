//! Finds calls that may reach a host function.
//!
//! A host function may call back into the guest, catch a failure there and return normally. The frames that this
//! leaves open must be closed by its caller. Emscripten's `invoke_*` do so, and JavaScript functions may be in tables
//! (`addFunction`). A module that no host function can enter pays nothing.
//!
//! A call may reach a host function if it
//!
//! - calls an import;
//! - calls through a table or a reference, where a host function may be: an import that the module refers to, or a
//!   function that entered as a value (see [`crate::module::boundary`]);
//! - calls a function of the module that ends in such a call by a tail call.
//!
//! Three assumptions: engine builtins (`wasm:*`) never call back; a function that became part of an engine's object
//! (a bound or wrapped function) is called as a host function; and what [`Host`] says.

use crate::host::Host;
use crate::module::boundary::Boundary;
use crate::module::functions::FunctionSet;
use crate::module::info::ModuleInfo;
use crate::module::operators::{self, Effect};
use std::collections::HashMap;
use wasmparser::Operator;

/// A tail call. It counts as a call by the caller's caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailCall {
    pub(crate) caller: u32,
    /// `None` for a call through a table or a reference.
    pub(crate) callee: Option<u32>,
}

/// Calls that may reach host functions.
pub(crate) struct HostReach {
    functions: FunctionSet,
    references: bool,
}

impl HostReach {
    /// What follows without the bodies: all but tail calls.
    pub(crate) fn find(info: &ModuleInfo<'_>, host: &Host) -> HostReach {
        let mut functions = FunctionSet::default();
        for (index, import) in info.imported_funcs.iter().enumerate() {
            if !host.is_harmless(import.module) {
                functions.insert(index as u32);
            }
        }
        let Boundary { lets_in, lets_out, references_take } = info.boundary;
        let comes_in = !host.closed && (lets_in || lets_out && references_take);
        let exported = || info.exported_funcs.keys().any(|&index| functions.contains(index));
        let references = comes_in || functions.meets(&info.referenced) || exported();
        HostReach { functions, references }
    }

    /// Adds the callers of tail calls. Returns whether there are new ones.
    pub(crate) fn follow(&mut self, info: &ModuleInfo<'_>, tails: &[TailCall]) -> bool {
        let mut callers: HashMap<Option<u32>, Vec<u32>> = HashMap::new();
        for tail in tails {
            callers.entry(tail.callee).or_default().push(tail.caller);
        }
        let mut known: Vec<Option<u32>> = callers
            .keys()
            .copied()
            .filter(|&callee| callee.map_or(self.references, |f| self.function(f)))
            .collect();
        let mut grown = false;
        while let Some(callee) = known.pop() {
            for &caller in callers.get(&callee).into_iter().flatten() {
                if self.functions.insert(caller) {
                    grown = true;
                    known.push(Some(caller));
                    let is_referenced =
                        info.referenced.contains(caller) || info.exported_funcs.contains_key(&caller);
                    if !self.references && is_referenced {
                        self.references = true;
                        known.push(None);
                    }
                }
            }
        }
        grown
    }

    /// Whether a call of this function may leave frames open.
    #[inline]
    pub(crate) fn function(&self, index: u32) -> bool {
        self.functions.contains(index)
    }

    /// Whether a call through a table or a reference may leave frames open.
    #[inline]
    pub(crate) fn references(&self) -> bool {
        self.references
    }

    /// Whether something may have been caught before the next instruction: by this one, or in a host function.
    #[inline]
    pub(crate) fn may_catch(&self, operator: &Operator<'_>) -> bool {
        match operators::effect(operator) {
            Effect::Catches => true,
            Effect::OpensTable => {
                matches!(operator, Operator::TryTable { try_table } if !try_table.catches.is_empty())
            }
            Effect::Calls => operators::function(operator).is_some_and(|callee| self.function(callee)),
            Effect::CallsReference => self.references,
            _ => false,
        }
    }

    /// Whether any call may leave frames open.
    pub(crate) fn anything(&self) -> bool {
        self.references || !self.functions.is_empty()
    }
}
