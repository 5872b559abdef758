//! Rewrites the tail calls of an allocator function. The call that records an allocation needs the callee's result,
//! so it calls after its body, outside of what the body catches. A call inside another of the allocator's records
//! nothing, and stays a tail call.
//!
//! ```wat
//! (try_table (catch_all $h)               (block $tails
//!   (return_call $f (local.get 0)))         (try_table (catch_all $h)
//!                                             (local.set $operand (local.get 0))
//!                                             (br_if $tails (i32.eq (local.get $t) (global.get $allocator)))
//!                                             (call $leave (local.get $t))
//!                                             (return_call $f (local.get $operand)))
//!                                           (br $body))
//!                                         (call $f (local.get $operand))
//! ```
//!
//! With imported probes only the recorder knows the outermost call, so each of these is a call.

use super::rewriter::Rewriter;
use super::tails::{Call, Operand, TailCalls};
use crate::error::Error;
use crate::instrument::section;
use crate::module::operators::{self, Effect};
use kperf_abi::FuncIndex;
use wasm_encoder::reencode::Reencode;
use wasm_encoder::{BlockType, Encode, Instruction};
use wasmparser::{FuncType, Operator, PackedIndex, RefType, ValType};

impl<'a> Rewriter<'a, '_> {
    /// Opens the block around the body, if there are tail calls.
    pub(super) fn open_tail_calls(&mut self) -> Result<(), Error> {
        let mut count = 0;
        for operator in self.body.get_operators_reader()? {
            count += u32::from(operators::effect(&operator?) == Effect::TailCalls);
        }
        if count > 0 {
            let choice = (count > 1).then(|| self.spill(ValType::I32));
            self.tail_calls = Some(TailCalls { choice, calls: Vec::new() });
            self.labels.open_around_body();
            self.put(&[Instruction::Block(BlockType::Empty)]);
        }
        Ok(())
    }

    /// Rewrites a tail call.
    pub(super) fn tail_call_of_allocator(
        &mut self,
        operator: &Operator<'a>,
        start: u64,
        end: u64,
    ) -> Result<(), Error> {
        let (instruction, types) = self.without_tail(operator)?;
        let operands: Vec<Operand> = types.into_iter().map(|ty| self.operand(ty)).collect();
        let Some(tail_calls) = &mut self.tail_calls else { return Err(operators::unknown(start)) };
        let (number, choice) = (tail_calls.calls.len() as i32, tail_calls.choice);
        tail_calls.calls.push(Call { instruction, operands: operands.clone() });

        self.copy_until_offset(start);
        operands.iter().rev().for_each(|operand| Instruction::LocalSet(operand.local).encode(self.out));
        if let Some(choice) = choice {
            self.put(&[Instruction::I32Const(number), Instruction::LocalSet(choice)]);
        }
        // The function's own label is the block around this one.
        let tails = self.labels.depth() + self.labels.added() - 1;
        if self.around.is_some_and(|around| around.put_is_outermost(self.out)) {
            self.put(&[Instruction::BrIf(tails)]);
            operands.iter().for_each(|operand| operand.get(self.out));
            self.context.code.leave(self.facts.site, None, self.out, &mut self.hints.met);
            self.put_moved(operator, start, end)?;
        } else {
            self.replace(start, end, &[Instruction::Br(tails)]);
        }
        Ok(())
    }

    /// Closes the block around the body, and writes the calls. The body's own `end` follows them.
    pub(super) fn close_tail_calls(&mut self) {
        let Some(TailCalls { choice, calls }) = self.tail_calls.take() else { return };
        self.copy_until(self.source.len() - 1);
        self.put(&[Instruction::Br(1), Instruction::End]);
        let last = calls.len().saturating_sub(1);
        for (number, Call { instruction, operands }) in calls.iter().enumerate() {
            let choice = choice.filter(|_| number < last);
            if let Some(choice) = choice {
                self.put(&[
                    Instruction::LocalGet(choice),
                    Instruction::I32Const(number as i32),
                    Instruction::I32Eq,
                    Instruction::If(BlockType::Empty),
                ]);
            }
            operands.iter().for_each(|operand| operand.get(self.out));
            instruction.encode(self.out);
            if choice.is_some() {
                self.put(&[Instruction::Br(1), Instruction::End]);
            }
        }
    }

    /// The call in the place of a tail call, and the types of its operands.
    fn without_tail(&self, operator: &Operator<'a>) -> Result<(Instruction<'a>, Vec<ValType>), Error> {
        let info = self.context.info;
        let params = |signature: Option<&FuncType>| signature.map_or(&[][..], FuncType::params).to_vec();
        Ok(match *operator {
            Operator::ReturnCall { function_index } => {
                let call = Instruction::Call(self.context.callee(function_index));
                (call, params(info.func_type(FuncIndex(function_index))))
            }
            Operator::ReturnCallIndirect { type_index, table_index } => {
                let mut operands = params(info.signature(type_index));
                let is_wide = info.wide_tables.contains(&table_index);
                operands.push(if is_wide { ValType::I64 } else { ValType::I32 });
                (Instruction::CallIndirect { type_index, table_index }, operands)
            }
            Operator::ReturnCallRef { type_index } => {
                let index = PackedIndex::from_module_index(type_index);
                let index =
                    index.ok_or_else(|| Error::malformed(self.base, "a type with too high an index"))?;
                let mut operands = params(info.signature(type_index));
                operands.push(ValType::Ref(RefType::concrete(true, index)));
                (Instruction::CallRef(type_index), operands)
            }
            ref operator => (section::Mover(self.context).instruction(operator.clone())?, Vec::new()),
        })
    }

    /// A new local for an operand.
    fn operand(&mut self, ty: ValType) -> Operand {
        match ty {
            ValType::Ref(reference) if !reference.is_nullable() => {
                Operand { local: self.spill(ValType::Ref(reference.nullable())), is_non_null: true }
            }
            ty => Operand { local: self.spill(ty), is_non_null: false },
        }
    }

    /// A new local.
    pub(super) fn spill(&mut self, ty: ValType) -> u32 {
        let local = self.facts.site.token + self.probe_locals() + self.spills.len() as u32;
        self.spills.push(ty);
        local
    }
}
