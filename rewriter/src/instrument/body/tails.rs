//! What is kept of an allocator function's tail calls until its body ends.

use wasm_encoder::{Encode, Instruction};

/// The tail calls of an allocator function.
pub(super) struct TailCalls<'a> {
    /// The local with the number of the call to make, if there are several.
    pub(super) choice: Option<u32>,
    pub(super) calls: Vec<Call<'a>>,
}

/// A call in the place of a tail call.
pub(super) struct Call<'a> {
    pub(super) instruction: Instruction<'a>,
    pub(super) operands: Vec<Operand>,
}

/// A local with an operand of a call.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    pub(super) local: u32,
    /// The operand is a reference that is not null. Locals of such types would need a value in each block.
    pub(super) is_non_null: bool,
}

impl Operand {
    pub(super) fn get(self, out: &mut Vec<u8>) {
        Instruction::LocalGet(self.local).encode(out);
        if self.is_non_null {
            Instruction::RefAsNonNull.encode(out);
        }
    }
}
