use crate::{Filter, Leaf, NameMap, Probe};

/// What to rewrite, and how. The default puts a probe into every function that the module defines.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where the probes come from.
    pub probe: Probe,
    /// Whether functions that nothing happens in are timed. They always are where the probe is not [`Probe::Inline`].
    pub leaf: Leaf,
    /// Which functions, by their demangled names.
    pub filter: Filter,
    /// Functions with fewer instructions get no probe (the body's last `end` isn't counted).
    pub min_instructions: u32,
    /// Of the functions that the module defines, only those that it exports.
    pub exports_only: bool,
    /// Calls of the host's functions too: each goes through a thunk with a probe. Engine builtins (`wasm:*`) never.
    pub imports: bool,
    /// The first FuncId.
    pub id_base: u32,
    /// Names for a module that was stripped of its own.
    pub names: Option<NameMap>,
    /// What to call a module that doesn't say its name.
    pub module_name: String,
    /// These options as one would type them, for the symbol table.
    pub description: String,
    /// Check the result with a validator: an error instead of a module that no engine takes. Always done in debug builds.
    pub validate: bool,
}

impl Options {
    /// Whether some functions may be left out by the user's choice.
    pub(crate) fn chooses(&self) -> bool {
        !self.filter.is_empty() || self.min_instructions > 0 || self.exports_only
    }
}
