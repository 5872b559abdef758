//! The options of a rewriting.

use crate::debug_info::symbol_file::SymbolFile;
use crate::filter::Filter;
use crate::host::Host;
use crate::recording::Recording;

/// What to rewrite, and how. The default puts a probe into every function that the module defines.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What is recorded, and where the recorder is.
    pub recording: Recording,
    /// Which functions get probes, by their demangled names.
    pub filter: Filter,
    /// Functions with fewer instructions get no probe. The body's final `end` is not counted.
    pub min_instructions: u32,
    /// Only exported functions get probes.
    pub exports_only: bool,
    /// Imported functions get probes too: calls of them go through a thunk with a probe. Engine builtins (`wasm:*`)
    /// never do.
    pub imports: bool,
    /// What is known about the host. The more is known, the fewer calls need an `unwind` after them.
    pub host: Host,
    /// Allocator functions in addition to the ones with known names. Used if allocations are recorded.
    pub allocators: AllocatorOptions,
    /// The first function id.
    pub id_base: u32,
    /// Names and source lines for a stripped module.
    pub names: Option<SymbolFile>,
    /// Whether debug information (DWARF, source maps) is dropped. Otherwise it follows the code.
    pub drops_debug: bool,
    /// The URL of the rewritten module's source map, if `names` is the source map of the original. Without it the
    /// module names none.
    pub source_map_url: Option<String>,
    /// The name of a module that has none of its own.
    pub module_name: String,
    /// Where a module that records itself writes its trace, in a folder that it is given; `{module's name}.kperf` by default. The variable
    /// `KPERF_TRACE` of its environment is stronger.
    pub trace_path: Option<String>,
    /// These options as the user wrote them, for the symbol table.
    pub description: String,
    /// Whether the result is validated: an error instead of an invalid module. Debug builds always do it.
    #[cfg(feature = "validate")]
    pub validate: bool,
}

impl Options {
    /// Whether the options may leave out functions.
    pub(crate) fn chooses(&self) -> bool {
        !self.filter.is_empty() || self.min_instructions > 0 || self.exports_only
    }
}

/// Allocator functions of the program, in addition to the ones with known names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocatorOptions {
    /// Functions that have other names: for a role (`malloc`, `free`, ..) the name of the function.
    pub names: Vec<(String, String)>,
    /// Whether these functions may be in other modules of the program. One that a module lacks is then no error, but listed in
    /// [`Allocations::missing`](kperf_abi::symbols::Allocations::missing); one with other parameters is a warning.
    pub several: bool,
}
