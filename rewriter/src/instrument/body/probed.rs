//! Rewrites bodies that need code at exits, catches and calls: probed functions, and unprobed ones that may catch.

use super::facts::BodyFacts;
use super::memory::Around;
use super::rewriter::{Locals, Rewriter};
use crate::error::Error;
use crate::instrument::context::Memory;
use crate::instrument::events::BodyEffect;
use crate::instrument::probe::ProbeSite;
use crate::instrument::template::Returned;
use crate::instrument::try_table::Labels;
use crate::module::engines::{MAX_LOCALS, MAX_SIZE};
use crate::module::operators::{self, Effect};
use crate::plan::allocators::{self, Role};
use crate::skipped::SkipReason;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{Encode, Instruction};
use wasmparser::{Operator, ValType};

impl<'a> Rewriter<'a, '_> {
    /// Writes the body with this probe, or with depth tracking.
    pub(super) fn probed(mut self, site: ProbeSite) -> Result<BodyFacts, Error> {
        self.facts.site = site;
        self.facts.tracks_depth = site.tracks_depth_only;
        let signature = self.context.info.func_type(self.index).ok_or_else(|| self.no_func_type())?;
        let locals = self.begin()?;
        self.labels = Labels::new(signature.results().len());
        self.facts.site.token = locals.min(MAX_LOCALS) as u32;
        // Records come between the enter and the leave.
        self.facts.calls |= !self.puts.growth.is_empty();
        if let Some((memory, allocators)) = self.context.memory.filter(|_| !site.tracks_depth_only)
            && let Some(role) = allocators.get(self.index)
        {
            self.begin_allocator(memory, role);
        }
        if !site.tracks_depth_only {
            let block = self.context.body_type(self.index, signature)?;
            self.put(&[Instruction::Block(block)]);
        }
        if self.around.is_some() {
            self.open_tail_calls()?;
        }
        self.write_operators()?;
        self.close_tail_calls();
        // The body's own `end`, which closes the block if there is one.
        self.copy_until(self.source.len());
        if !site.tracks_depth_only {
            self.facts.site.effect = BodyEffect::find(self.body, self.facts.site.id, self.facts.calls)?;
            let returned = self.keep_returned(signature.results());
            if let Some(around) = self.around {
                around.keep_returned(self.out);
            }
            self.context.code.leave(self.facts.site, returned, self.out, &mut self.hints.met);
            if let Some(around) = self.around {
                around.leave(self.out);
            }
            self.put(&[Instruction::End]);
        }
        if locals + u64::from(self.probe_locals()) + self.spills.len() as u64 > MAX_LOCALS {
            self.facts.refused = Some(SkipReason::TooManyLocals);
        }
        self.prepend_enter()?;
        Ok(self.finish())
    }

    /// Begins the code of an allocator function: keeps its arguments, and records its result.
    fn begin_allocator(&mut self, memory: Memory, role: &'static Role) {
        let wide = allocators::is_wide(self.context.info);
        let token = self.facts.site.token;
        let locals = token + self.probe_locals() + self.spills.len() as u32;
        self.spills.extend(Around::locals(role, wide));
        let is_upper_half =
            self.context.code.locals(self.facts.site).first() == Some(&wasm_encoder::ValType::I64);
        self.around = Some(Around { memory, role, wide, token, is_upper_half, locals });
        self.facts.calls = true;
        self.facts.adds_labels = true;
    }

    /// Keeps the last result, if it is a number and the leave uses it.
    fn keep_returned(&mut self, results: &[ValType]) -> Option<Returned> {
        let numbers = [ValType::I32, ValType::I64, ValType::F32, ValType::F64];
        let &ty = results.last().filter(|ty| numbers.contains(ty))?;
        if !self.context.code.wants_returned(self.facts.site) {
            return None;
        }
        let local = self.spill(ty);
        self.put(&[Instruction::LocalTee(local)]);
        Some(Returned { local, ty })
    }

    /// Puts the locals (the function's, the probe's, those for spilled parameters) and the enter before the body. The
    /// enter depends on the body.
    fn prepend_enter(&mut self) -> Result<(), Error> {
        let (groups, declared) = self.declarations(self.context.code.locals(self.facts.site))?;
        let mut locals = Vec::with_capacity(declared.len() + 64);
        (groups + self.spills.len() as u32).encode(&mut locals);
        locals.extend_from_slice(&declared);
        for &spill in &self.spills {
            1u32.encode(&mut locals);
            RoundtripReencoder.val_type(spill)?.encode(&mut locals);
        }
        self.context.code.enter(self.facts.site, &mut locals, &mut self.hints.in_front);
        if let Some(around) = self.around {
            around.enter(&mut locals);
        }
        self.in_front = locals.len();
        self.out.splice(0..0, locals);
        Ok(())
    }

    pub(super) fn probe_locals(&self) -> u32 {
        self.context.code.locals(self.facts.site).len() as u32
    }

    fn write_operators(&mut self) -> Result<(), Error> {
        let mut operators = self.body.get_operators_reader()?;
        let mut end = operators.original_position();
        while !operators.eof() {
            let start = end;
            let operator = operators.read()?;
            end = operators.original_position();
            self.pass(start);
            self.operator(&operator, start, end)?;
            if self.out.len() > MAX_SIZE {
                // The body is refused: its final size doesn't matter.
                return Ok(());
            }
        }
        operators.finish()?;
        Ok(())
    }

    #[inline]
    fn operator(&mut self, operator: &Operator<'a>, start: u64, end: u64) -> Result<(), Error> {
        let context = self.context;
        let effect = operators::effect(operator);
        if effect == Effect::Cheap {
            return Ok(());
        }
        self.check(operator, start, Locals::More)?;
        if self.replaced_inside(operator, start, end) {
            return Ok(());
        }
        match effect {
            Effect::Opens | Effect::Loops | Effect::OpensTable => self.open(operator, start, end)?,
            Effect::Ends => {
                if self.open_try_tables.last().is_some_and(|open| open.depth == self.labels.depth()) {
                    self.copy_until_offset(end);
                    self.close_try_table()?;
                } else {
                    self.labels.close();
                }
            }
            // Branches out of the block; the leave follows it.
            Effect::Returns if !self.facts.site.tracks_depth_only => {
                let label = self.labels.depth() + self.labels.added();
                self.replace(start, end, &[Instruction::Br(label)]);
            }
            Effect::TailCalls if self.around.is_some() => {
                self.meet(operator, start);
                self.tail_call_of_allocator(operator, start, end)?;
            }
            Effect::TailCalls => {
                self.facts.calls = true;
                self.meet(operator, start);
                self.copy_until_offset(start);
                if !self.facts.site.tracks_depth_only {
                    self.facts.adds_labels |= context.code.leave_labels(self.facts.site) > 0;
                    context.code.leave(self.facts.site, None, self.out, &mut self.hints.met);
                }
                self.put_moved(operator, start, end)?;
            }
            Effect::Calls => {
                self.facts.calls = true;
                self.put_moved(operator, start, end)?;
                if operators::function(operator)
                    .is_some_and(|callee| !context.is_thunked(callee) && context.reach.function(callee))
                {
                    self.unwind_behind(end);
                }
            }
            Effect::CallsReference => {
                self.facts.calls = true;
                if context.reach.references() {
                    self.unwind_behind(end);
                }
            }
            // Node 20 may lose a local across it, so the frame is checked as after a call.
            Effect::Waits => {
                self.facts.calls = true;
                self.put_moved(operator, start, end)?;
            }
            Effect::Catches => self.unwind_behind(end),
            Effect::Delegates => {
                self.labels.close();
                self.relabel(operator, start, end)?;
            }
            Effect::Branches => self.relabel(operator, start, end)?,
            Effect::Switches => self.meet(operator, start),
            Effect::Resumes => {
                self.meet(operator, start);
                self.relabel(operator, start, end)?;
            }
            Effect::Refers => self.put_moved(operator, start, end)?,
            Effect::Variable | Effect::Plain if context.moves_globals() => {
                self.put_moved(operator, start, end)?;
            }
            Effect::Cheap | Effect::Variable | Effect::Plain | Effect::Returns => {}
            Effect::Unknown => return Err(operators::unknown(start)),
        }
        Ok(())
    }

    /// Writes the instruction with the new index of its function or global, if it has one that moves.
    #[inline]
    pub(super) fn put_moved(&mut self, operator: &Operator<'a>, start: u64, end: u64) -> Result<(), Error> {
        if let Operator::Call { function_index } = *operator
            && !self.context.is_thunked(function_index)
            && let Some(call) = self.context.host_call(function_index)
        {
            self.replace(start, end, &call);
        } else if let Some(moved) = self.moved(operator)? {
            self.replace(start, end, &[moved]);
        }
        Ok(())
    }

    /// Opens a label.
    fn open(&mut self, operator: &Operator<'a>, start: u64, end: u64) -> Result<(), Error> {
        let info = self.context.info;
        match operator {
            Operator::Block { blockty } | Operator::If { blockty } | Operator::Try { blockty } => {
                self.labels.open(0, info.block_results(*blockty));
            }
            Operator::Loop { blockty } => {
                self.facts.calls = true;
                self.labels.open(0, info.block_params(*blockty).len());
            }
            Operator::TryTable { try_table } => self.open_try_table(try_table, start, end)?,
            _ => return Err(operators::unknown(start)),
        }
        Ok(())
    }

    /// Writes `unwind` after an instruction.
    fn unwind_behind(&mut self, end: u64) {
        self.facts.unwinds |= !self.facts.site.tracks_depth_only;
        self.facts.adds_labels |= self.context.code.unwind_labels(self.facts.site) > 0;
        self.copy_until_offset(end);
        self.context.code.unwind(self.facts.site, self.out, &mut self.hints.met);
    }
}
