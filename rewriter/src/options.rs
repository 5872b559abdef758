use crate::{AllocatorOptions, Filter, Host, Recording, SymbolFile};

/// What to rewrite, and how. The default puts a probe into every function that the module defines.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What is recorded, and where the recorder is.
    pub recording: Recording,
    /// Which functions, by their demangled names.
    pub filter: Filter,
    /// Functions with fewer instructions get no probe (the body's last `end` isn't counted).
    pub min_instructions: u32,
    /// Of the functions that the module defines, only those that it exports.
    pub exports_only: bool,
    /// Calls of the host's functions too: each goes through a thunk with a probe. Engine builtins (`wasm:*`) never.
    pub imports: bool,
    /// What is known of the host. The more is known, the fewer calls need an `unwind` behind them.
    pub host: Host,
    /// Which functions are allocators', beyond those with known names, if allocations are recorded.
    pub allocators: AllocatorOptions,
    /// The first FuncId.
    pub id_base: u32,
    /// Names for a module that was stripped of its own, and places in the source.
    pub names: Option<SymbolFile>,
    /// Whether debug information (DWARF, source maps) is left out. It is changed to follow the code otherwise.
    pub drops_debug: bool,
    /// Where the source map of the rewritten module will be, if `names` is the source map of the original. Without it that
    /// module names none.
    pub source_map_url: Option<String>,
    /// What to call a module that doesn't say its name.
    pub module_name: String,
    /// These options as one would type them, for the symbol table.
    pub description: String,
    /// Check the result with a validator: an error instead of a module that no engine takes. Always done in debug builds.
    #[cfg(feature = "validate")]
    pub validate: bool,
}

impl Options {
    /// Whether some functions may be left out by the user's choice.
    pub(crate) fn chooses(&self) -> bool {
        !self.filter.is_empty() || self.min_instructions > 0 || self.exports_only
    }
}
