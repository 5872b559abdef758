//! Templates: instructions with holes for what differs between functions.
//!
//! A recorder inside the module has them as the bodies of its `inline.*` functions; other forms build them.

use crate::error::Error;
use crate::instrument::hints::Hint;
use std::mem;
use wasm_encoder::{Encode, Instruction};
use wasmparser::{FunctionBody, Operator};

/// Instructions with holes.
#[derive(Clone, Default)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
    /// Number of labels in it.
    pub(crate) labels: u32,
}

/// A constant of a function. All templates number them alike: the function's id, the address of its count, its
/// result.
pub(crate) enum Constant {
    I32(u32),
    /// An i64 from the result: bits of the number in the upper half, 0 in the lower. 0 if there is none.
    Returned(Option<Returned>),
}

/// A local with the function's numeric result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Returned {
    pub(crate) local: u32,
    pub(crate) ty: wasmparser::ValType,
}

#[derive(Clone)]
enum Piece {
    Code(Vec<u8>),
    Constant(usize),
    Local(fn(u32) -> Instruction<'static>, u32),
    /// For an index that is this far from the function's id.
    OfFunction(fn(u32) -> Instruction<'static>, u32),
    /// Marks the next instruction as a branch, and whether it is likely to be taken.
    Branch(bool),
}

impl Template {
    /// Appends instructions.
    pub(crate) fn code(mut self, instructions: &[Instruction<'_>]) -> Template {
        let mut code = Vec::new();
        instructions.iter().for_each(|instruction| instruction.encode(&mut code));
        self.pieces.push(Piece::Code(code));
        self
    }

    /// Appends the `n`-th constant.
    pub(crate) fn constant(mut self, n: usize) -> Template {
        self.pieces.push(Piece::Constant(n));
        self
    }

    /// Appends an instruction for the `n`-th of the probe's locals.
    pub(crate) fn local(mut self, instruction: fn(u32) -> Instruction<'static>, n: u32) -> Template {
        self.pieces.push(Piece::Local(instruction, n));
        self
    }

    /// Appends an instruction for the index that is this far from the function's id.
    pub(crate) fn of_function(mut self, instruction: fn(u32) -> Instruction<'static>, far: u32) -> Template {
        self.pieces.push(Piece::OfFunction(instruction, far));
        self
    }

    /// Parses the body of a function. Its first `constants` parameters become constants, the others locals.
    /// `hints`: its branch hints. `bug`: the error for a write to a constant.
    pub(crate) fn read(
        body: &FunctionBody<'static>,
        constants: u32,
        mut hints: &[Hint],
        mut moved: impl FnMut(Operator<'static>) -> Result<Instruction<'static>, Error>,
        bug: impl Fn() -> Error,
    ) -> Result<Template, Error> {
        let (mut pieces, mut labels) = (vec![], 0);
        let mut code = Vec::new();
        let local = |index: u32| index.checked_sub(constants).ok_or_else(&bug);
        let mut operators = body.get_operators_reader()?;
        while !operators.is_end_then_eof() {
            let offset = operators.original_position() - body.range().start;
            if let Some((&(_, likely), left)) =
                hints.split_first().filter(|(hint, _)| u64::from(hint.0) == offset)
            {
                hints = left;
                pieces.push(Piece::Code(mem::take(&mut code)));
                pieces.push(Piece::Branch(likely));
            }
            let piece = match operators.read()? {
                Operator::LocalGet { local_index } if local_index < constants => {
                    Piece::Constant(local_index as usize)
                }
                Operator::LocalGet { local_index } => {
                    Piece::Local(Instruction::LocalGet, local(local_index)?)
                }
                Operator::LocalSet { local_index } => {
                    Piece::Local(Instruction::LocalSet, local(local_index)?)
                }
                Operator::LocalTee { local_index } => {
                    Piece::Local(Instruction::LocalTee, local(local_index)?)
                }
                operator => {
                    labels += u32::from(matches!(operator, Operator::Block { .. } | Operator::If { .. }));
                    moved(operator)?.encode(&mut code);
                    continue;
                }
            };
            pieces.push(Piece::Code(mem::take(&mut code)));
            pieces.push(piece);
        }
        pieces.push(Piece::Code(code));
        Ok(Template { pieces, labels })
    }

    /// Writes the template for one function. `locals`: the first of the probe's locals. `hints` gets the template's
    /// branches.
    pub(crate) fn write(
        &self,
        constants: &[Constant],
        locals: u32,
        out: &mut Vec<u8>,
        hints: &mut Vec<Hint>,
    ) {
        for piece in &self.pieces {
            match piece {
                Piece::Code(code) => out.extend_from_slice(code),
                Piece::Constant(n) => constants[*n].encode(out),
                Piece::Local(instruction, n) => instruction(locals + n).encode(out),
                Piece::OfFunction(instruction, far) => {
                    if let Some(Constant::I32(id)) = constants.first() {
                        instruction(id.wrapping_add(*far)).encode(out);
                    }
                }
                Piece::Branch(likely) => hints.push((out.len() as u32, *likely)),
            }
        }
    }
}

impl Constant {
    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Constant::I32(value) => Instruction::I32Const(value as i32).encode(out),
            Constant::Returned(None) => Instruction::I64Const(0).encode(out),
            Constant::Returned(Some(returned)) => returned.encode(out),
        }
    }
}

impl Returned {
    fn encode(self, out: &mut Vec<u8>) {
        use wasmparser::ValType;
        Instruction::LocalGet(self.local).encode(out);
        if self.ty == ValType::F32 {
            Instruction::I32ReinterpretF32.encode(out);
        }
        match self.ty {
            ValType::F64 => Instruction::I64ReinterpretF64.encode(out),
            ValType::I64 => {}
            _ => Instruction::I64ExtendI32U.encode(out),
        }
        Instruction::I64Const(32).encode(out);
        Instruction::I64Shl.encode(out);
    }
}
