//! Writes the code that records allocations: around the bodies of allocator functions (see
//! [`crate::plan::allocators`]), and around operators that grow memory ([`crate::plan::growth`]).

use crate::instrument::context::{Memory, Outermost};
use crate::plan::allocators::{New, Role, Size};
use crate::plan::growth::Put;
use wasm_encoder::{BlockType, Encode, Instruction, MemArg, MemArgTarget, ValType};

/// The code still to be written at operators, and its locals.
pub(super) struct Growing<'a> {
    memory: Memory,
    left: &'a [(u64, Put)],
    /// The first of its locals.
    first: u32,
    /// Two of each type that it needs.
    locals: Vec<ValType>,
}

impl<'a> Growing<'a> {
    /// For a body with `first` as its first free local.
    pub(super) fn new(memory: Memory, growth: &'a [(u64, Put)], first: u64) -> Growing<'a> {
        let mut locals = Vec::new();
        for (ty, is_wide) in [(ValType::I32, false), (ValType::I64, true)] {
            if growth.iter().any(|&(_, put)| put == Put::Keep { wide: is_wide }) {
                locals.extend([ty, ty]);
            }
        }
        Growing { memory, left: growth, first: first as u32, locals }
    }

    /// The types of its locals, which follow the body's own.
    pub(super) fn locals(&self) -> &[ValType] {
        &self.locals
    }

    /// Whether there is code before the operator at an offset.
    #[inline]
    pub(super) fn is_due(&self, start: u64) -> bool {
        self.left.first().is_some_and(|&(at, _)| at <= start)
    }

    /// Writes that code.
    pub(super) fn write(&mut self, start: u64, out: &mut Vec<u8>) {
        while let Some((&(at, put), left)) = self.left.split_first()
            && at <= start
        {
            self.left = left;
            self.put(put, out);
        }
    }

    /// The first of the two locals of a type.
    fn local(&self, wide: bool) -> u32 {
        let ty = if wide { ValType::I64 } else { ValType::I32 };
        self.first + self.locals.iter().position(|&local| local == ty).unwrap_or(0) as u32
    }

    fn put(&self, put: Put, out: &mut Vec<u8>) {
        let mut code = Code(out);
        match put {
            Put::Keep { wide } => code.put(Instruction::LocalTee(self.local(wide))),
            Put::Grew { memory, wide } => {
                let kept = self.local(wide);
                code.put(Instruction::LocalTee(kept + 1));
                code.put(Instruction::I32Const(memory as i32));
                code.get(kept, wide);
                code.put(Instruction::LocalGet(kept + 1));
                if !wide {
                    code.put(Instruction::I64ExtendI32S);
                }
                code.put(Instruction::Call(self.memory.grew));
            }
            Put::Created(size) => {
                code.put(Instruction::I64Const(size as i64));
                code.put(Instruction::Call(self.memory.created));
            }
            Put::CreatedArray(size) => {
                code.get(self.local(false), false);
                code.put(Instruction::I64Const(size as i64));
                code.put(Instruction::I64Mul);
                code.put(Instruction::Call(self.memory.created));
            }
        }
    }
}

/// The code around the body of an allocator function.
#[derive(Clone, Copy)]
pub(super) struct Around {
    pub(super) memory: Memory,
    pub(super) role: &'static Role,
    /// Whether addresses have 64 bits.
    pub(super) wide: bool,
    pub(super) token: u32,
    /// Whether only the upper half of that local is the token (see `recorder.wat`, the code inside functions).
    pub(super) is_upper_half: bool,
    /// The first of its locals (see [`Around::locals`]).
    pub(super) locals: u32,
}

impl Around {
    /// Types of its locals: the old block, the size, the new block.
    pub(super) fn locals(role: &Role, wide: bool) -> [wasmparser::ValType; 3] {
        use wasmparser::ValType::{I32, I64};
        let returns_address = matches!(role.new, New::Result);
        [I64, I64, if wide && returns_address { I64 } else { I32 }]
    }

    fn old(&self) -> u32 {
        self.locals
    }

    fn size(&self) -> u32 {
        self.locals + 1
    }

    fn returned(&self) -> u32 {
        self.locals + 2
    }

    /// After the enter, before the body may write to its parameters.
    pub(super) fn enter(&self, out: &mut Vec<u8>) {
        let mut code = Code(out);
        match self.memory.outermost {
            Outermost::Function(allocating) => {
                self.put_token(&mut code);
                code.put(Instruction::Call(allocating));
            }
            // Like `allocating` in recorder.wat.
            Outermost::Global(allocator) => {
                code.put(Instruction::GlobalGet(allocator));
                code.less_one();
                self.put_token(&mut code);
                code.less_one();
                code.put(Instruction::I32GeU);
                code.put(Instruction::If(BlockType::Empty));
                self.put_token(&mut code);
                code.put(Instruction::GlobalSet(allocator));
                code.put(Instruction::End);
            }
        }
        let wide = self.wide;
        let stored = if let New::Stored(param) = self.role.new { Some(param) } else { None };
        if let Some(param) = stored.or(self.role.old) {
            code.keep(param, wide, self.old());
        }
        match self.role.size {
            Size::None => {}
            Size::Param(param) => code.keep(param, wide, self.size()),
            Size::Params(n, m) => {
                code.get(n as u32, wide);
                code.get(m as u32, wide);
                code.put(Instruction::I64Mul);
                code.put(Instruction::LocalSet(self.size()));
            }
        }
    }

    /// Before the leave: keeps the result.
    pub(super) fn keep_returned(&self, out: &mut Vec<u8>) {
        if self.role.new != New::None {
            Instruction::LocalTee(self.returned()).encode(out);
        }
    }

    /// After the leave: records the allocation.
    pub(super) fn leave(&self, out: &mut Vec<u8>) {
        let tests = self.put_is_outermost(out);
        let mut code = Code(out);
        if tests {
            code.put(Instruction::If(BlockType::Empty));
        }
        self.put_token(&mut code);
        match self.role.old {
            Some(_) => code.get(self.old(), true),
            None => code.put(Instruction::I64Const(0)),
        }
        code.get(self.size(), true);
        match self.role.new {
            New::None => code.put(Instruction::I64Const(0)),
            New::Result => code.get(self.returned(), self.wide),
            // The block if the function returned 0, else 0.
            New::Stored(_) => {
                code.put(Instruction::LocalGet(self.returned()));
                code.put(Instruction::I32Eqz);
                code.put(Instruction::If(BlockType::Result(ValType::I64)));
                code.get(self.old(), true);
                let memarg = MemArg { offset: 0, align: 0, target: MemArgTarget::Memory(0), ordering: None };
                if self.wide {
                    code.put(Instruction::I64Load(memarg));
                } else {
                    code.put(Instruction::I32WrapI64);
                    code.put(Instruction::I32Load(memarg));
                    code.put(Instruction::I64ExtendI32U);
                }
                code.put(Instruction::Else);
                code.put(Instruction::I64Const(0));
                code.put(Instruction::End);
            }
        }
        code.put(Instruction::Call(self.memory.allocated));
        if tests {
            code.put(Instruction::End);
        }
    }

    /// Puts whether this is the outermost open call of an allocator, as an i32. Returns whether the module knows it:
    /// with imported probes only the recorder does.
    pub(super) fn put_is_outermost(&self, out: &mut Vec<u8>) -> bool {
        let Outermost::Global(allocator) = self.memory.outermost else { return false };
        let mut code = Code(out);
        self.put_token(&mut code);
        code.put(Instruction::GlobalGet(allocator));
        code.put(Instruction::I32Eq);
        true
    }

    /// The token, as an i32.
    fn put_token(&self, code: &mut Code<'_>) {
        code.put(Instruction::LocalGet(self.token));
        if self.is_upper_half {
            code.put(Instruction::I64Const(32));
            code.put(Instruction::I64ShrU);
            code.put(Instruction::I32WrapI64);
        }
    }
}

struct Code<'o>(&'o mut Vec<u8>);

impl Code<'_> {
    fn put(&mut self, instruction: Instruction<'_>) {
        instruction.encode(self.0);
    }

    fn less_one(&mut self) {
        self.put(Instruction::I32Const(1));
        self.put(Instruction::I32Sub);
    }

    /// A local as an i64; unless it is `wide`, it is an address or a number of pages.
    fn get(&mut self, local: u32, wide: bool) {
        self.put(Instruction::LocalGet(local));
        if !wide {
            self.put(Instruction::I64ExtendI32U);
        }
    }

    /// Keeps a parameter as an i64.
    fn keep(&mut self, param: usize, wide: bool, local: u32) {
        self.get(param as u32, wide);
        self.put(Instruction::LocalSet(local));
    }
}
