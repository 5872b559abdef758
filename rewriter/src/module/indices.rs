//! Rejects indices of memories and globals that don't exist.
//!
//! A recorder inside the module gets the first index after the module's own, and must not make an invalid module
//! valid.

use crate::error::Error;
use crate::module::info::ModuleInfo;
use crate::module::operators;
use crate::module::operators::Named;
use wasmparser::{DataKind, DataSectionReader};

/// The errors for an index that doesn't exist.
const MEMORY: &str = "unknown memory";
const GLOBAL: &str = "unknown global";

/// Fails if a memory or a global doesn't exist.
#[inline]
pub(crate) fn check(info: &ModuleInfo<'_>, named: Named, offset: u64) -> Result<(), Error> {
    match named {
        Named::Memory(index) => check_memory(info, index, offset),
        Named::Global(index) => check_global(info, index, offset),
        // The pass adds none of these, or checks them where it writes them.
        Named::Function(_) | Named::Type(_) | Named::Label(_) | Named::Local(_) => Ok(()),
        Named::Table(_) | Named::Tag(_) | Named::Data(_) | Named::Element(_) => Ok(()),
    }
}

/// Fails if data names a memory that doesn't exist, or its offset a global that doesn't.
pub(crate) fn check_data(info: &ModuleInfo<'_>, section: DataSectionReader<'_>) -> Result<(), Error> {
    for data in section {
        let data = data?;
        if let DataKind::Active { memory_index, offset_expr } = data.kind {
            let offset = data.range.start;
            check_memory(info, memory_index, offset)?;
            let mut reader = offset_expr.get_operators_reader();
            while !reader.eof() {
                operators::each_named(&reader.read()?, |named| check(info, named, offset))?;
            }
        }
    }
    Ok(())
}

fn check_memory(info: &ModuleInfo<'_>, index: u32, offset: u64) -> Result<(), Error> {
    if index < info.memories { Ok(()) } else { Err(Error::malformed(offset, MEMORY)) }
}

fn check_global(info: &ModuleInfo<'_>, index: u32, offset: u64) -> Result<(), Error> {
    if index < info.globals { Ok(()) } else { Err(Error::malformed(offset, GLOBAL)) }
}
