//! Writes the code that counts the instructions of a body (see [`crate::plan::regions`]).

use crate::instrument::context::Counter;
use crate::module::engines::MAX_LOCALS;
use crate::plan::regions::{BULK_SHIFT, Counting, Put, Width};
use wasm_encoder::{Encode, Instruction, ValType};

/// The code still to be written, and its locals.
pub(super) struct Counts<'a> {
    counter: Counter,
    left: &'a [(u64, Put)],
    /// The local that caches the count.
    count: Option<u32>,
    /// Locals for a length while its operator runs.
    lengths: [Option<u32>; 2],
    locals: Vec<ValType>,
}

impl<'a> Counts<'a> {
    /// For a body with `own` parameters and locals. `None`: no room for the locals.
    pub(super) fn new(counter: Counter, counting: &'a Counting, own: u64) -> Option<Counts<'a>> {
        let mut locals = Vec::new();
        let mut add = |ty| {
            let index = own + locals.len() as u64;
            locals.push(ty);
            index as u32
        };
        let keeps = |width| counting.puts.iter().any(|&(_, put)| put == Put::KeepLength(width));
        let lengths =
            [keeps(Width::I32).then(|| add(ValType::I32)), keeps(Width::I64).then(|| add(ValType::I64))];
        // This local is optional.
        let has_room = own + (lengths.iter().flatten().count() as u64) < MAX_LOCALS;
        let count = (counting.in_local && has_room).then(|| add(ValType::I64));
        (own + locals.len() as u64 <= MAX_LOCALS).then(|| Counts {
            counter,
            left: &counting.puts,
            count,
            lengths,
            locals,
        })
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

    fn put(&self, put: Put, out: &mut Vec<u8>) {
        let mut code = |instruction: Instruction<'_>| instruction.encode(out);
        match put {
            Put::Charge { cost, stale } => {
                if cost == 0 && self.count.is_none() {
                    return;
                }
                self.get(stale, &mut code);
                if cost > 0 {
                    code(Instruction::I64Const(cost as i64));
                    code(Instruction::I64Add);
                    self.set(&mut code);
                } else if let Some(count) = self.count {
                    code(Instruction::LocalSet(count));
                }
            }
            Put::KeepLength(width) => {
                if let Some(length) = self.lengths[width as usize] {
                    code(Instruction::LocalTee(length));
                }
            }
            Put::ChargeLength(width) => {
                let Some(length) = self.lengths[width as usize] else { return };
                code(Instruction::LocalGet(length));
                if width == Width::I32 {
                    code(Instruction::I64ExtendI32U);
                }
                code(Instruction::I64Const(BULK_SHIFT));
                code(Instruction::I64ShrU);
                self.get(false, &mut code);
                code(Instruction::I64Add);
                self.set(&mut code);
            }
        }
    }

    /// Pushes the count, from the local unless that is stale.
    fn get(&self, stale: bool, code: &mut impl FnMut(Instruction<'_>)) {
        match self.count.filter(|_| !stale) {
            Some(count) => code(Instruction::LocalGet(count)),
            None => code(Instruction::GlobalGet(self.counter.global)),
        }
    }

    /// Sets the count. The global is always set, so it is correct whatever happens next.
    fn set(&self, code: &mut impl FnMut(Instruction<'_>)) {
        if let Some(count) = self.count {
            code(Instruction::LocalTee(count));
        }
        code(Instruction::GlobalSet(self.counter.global));
    }
}
