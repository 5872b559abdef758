//! Moves the globals in expressions of variables, such as a stack pointer.

use super::patch::Patch;
use crate::debug_info::source::{Bytes, Problem};
use gimli::{Encoding, Expression, Operation};

/// The shift of globals: indices from `first` on increase by `by`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Globals {
    pub(crate) first: u32,
    pub(crate) by: u32,
}

/// The kind of `DW_OP_WASM_location` with a global index of four bytes, not LEB128.
const FIXED: u8 = 3;

/// The new indices of globals in an expression at an offset of its section.
pub(super) fn patches(
    expression: Bytes<'_>,
    at: usize,
    encoding: Encoding,
    globals: Globals,
) -> Result<Vec<Patch>, Problem> {
    let mut patches = Vec::new();
    if globals.by == 0 {
        return Ok(patches);
    }
    let mut operations = Expression(expression).operations(encoding);
    loop {
        let begin = operations.offset_from(&Expression(expression));
        // One that isn't known ends the expression for every reader.
        let Ok(Some(operation)) = operations.next() else { return Ok(patches) };
        let Operation::WasmGlobal { index } = operation else { continue };
        if index < globals.first {
            continue;
        }
        // Linkers write the highest index in the place of a global that they removed. It stays.
        let Some(index) = index.checked_add(globals.by) else { continue };
        // The operation's code and the kind of place are a byte each.
        let size = operations.offset_from(&Expression(expression)) - begin - 2;
        let leb = expression.slice().get(begin + 1) != Some(&FIXED);
        let value = u64::from(index);
        let size = u8::try_from(size).map_err(|_| Problem::Reference)?;
        patches.push(Patch { at: at + begin + 2, size, leb, value });
    }
}
