//! Puts enter/leave probes around every function of a WebAssembly module.
//!
//! [`rewrite`] takes the bytes of a module, and returns new bytes and a [`SymbolTable`]; [`rewrite_component`] does
//! so for components. The crate does no IO and knows no runtime.
//!
//! - `module` reads a module.
//! - `names` names its functions.
//! - `plan` decides which functions get probes.
//! - `instrument` writes the new module.

#[cfg(feature = "components")]
mod component;
mod debug_info;
mod error;
mod filter;
mod glob;
mod host;
mod instrument;
mod mismatch;
mod module;
mod names;
mod options;
mod plan;
mod recording;
mod skipped;
mod surroundings;
mod warning;

#[cfg(feature = "components")]
pub use component::{
    CoreModule, Described, Records, RewrittenComponent, component_records, core_modules, is_component,
    probed_component, rewrite_component,
};
pub use debug_info::debug_companion::DebugCompanion;
pub use debug_info::source_map::SourceMap;
pub use debug_info::symbol_file::SymbolFile;
pub use error::{Error, ErrorKind, ModuleFeature};
pub use filter::{Filter, Pattern};
pub use host::Host;
pub use instrument::pass::{Rewritten, identity, plan, rewrite};
pub use mismatch::Mismatch;
pub use names::map::NameMap;
pub use options::{AllocatorOptions, Options};
pub use plan::choose::{Decision, Plan, PlannedFunc};
pub use recording::{Allocations, Clock, Imported, Inline, Leaf, Recording};
pub use skipped::{Left, SkipReason};
pub use warning::Warning;

use kperf_abi::{SymbolTable, names as reserved};
use wasmparser::{Parser, Payload};

/// The symbol table of a module that already has probes; `None` without probes.
pub fn probed(wasm: &[u8]) -> Result<Option<SymbolTable>, Error> {
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::CustomSection(section) = payload?
            && section.name() == reserved::SYMBOLS_SECTION
        {
            let offset = section.data_offset();
            let table = SymbolTable::from_bytes(section.data())
                .map_err(|error| Error::malformed(offset + error.offset as u64, error.to_string()))?;
            return Ok(Some(table));
        }
    }
    Ok(None)
}

/// Whether a module can contain its recorder in a host that sees an instance only after its start section has run.
/// False if it has a start section, or is linked to other modules at run time, with which it shares a call tree.
pub fn stands_alone(wasm: &[u8]) -> bool {
    Parser::new(0).parse_all(wasm).all(|payload| match payload {
        Ok(Payload::StartSection { .. }) => false,
        Ok(Payload::CustomSection(section)) => !section.name().starts_with("dylink"),
        _ => true,
    })
}
