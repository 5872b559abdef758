//! Reads and writes the inlined functions of a table:
//!
//! ```text
//! leb128   number of functions; then for each:
//!   bytes    its name, after its length
//!   leb128   0, or 1 more than the number of the source file that it is declared in; then the line
//! ```

use super::SymbolsError;
use super::encoding::{Input, write_str};
use crate::code::InlinedFunction;
use crate::function::Source;
use crate::leb128;

/// Appends a function.
pub(super) fn write(InlinedFunction { name, source }: &InlinedFunction, out: &mut Vec<u8>) {
    write_str(out, name);
    leb128::write(out, source.map_or(0, |source| u64::from(source.file) + 1));
    if let Some(source) = source {
        leb128::write(out, source.line.into());
    }
}

/// Calls `add` with each function; with none at the end of the table.
pub(super) fn read(input: &mut Input<'_>, mut add: impl FnMut(InlinedFunction)) -> Result<(), SymbolsError> {
    if input.left() == 0 {
        return Ok(());
    }
    for _ in 0..input.u32()? {
        let name = input.str()?.into();
        let source = match input.number()?.checked_sub(1).map(u32::try_from) {
            None => None,
            Some(Ok(file)) => Some(Source { file, line: input.u32()? }),
            Some(Err(_)) => return Err(input.error("a number exceeds 32 bits")),
        };
        add(InlinedFunction { name, source });
    }
    Ok(())
}
