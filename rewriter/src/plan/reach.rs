//! Where a call may reach a function of the host that calls back into the guest, catches what goes wrong there, and
//! returns as if nothing had happened: the frames it left open must be closed by the caller. Emscripten's `invoke_*` do
//! so, and JavaScript functions may sit in tables (`addFunction`). A module that no host function can get into doesn't
//! pay for it.
//!
//! A call may reach one if it
//!
//! - calls an import;
//! - calls through a table or a reference, and a function of the host's may be there: an import that the module refers to
//!   itself, or one that has come in with a value from outside (see [`crate::module::boundary`]);
//! - calls a function of the module's that ends in one of these by a tail call.
//!
//! Three things are taken for granted: engine builtins (`wasm:*`) are instructions in all but name; a function that has become
//! a part of an engine's object (a bound function, a wrapped one) is called as a host function; and what [`Host`] says.

use crate::Pattern;
use crate::module::boundary::Boundary;
use crate::module::functions::FunctionSet;
use crate::module::info::ModuleInfo;
use crate::module::operators::{self, Effect};
use std::collections::HashMap;
use wasmparser::Operator;

/// What is known of the host that a module will run in. The default takes nothing for granted.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Import modules whose functions never call back into the guest, or never catch what fails there. Calls of them need no
    /// `unwind`.
    pub harmless: Vec<Pattern>,
    /// The host passes its functions to the module only as imports. It never puts one into an exported table or global, and never
    /// passes one as a value, alone or within an object.
    pub closed: bool,
}

impl Host {
    /// A host that never calls back into the guest, such as WASI.
    pub fn harmless() -> Host {
        Host { harmless: Pattern::glob("*").into_iter().collect(), closed: true }
    }

    fn is_harmless(&self, module: &str) -> bool {
        module.starts_with("wasm:") || self.harmless.iter().any(|pattern| pattern.matches(module))
    }
}

/// A tail call. What it ends in is as if it was called by the caller's caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailCall {
    pub(crate) caller: u32,
    /// `None` for one through a table or a reference.
    pub(crate) callee: Option<u32>,
}

/// Which calls may run host functions.
pub(crate) struct HostReach {
    functions: FunctionSet,
    references: bool,
}

impl HostReach {
    /// What can be told without the bodies: all but tail calls.
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

    /// Adds what tail calls lead to. Answers whether anything is new.
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

    /// Whether calling this function may leave frames open.
    #[inline]
    pub(crate) fn function(&self, index: u32) -> bool {
        self.functions.contains(index)
    }

    /// Whether a call through a table or a reference may.
    #[inline]
    pub(crate) fn references(&self) -> bool {
        self.references
    }

    /// Whether something may have been caught behind an instruction: there, or in a function of the host's.
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

    /// Whether any call may.
    pub(crate) fn anything(&self) -> bool {
        self.references || !self.functions.is_empty()
    }
}
