//! Memories and globals that aren't there. A recorder inside the module has the first index behind the module's own: what
//! was invalid by that must not come to name it.

use crate::Error;
use crate::module::info::ModuleInfo;
use crate::module::operators;
use crate::module::operators::Named;
use wasmparser::{DataKind, DataSectionReader};

/// What is wrong where an index is not one of the module's.
const MEMORY: &str = "a memory that isn't there";
const GLOBAL: &str = "a global that isn't there";

/// Refuses an index of a memory or a global that isn't there.
#[inline]
pub(crate) fn check(info: &ModuleInfo<'_>, named: Named, offset: u64) -> Result<(), Error> {
    match named {
        Named::Memory(index) => check_memory(info, index, offset),
        Named::Global(index) => check_global(info, index, offset),
        // Nothing is added to these, or they are looked at where they are written anew.
        Named::Function(_) | Named::Type(_) | Named::Label(_) | Named::Local(_) => Ok(()),
        Named::Table(_) | Named::Tag(_) | Named::Data(_) | Named::Element(_) => Ok(()),
    }
}

/// Refuses data for a memory that isn't there, or at the place that a global says that isn't.
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
