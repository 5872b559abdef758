//! One function's body. Before and after:
//!
//! ```wat
//! (func $f (param i32) (result i32)        (func $f (param i32) (result i32) (local $t i32)
//!   local.get 0                              (local.set $t (call $enter (i32.const ID)))
//!   (if (then i32.const 1  return))          (block $body (result i32)
//!   i32.const 2)                               local.get 0
//!                                              (if (then i32.const 1  br $body))
//!                                              i32.const 2)
//!                                            (call $leave (local.get $t)))
//! ```
//!
//! Labels keep their numbers: the function's own label has become the block's. A tail call leaves, then jumps. Where
//! something is caught, `unwind` says so: behind `catch` and `catch_all` of a legacy `try`, on a pad of its own for each
//! clause of a `try_table` (see [`crate::try_table`]), behind calls that may have run a host function which caught
//! something. Only these instructions and those with a function index are encoded anew; the bytes between are copied.
//! Nesting is kept on a stack of our own: real modules nest 21,245 blocks.
//!
//! A function that is counted only has one event in front of a body that is as it was.

mod labels;

use crate::context::Context;
use crate::named_types::by_val;
use crate::plan::SkipReason;
use crate::probe::{Site, encode_locals};
use crate::template::Returned;
use crate::try_table::{Labels, OpenTryTable};
use crate::{Error, ErrorKind, indices, leaf};
use kperf_abi::{FuncId, FuncIndex};
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{Encode, Instruction};
use wasmparser::{FunctionBody, Operator, ValType};

/// What engines allow a function: params and locals together, and bytes.
const MAX_LOCALS: u64 = 50_000;
const MAX_SIZE: usize = 7_654_321;

/// What became of a body.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BodyFacts {
    /// It says `unwind` somewhere (or would, if the module imported it).
    pub(crate) unwinds: bool,
    /// A `try_table` needs the types of pads, which weren't added: the body is no good.
    pub(crate) lacks_pad_types: bool,
    /// Blocks were added beside the one around the body, so that names of labels no longer fit.
    pub(crate) adds_pads: bool,
    /// Its probe, if it has one.
    pub(crate) site: Site,
    /// It calls or loops.
    pub(crate) calls: bool,
    /// It can't bear its probe.
    pub(crate) refused: Option<SkipReason>,
}

/// Writes a body, its length in front, behind what is in `out`.
pub(crate) fn rewrite(
    context: &Context<'_>,
    index: FuncIndex,
    body: &FunctionBody<'_>,
    out: &mut Vec<u8>,
) -> Result<BodyFacts, Error> {
    let mut new = Vec::with_capacity(body.as_bytes().len() + 64);
    let facts = match context.probe(index) {
        Some(id) if context.is_counted(index) => {
            let mut rewriter = Rewriter::new(context, body, &mut new);
            rewriter.facts.site = Site { id, inline: true, ..Site::default() };
            rewriter.write_counted(index)?;
            rewriter.facts
        }
        Some(id) => {
            let mut facts = write_probed(context, index, id, body, true, &mut new)?;
            if context.code.templates.is_some() && (facts.refused.is_some() || new.len() > MAX_SIZE) {
                // There is more room for calls.
                new.clear();
                facts = write_probed(context, index, id, body, false, &mut new)?;
            }
            facts
        }
        None => {
            let mut plain = Rewriter::new(context, body, &mut new);
            plain.write_plain()?;
            plain.facts
        }
    };
    if new.len() > MAX_SIZE && context.probe(index).is_some() {
        return Ok(BodyFacts { refused: Some(SkipReason::TooLarge), ..facts });
    }
    new.as_slice().encode(out);
    Ok(facts)
}

fn write_probed(
    context: &Context<'_>,
    index: FuncIndex,
    id: FuncId,
    body: &FunctionBody<'_>,
    inline: bool,
    out: &mut Vec<u8>,
) -> Result<BodyFacts, Error> {
    let mut rewriter = Rewriter::new(context, body, out);
    rewriter.facts.site = Site { id, inline, ..Site::default() };
    rewriter.write_probed(index)?;
    Ok(rewriter.facts)
}

/// Writes the body of a function that calls an import between probes: the host's time beside the guest's.
pub(crate) fn write_thunk(context: &Context<'_>, import: u32, id: FuncId, params: u32, out: &mut Vec<u8>) {
    let probes = &context.code;
    let mut new = Vec::new();
    let counted = probes.only_counts;
    let (groups, locals) = encode_locals(if counted { probes.leaf_locals() } else { probes.locals(true) });
    groups.encode(&mut new);
    new.extend_from_slice(&locals);
    let site = Site { id, token: params, inline: true, ..Site::default() };
    if counted {
        probes.leaf(site, &mut new);
    } else {
        probes.enter(site, &mut new);
    }
    (0..params).for_each(|param| Instruction::LocalGet(param).encode(&mut new));
    Instruction::Call(import).encode(&mut new);
    if !counted {
        probes.leave(site, None, &mut new);
    }
    Instruction::End.encode(&mut new);
    new.as_slice().encode(out);
}

struct Rewriter<'a, 'o> {
    context: &'a Context<'a>,
    body: &'a FunctionBody<'a>,
    /// The body's bytes, and the offset of their first in the module.
    source: &'a [u8],
    base: u64,
    /// Up to where the source has been dealt with.
    done: usize,
    out: &'o mut Vec<u8>,
    /// How many params and locals the source has.
    locals: u64,
    /// Where the declarations of locals end in the source.
    locals_end: usize,
    /// Types of the locals behind it.
    spills: Vec<ValType>,
    labels: Labels,
    open_try_tables: Vec<OpenTryTable>,
    facts: BodyFacts,
}

impl<'a, 'o> Rewriter<'a, 'o> {
    fn new(context: &'a Context<'a>, body: &'a FunctionBody<'a>, out: &'o mut Vec<u8>) -> Self {
        let (source, base) = (body.as_bytes(), body.range().start);
        let facts = BodyFacts::default();
        Rewriter {
            context,
            body,
            source,
            base,
            done: 0,
            out,
            locals: 0,
            locals_end: 0,
            spills: Vec::new(),
            labels: Labels::new(0),
            open_try_tables: Vec::new(),
            facts,
        }
    }

    /// Only function indices change.
    fn write_plain(&mut self) -> Result<(), Error> {
        // No param: their number is of no interest.
        self.read_locals(0)?;
        self.done = 0;
        self.copy_body(false)
    }

    /// Copies the instructions; only function indices change. `has_probe`: there are more locals than the source has.
    fn copy_body(&mut self, has_probe: bool) -> Result<(), Error> {
        let mut operators = self.body.get_operators_reader()?;
        let mut end = operators.original_position();
        while !operators.eof() {
            let start = end;
            let operator = operators.read()?;
            end = operators.original_position();
            self.context.info.check_types_of(&operator, start)?;
            self.check_indices(&operator, start)?;
            if has_probe {
                self.check_local(&operator, start)?;
            }
            if let Some(moved) = self.moved(&operator) {
                self.replace(start, end, &[moved]);
            }
        }
        operators.finish()?;
        self.copy_until(self.source.len());
        Ok(())
    }

    /// Nothing in the body changes; the event stands in front of it.
    fn write_counted(&mut self, index: FuncIndex) -> Result<(), Error> {
        let signature = self.context.info.func_type(index).ok_or_else(|| self.no_func_type())?;
        self.locals = self.read_locals(signature.params().len() as u64)?;
        let added = self.context.code.leaf_locals();
        let site = &mut self.facts.site;
        site.inline = self.locals + added.len() as u64 <= MAX_LOCALS;
        site.token = self.locals.min(MAX_LOCALS) as u32;
        let (site, locals) = (*site, &self.source[..self.done]);
        if site.inline {
            let groups = self.body.get_locals_reader()?;
            let (added, own) = encode_locals(added);
            (groups.get_count() + added).encode(self.out);
            self.out.extend_from_slice(&locals[(groups.original_position() - self.base) as usize..]);
            self.out.extend_from_slice(&own);
        } else {
            self.out.extend_from_slice(locals);
        }
        self.context.code.leaf(site, self.out);
        self.copy_body(true)
    }

    /// What is one past the end in the original would be there in the rewritten function: the probe's.
    fn check_local(&self, operator: &Operator<'_>, offset: u64) -> Result<(), Error> {
        match operator {
            Operator::LocalGet { local_index }
            | Operator::LocalSet { local_index }
            | Operator::LocalTee { local_index }
                if u64::from(*local_index) >= self.locals =>
            {
                Err(Error::malformed(offset, "a local that isn't there"))
            }
            _ => Ok(()),
        }
    }

    fn write_probed(&mut self, index: FuncIndex) -> Result<(), Error> {
        let signature = self.context.info.func_type(index).ok_or_else(|| self.no_func_type())?;
        let locals = self.read_locals(signature.params().len() as u64)?;
        self.locals = locals;
        self.labels = Labels::new(signature.results().len());
        self.locals_end = self.done;
        self.facts.site.token = locals.min(MAX_LOCALS) as u32;
        let block = self.context.body_type(index, signature)?;
        self.put(&[Instruction::Block(block)]);
        self.write_operators()?;
        // The body's own `end` has closed the block.
        self.copy_until(self.source.len());
        self.facts.site.between = leaf::between(self.body, self.facts.site.id, self.facts.calls)?;
        let returned = self.keep_returned(signature.results());
        self.context.code.leave(self.facts.site, returned, self.out);
        self.put(&[Instruction::End]);
        if locals + u64::from(self.probe_locals()) + self.spills.len() as u64 > MAX_LOCALS {
            self.facts.refused = Some(SkipReason::TooManyLocals);
        }
        self.prepend_enter()
    }

    /// Keeps the last of the results, if it is a number and the leave wants it.
    fn keep_returned(&mut self, results: &[ValType]) -> Option<Returned> {
        let numbers = [ValType::I32, ValType::I64, ValType::F32, ValType::F64];
        let &ty = results.last().filter(|ty| numbers.contains(ty))?;
        if !self.context.code.wants_returned(self.facts.site) {
            return None;
        }
        let local = self.facts.site.token + self.probe_locals() + self.spills.len() as u32;
        self.spills.push(ty);
        self.put(&[Instruction::LocalTee(local)]);
        Some(Returned { local, ty })
    }

    /// Passes over the function's locals; answers how many params and locals there are.
    fn read_locals(&mut self, params: u64) -> Result<u64, Error> {
        let mut reader = self.body.get_locals_reader()?;
        let mut count = params;
        for _ in 0..reader.get_count() {
            let offset = reader.original_position();
            let (declared, ty) = reader.read()?;
            self.context.info.check_type(by_val(ty), offset)?;
            count += u64::from(declared);
        }
        self.skip_until_offset(reader.original_position());
        Ok(count)
    }

    /// Puts the locals in front of what is written (the function's own, the probe's, and those for spilled parameters), and
    /// behind them the enter, which depends on what is in the body.
    fn prepend_enter(&mut self) -> Result<(), Error> {
        let reader = self.body.get_locals_reader()?;
        let groups = reader.get_count();
        let own = (reader.original_position() - self.base) as usize;
        let own = &self.source[own..self.locals_end];
        let mut locals = Vec::with_capacity(own.len() + 64);
        let (probe_groups, probe_locals) = encode_locals(self.context.code.locals(self.facts.site.inline));
        (groups + probe_groups + self.spills.len() as u32).encode(&mut locals);
        locals.extend_from_slice(own);
        locals.extend_from_slice(&probe_locals);
        for &spill in &self.spills {
            1u32.encode(&mut locals);
            RoundtripReencoder.val_type(spill)?.encode(&mut locals);
        }
        self.context.code.enter(self.facts.site, &mut locals);
        self.out.splice(0..0, locals);
        Ok(())
    }

    fn probe_locals(&self) -> u32 {
        self.context.code.locals(self.facts.site.inline).len() as u32
    }

    fn write_operators(&mut self) -> Result<(), Error> {
        let mut operators = self.body.get_operators_reader()?;
        let mut end = operators.original_position();
        while !operators.eof() {
            let start = end;
            let operator = operators.read()?;
            end = operators.original_position();
            self.operator(&operator, start, end)?;
            if self.out.len() > MAX_SIZE {
                // It is refused: no need to see how large it would get.
                return Ok(());
            }
        }
        operators.finish()?;
        Ok(())
    }

    #[inline]
    fn operator(&mut self, operator: &Operator<'a>, start: u64, end: u64) -> Result<(), Error> {
        let context = self.context;
        self.check_indices(operator, start)?;
        match operator {
            Operator::Block { blockty } | Operator::If { blockty } | Operator::Try { blockty } => {
                context.info.check_types_of(operator, start)?;
                self.labels.open(0, context.info.block_results(*blockty));
            }
            Operator::Loop { blockty } => {
                self.facts.calls = true;
                context.info.check_types_of(operator, start)?;
                self.labels.open(0, context.info.block_params(*blockty).len());
            }
            Operator::End => {
                if self.open_try_tables.last().is_some_and(|open| open.depth == self.labels.depth()) {
                    self.copy_until_offset(end);
                    self.close_try_table()?;
                } else {
                    self.labels.close();
                }
            }
            Operator::Return => {
                let label = self.labels.depth() + self.labels.added();
                self.replace(start, end, &[Instruction::Br(label)]);
            }
            Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. } => {
                self.facts.calls = true;
                context.info.check_types_of(operator, start)?;
                self.copy_until_offset(start);
                context.code.leave(self.facts.site, None, self.out);
                if let Some(moved) = self.moved(operator) {
                    self.replace(start, end, &[moved]);
                }
            }
            &Operator::Call { function_index } => {
                self.facts.calls = true;
                if let Some(moved) = self.moved(operator) {
                    self.replace(start, end, &[moved]);
                }
                if !context.is_thunked(function_index) && context.reach.import(function_index) {
                    self.unwind_behind(end);
                }
            }
            &Operator::CallIndirect { table_index, .. } => {
                self.facts.calls = true;
                context.info.check_types_of(operator, start)?;
                if context.reach.table(table_index) {
                    self.unwind_behind(end);
                }
            }
            Operator::CallRef { .. } => {
                self.facts.calls = true;
                context.info.check_types_of(operator, start)?;
                if context.reach.refs() {
                    self.unwind_behind(end);
                }
            }
            // Node 20 may lose a local across it: the frame is checked as if something had been called.
            Operator::MemoryAtomicWait32 { .. } | Operator::MemoryAtomicWait64 { .. } => {
                self.facts.calls = true;
            }
            Operator::RefNull { .. }
            | Operator::RefTestNonNull { .. }
            | Operator::RefTestNullable { .. }
            | Operator::RefCastNonNull { .. }
            | Operator::RefCastNullable { .. }
            | Operator::TypedSelect { .. }
            | Operator::TypedSelectMulti { .. } => context.info.check_types_of(operator, start)?,
            Operator::RefFunc { .. } => {
                if let Some(moved) = self.moved(operator) {
                    self.replace(start, end, &[moved]);
                }
            }
            Operator::Catch { .. } | Operator::CatchAll => self.unwind_behind(end),
            Operator::Delegate { .. } => {
                self.labels.close();
                self.relabel(operator, start, end)?;
            }
            Operator::Br { .. }
            | Operator::BrIf { .. }
            | Operator::BrTable { .. }
            | Operator::BrOnNull { .. }
            | Operator::BrOnNonNull { .. }
            | Operator::BrOnCast { .. }
            | Operator::BrOnCastFail { .. }
            | Operator::BrOnCastDescEq { .. }
            | Operator::BrOnCastDescEqFail { .. }
            | Operator::Rethrow { .. } => self.relabel(operator, start, end)?,
            Operator::LocalGet { .. } | Operator::LocalSet { .. } | Operator::LocalTee { .. } => {
                self.check_local(operator, start)?;
            }
            Operator::TryTable { try_table } => {
                context.info.check_types_of(operator, start)?;
                self.open_try_table(try_table, start, end)?;
            }
            Operator::ContNew { .. }
            | Operator::ContBind { .. }
            | Operator::Suspend { .. }
            | Operator::Resume { .. }
            | Operator::ResumeThrow { .. }
            | Operator::ResumeThrowRef { .. }
            | Operator::Switch { .. } => {
                // Frames of several stacks would interleave in one lane: a wrong tree, where none is better.
                let what = "stack switching (cont.new, suspend, resume)".to_owned();
                return Err(ErrorKind::Unsupported { what, offset: start }.into());
            }
            _ => {}
        }
        Ok(())
    }

    /// A memory or a global that isn't there must not find the recorder's.
    #[inline]
    fn check_indices(&self, operator: &Operator<'_>, offset: u64) -> Result<(), Error> {
        match self.context.code.templates {
            Some(_) => indices::check(self.context.info, operator, offset),
            None => Ok(()),
        }
    }

    /// The instruction with its function's new index, if that differs.
    fn moved(&self, operator: &Operator<'_>) -> Option<Instruction<'static>> {
        let context = self.context;
        Some(match *operator {
            Operator::Call { function_index } => Instruction::Call(context.callee(function_index)),
            Operator::ReturnCall { function_index } => {
                Instruction::ReturnCall(context.callee(function_index))
            }
            Operator::RefFunc { function_index } => Instruction::RefFunc(context.function(function_index)),
            _ => return None,
        })
    }

    /// Says `unwind` behind an instruction.
    fn unwind_behind(&mut self, end: u64) {
        self.facts.unwinds = true;
        self.copy_until_offset(end);
        self.context.code.unwind(self.facts.site, self.out);
    }

    fn copy_until_offset(&mut self, offset: u64) {
        self.copy_until((offset - self.base) as usize);
    }

    /// Copies the source up to here, if it isn't dealt with yet.
    fn copy_until(&mut self, end: usize) {
        if end > self.done {
            self.out.extend_from_slice(&self.source[self.done..end]);
            self.done = end;
        }
    }

    fn skip_until_offset(&mut self, offset: u64) {
        self.done = (offset - self.base) as usize;
    }

    /// Writes other instructions in the place of one.
    fn replace(&mut self, start: u64, end: u64, instructions: &[Instruction<'_>]) {
        self.copy_until_offset(start);
        self.put(instructions);
        self.skip_until_offset(end);
    }

    fn put(&mut self, instructions: &[Instruction<'_>]) {
        instructions.iter().for_each(|instruction| instruction.encode(self.out));
    }

    fn no_func_type(&self) -> Error {
        Error::malformed(self.base, "a function's type is no function type")
    }
}
