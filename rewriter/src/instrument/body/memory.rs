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
    /// The global with Go's stack pointer. At the end of a function it points to the parameters, after the
    /// return address.
    pub(super) go_stack: u32,
    /// The first of its locals (see [`Around::locals`]).
    pub(super) locals: u32,
}

/// Index of the global with Go's stack pointer.
pub(super) const GO_STACK: u32 = 0;

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
            _ if self.role.always => {}
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
        match self.role.new {
            New::Stored(param) => code.keep(param, wide, self.old()),
            New::OnGoStack => {
                // The resume point; 0 at the start.
                code.keep(0, false, self.old());
                code.get(self.old(), true);
                code.put(Instruction::I64Eqz);
                code.put(Instruction::If(BlockType::Empty));
                code.load_go(self.go_stack, 8);
                code.put(Instruction::LocalSet(self.size()));
                code.put(Instruction::End);
            }
            New::None | New::Result => {
                if let Some(param) = self.role.old {
                    code.get(param as u32, wide);
                    code.without(self.role.header);
                    code.put(Instruction::LocalSet(self.old()));
                }
            }
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
        let mut code = Code(out);
        let is_outermost = match self.memory.outermost {
            _ if self.role.always => false,
            Outermost::Function(_) => false,
            Outermost::Global(allocator) => {
                self.put_token(&mut code);
                code.put(Instruction::GlobalGet(allocator));
                code.put(Instruction::I32Eq);
                code.put(Instruction::If(BlockType::Empty));
                true
            }
        };
        if self.role.always {
            code.put(Instruction::I32Const(-1));
        } else {
            self.put_token(&mut code);
        }
        if self.role.new == New::OnGoStack {
            self.if_zero_returned(&mut code, |code| code.put(Instruction::I64Const(-1)));
        } else {
            match self.role.old {
                _ if self.role.collected => code.put(Instruction::I64Const(-1)),
                Some(_) if self.role.keeps_old => {
                    code.get(self.old(), true);
                    code.put(Instruction::I64Const(0));
                    code.get(self.returned(), self.wide);
                    code.without(self.role.header);
                    code.get(self.old(), true);
                    code.put(Instruction::I64Eq);
                    code.put(Instruction::Select);
                }
                Some(_) => code.get(self.old(), true),
                None => code.put(Instruction::I64Const(0)),
            }
        }
        match self.role.new {
            New::Result if self.role.collected => {
                code.get(self.size(), true);
                code.put(Instruction::I64Const(0));
            }
            New::None => {
                code.get(self.size(), true);
                code.put(Instruction::I64Const(0));
            }
            New::Result => {
                code.get(self.size(), true);
                code.get(self.returned(), self.wide);
                code.without(self.role.header);
            }
            New::Stored(_) => {
                code.get(self.size(), true);
                self.if_zero_returned(&mut code, |code| {
                    code.get(self.old(), true);
                    let memarg = first_memory(0);
                    if self.wide {
                        code.put(Instruction::I64Load(memarg));
                    } else {
                        code.put(Instruction::I32WrapI64);
                        code.put(Instruction::I32Load(memarg));
                        code.put(Instruction::I64ExtendI32U);
                    }
                });
            }
            New::OnGoStack => {
                // It returns 1 to switch goroutines, and is called again later.
                self.if_zero_returned(&mut code, |code| {
                    code.get(self.size(), true);
                    code.load_go(self.go_stack, 0);
                    code.get(self.old(), true);
                    code.put(Instruction::I64Eqz);
                    code.put(Instruction::Select);
                });
                code.put(Instruction::I64Const(0));
            }
        }
        code.put(Instruction::Call(self.memory.allocated));
        if is_outermost {
            code.put(Instruction::End);
        }
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

    /// A number if the function returned 0, else 0.
    fn if_zero_returned(&self, code: &mut Code<'_>, number: impl FnOnce(&mut Code<'_>)) {
        code.put(Instruction::LocalGet(self.returned()));
        code.put(Instruction::I32Eqz);
        code.put(Instruction::If(BlockType::Result(ValType::I64)));
        number(code);
        code.put(Instruction::Else);
        code.put(Instruction::I64Const(0));
        code.put(Instruction::End);
    }
}

/// An access at this distance from an address of the first memory.
fn first_memory(offset: u64) -> MemArg {
    MemArg { offset, align: 0, target: MemArgTarget::Memory(0), ordering: None }
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

    /// Subtracts `header` bytes from an object's address, to get the address of its block.
    fn without(&mut self, header: i32) {
        if header != 0 {
            self.put(Instruction::I64Const(header.into()));
            self.put(Instruction::I64Sub);
        }
    }

    /// The value at this distance from Go's stack pointer.
    fn load_go(&mut self, stack: u32, offset: u64) {
        self.put(Instruction::GlobalGet(stack));
        self.put(Instruction::I64Load(first_memory(offset)));
    }
}
