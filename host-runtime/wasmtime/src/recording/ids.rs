//! The function ids that modules claim.

use crate::error::{ErrorKind, Result};
use crate::writer::SUSPENDED;
use kperf_abi::SymbolTable;
use std::ops::Range;

/// The ids of a symbol table.
pub(crate) fn ids_of(table: &[u8]) -> Result<Range<u32>> {
    let table = SymbolTable::from_bytes(table).map_err(ErrorKind::Symbols)?;
    let ids = table.id_base..table.id_end();
    // Our own id comes last.
    let ours = SUSPENDED..SUSPENDED + 1;
    if ids.end > ours.start {
        return Err(ErrorKind::OverlappingIds { first: ours, second: ids }.into());
    }
    Ok(ids)
}

/// Claims ids that no other table has.
pub(crate) fn add_ids(all: &mut Vec<Range<u32>>, ids: Range<u32>) -> Result<()> {
    if let Some(first) = all.iter().find(|other| other.start < ids.end && ids.start < other.end) {
        return Err(ErrorKind::OverlappingIds { first: first.clone(), second: ids }.into());
    }
    all.push(ids);
    Ok(())
}
