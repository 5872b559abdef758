//! Puts enter/leave probes around every function of a WebAssembly module.
//!
//! Bytes go in, bytes and a [`SymbolTable`] come out: [`rewrite`]. The crate knows no runtime and does no IO. Its files
//! are its pipeline: `parse` finds what a module has, `plan` chooses the functions, `instrument` runs the pass, `write`
//! writes the new module, `body` each function of it.

mod body;
mod context;
mod custom;
mod demangle;
mod error;
mod filter;
mod indices;
mod instrument;
mod leaf;
mod limits;
mod name_section;
mod named_types;
mod names;
mod options;
mod parse;
mod plan;
mod probe;
mod reach;
mod section;
mod source;
mod template;
mod try_table;
mod types;
mod warning;
mod write;

pub use error::{Error, ErrorKind};
pub use filter::{Filter, Pattern};
pub use instrument::{Rewritten, plan, rewrite};
pub use leaf::Leaf;
pub use names::NameMap;
pub use options::Options;
pub use plan::{Decision, Plan, PlannedFunc, SkipReason};
pub use probe::Probe;
pub use warning::Warning;

use kperf_abi::{SymbolTable, names as reserved};
use wasmparser::{Parser, Payload};

/// The symbol table of a module that has probes already; `None` for one that hasn't.
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
