//! Copies a body, and changes the indices that move.

use super::counts::Counts;
use super::facts::{BodyFacts, Met};
use super::memory::{Around, Growing};
use super::tails::TailCalls;
use crate::error::{Error, ErrorKind};
use crate::instrument::context::Context;
use crate::instrument::hints::Offsets;
use crate::instrument::probe::encode_locals;
use crate::instrument::section;
use crate::instrument::try_table::{Labels, OpenTryTable};
use crate::module::engines::MAX_LOCALS;
use crate::module::indices;
use crate::module::moves::Steps;
use crate::module::named_types::by_val;
use crate::module::operators::{self, Effect, Named};
use crate::plan::growth::{self, Growth};
use crate::plan::reach::TailCall;
use crate::plan::regions::{self, Counting};
use kperf_abi::FuncIndex;
use wasm_encoder::reencode::Reencode;
use wasm_encoder::{Encode, Instruction};
use wasmparser::{FunctionBody, Operator, ValType};

/// The locals of a new body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Locals {
    /// Those of the source.
    Same,
    /// More than the source has, so an invalid index could name one.
    More,
}

/// Code before operators.
pub(super) struct Puts {
    /// The code that counts instructions, if they are the clock.
    pub(super) counting: Option<Counting>,
    /// The code that records growth and new objects, if allocations are recorded.
    pub(super) growth: Growth,
}

impl Puts {
    pub(super) fn find(
        context: &Context<'_>,
        index: FuncIndex,
        body: &FunctionBody<'_>,
    ) -> Result<Puts, Error> {
        let counting = match context.counter {
            None => None,
            Some(_) if context.info.is_shared(index) => {
                return Err(not_counted(index, "it is shared, and may not touch a global that isn't"));
            }
            Some(_) => Some(regions::find(context.info, body)?),
        };
        let growth = match context.memory {
            None => Growth::new(),
            Some(_) => growth::find(context.info, index, body)?,
        };
        Ok(Puts { counting, growth })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counting.is_none() && self.growth.is_empty()
    }
}

pub(super) fn not_counted(index: FuncIndex, why: &'static str) -> Error {
    ErrorKind::NotCounted { index: index.0, why }.into()
}

pub(super) struct Rewriter<'a, 'o> {
    pub(super) context: &'a Context<'a>,
    pub(super) index: FuncIndex,
    pub(super) body: &'a FunctionBody<'a>,
    pub(super) met: &'o mut Met,
    /// The body's bytes, and the offset of the first in the module.
    pub(super) source: &'a [u8],
    pub(super) base: u64,
    /// The offset up to which the source is copied or replaced.
    pub(super) done: usize,
    pub(super) out: &'o mut Vec<u8>,
    /// Number of the source's parameters and locals.
    pub(super) locals: u64,
    /// End of the declarations of locals in the source.
    pub(super) locals_end: usize,
    /// Types of the locals after the probe's.
    pub(super) spills: Vec<ValType>,
    pub(super) labels: Labels,
    pub(super) open_try_tables: Vec<OpenTryTable>,
    pub(super) facts: BodyFacts,
    pub(super) puts: &'a Puts,
    /// The code still to be written.
    pub(super) counts: Option<Counts<'a>>,
    pub(super) growing: Option<Growing<'a>>,
    /// The code around the body of an allocator function.
    pub(super) around: Option<Around>,
    /// Its tail calls, if it has any.
    pub(super) tail_calls: Option<TailCalls<'a>>,
    pub(super) hints: Offsets<'a>,
    pub(super) steps: Steps,
    /// Bytes put before the body after its instructions were passed.
    pub(super) in_front: usize,
}

impl<'a, 'o> Rewriter<'a, 'o> {
    pub(super) fn new(
        context: &'a Context<'a>,
        index: FuncIndex,
        body: &'a FunctionBody<'a>,
        puts: &'a Puts,
        out: &'o mut Vec<u8>,
        met: &'o mut Met,
    ) -> Self {
        let (source, base) = (body.as_bytes(), body.range().start);
        let facts = BodyFacts::default();
        Rewriter {
            context,
            index,
            body,
            met,
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
            puts,
            counts: None,
            growing: None,
            around: None,
            tail_calls: None,
            hints: Offsets::new(context.hints.as_ref().and_then(|hints| hints.get(&index))),
            steps: Steps::new(context.most_steps),
            in_front: 0,
        }
    }

    pub(super) fn finish(self) -> BodyFacts {
        self.met.body_hints = self.hints.finish(self.in_front);
        self.met.steps = (self.steps, self.in_front);
        self.facts
    }

    /// Passes the instruction at this offset: writes the code before it, and notes its new offset.
    #[inline]
    pub(super) fn pass(&mut self, start: u64) {
        if let Some(mut counts) = self.counts.take_if(|counts| counts.is_due(start)) {
            self.copy_until_offset(start);
            counts.write(start, self.out);
            self.counts = Some(counts);
        }
        if let Some(mut growing) = self.growing.take_if(|growing| growing.is_due(start)) {
            self.copy_until_offset(start);
            growing.write(start, self.out);
            self.growing = Some(growing);
        }
        let at = (start - self.base) as usize;
        let new = self.out.len() + at - self.done;
        self.hints.pass(at, new);
        self.steps.pass(at, new);
    }

    /// Copies a body without a probe; only indices change. With `tracks_depth` it stops with `false` at an
    /// instruction that may catch: the body needs depth tracking.
    pub(super) fn write_plain(&mut self, tracks_depth: bool) -> Result<bool, Error> {
        if self.puts.is_empty() {
            // The number of parameters is not needed.
            self.read_locals(0)?;
            self.done = 0;
            return self.copy_body(Locals::Same, tracks_depth);
        }
        self.begin()?;
        self.put_locals(&[])?;
        self.copy_body(Locals::More, tracks_depth)
    }

    /// Reads the function's locals, and adds those that count instructions and record growth. Returns the number of
    /// all.
    pub(super) fn begin(&mut self) -> Result<u64, Error> {
        let signature = self.context.info.func_type(self.index).ok_or_else(|| self.no_func_type())?;
        self.locals = self.read_locals(signature.params().len() as u64)?;
        self.locals_end = self.done;
        let mut locals = self.locals;
        if let (Some(counter), Some(counting)) = (self.context.counter, &self.puts.counting) {
            let counts = Counts::new(counter, counting, locals)
                .ok_or_else(|| not_counted(self.index, "no room for a local: engines allow 50,000"))?;
            locals += counts.locals().len() as u64;
            self.counts = Some(counts);
        }
        if let Some((memory, _)) = self.context.memory.filter(|_| !self.puts.growth.is_empty()) {
            let growing = Growing::new(memory, &self.puts.growth, locals);
            locals += growing.locals().len() as u64;
            if locals > MAX_LOCALS {
                let what = "an allocation in a function without room for a local".to_owned();
                return Err(ErrorKind::Unsupported { what, offset: self.base }.into());
            }
            self.growing = Some(growing);
        }
        Ok(locals)
    }

    /// Writes the declarations of all locals: the function's, those for counting, and these.
    pub(super) fn put_locals(&mut self, added: &[wasm_encoder::ValType]) -> Result<(), Error> {
        let (groups, locals) = self.declarations(added)?;
        groups.encode(self.out);
        self.out.extend_from_slice(&locals);
        Ok(())
    }

    /// The number of groups of locals, and the groups.
    pub(super) fn declarations(&self, added: &[wasm_encoder::ValType]) -> Result<(u32, Vec<u8>), Error> {
        let reader = self.body.get_locals_reader()?;
        let own = (reader.original_position() - self.base) as usize;
        let counting = self.counts.as_ref().map_or(&[][..], Counts::locals);
        let growing = self.growing.as_ref().map_or(&[][..], Growing::locals);
        let (groups, more) = encode_locals(&[counting, growing, added].concat());
        let mut locals = Vec::with_capacity(self.locals_end - own + more.len() + 64);
        locals.extend_from_slice(&self.source[own..self.locals_end]);
        locals.extend_from_slice(&more);
        Ok((reader.get_count() + groups, locals))
    }

    /// Copies the instructions; only indices change.
    pub(super) fn copy_body(&mut self, locals: Locals, tracks_depth: bool) -> Result<bool, Error> {
        let mut operators = self.body.get_operators_reader()?;
        let mut end = operators.original_position();
        while !operators.eof() {
            let start = end;
            let operator = operators.read()?;
            end = operators.original_position();
            self.pass(start);
            let effect = operators::effect(&operator);
            if effect == Effect::Cheap {
                continue;
            }
            if effect == Effect::Unknown {
                return Err(operators::unknown(start));
            }
            self.check(&operator, start, locals)?;
            if tracks_depth && self.context.may_catch(&operator) {
                return Ok(false);
            }
            self.meet(&operator, start);
            if !self.replaced_inside(&operator, start, end) {
                self.put_moved(&operator, start, end)?;
            }
        }
        operators.finish()?;
        self.copy_until(self.source.len());
        Ok(true)
    }

    /// Notes what concerns other functions.
    pub(super) fn meet(&mut self, operator: &Operator<'_>, offset: u64) {
        match operators::effect(operator) {
            Effect::TailCalls => {
                let callee = operators::function(operator);
                self.met.tail_calls.push(TailCall { caller: self.index.0, callee });
            }
            Effect::Switches | Effect::Resumes
                if self.met.switches.last().is_none_or(|&(last, _)| last != self.index) =>
            {
                self.met.switches.push((self.index, offset));
            }
            _ => {}
        }
    }

    /// Writes the event before an unchanged body.
    pub(super) fn write_counted(&mut self) -> Result<(), Error> {
        let locals = self.begin()?;
        let added = self.context.code.leaf_locals(self.facts.site);
        let site = &mut self.facts.site;
        site.inline = locals + added.len() as u64 <= MAX_LOCALS;
        site.token = locals.min(MAX_LOCALS) as u32;
        let site = *site;
        self.put_locals(if site.inline { added } else { &[] })?;
        self.context.code.leaf(site, self.out, &mut self.hints.met);
        self.copy_body(Locals::More, false)?;
        Ok(())
    }

    /// Skips the function's locals; returns the number of parameters and locals.
    pub(super) fn read_locals(&mut self, params: u64) -> Result<u64, Error> {
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

    /// Fails on indices that don't exist in the original and would in the rewritten module.
    #[inline]
    pub(super) fn check(&self, operator: &Operator<'_>, offset: u64, locals: Locals) -> Result<(), Error> {
        let context = self.context;
        let segments = context.inside.as_ref().map(|inside| inside.segments);
        operators::each_named(operator, |named| match named {
            Named::Type(index) => context.info.check_type(Some(index), offset),
            Named::Local(index) if locals == Locals::More && u64::from(index) >= self.locals => {
                Err(Error::malformed(offset, "unknown local"))
            }
            Named::Data(index) if segments.flatten().is_some_and(|segments| index >= segments) => {
                Err(Error::malformed(offset, "unknown data segment"))
            }
            named if context.parts.has_state() => indices::check(context.info, named, offset),
            _ => Ok(()),
        })
    }

    /// The instruction with the new index of its function or global, if that moves.
    pub(super) fn moved(&self, operator: &Operator<'a>) -> Result<Option<Instruction<'a>>, Error> {
        if self.context.moves_globals() && operators::global(operator).is_some() {
            return Ok(Some(section::Mover(self.context).instruction(operator.clone())?));
        }
        let Some(function) = operators::function(operator) else {
            return Ok(self.context.wait_thunk(self.index, operator).map(Instruction::Call));
        };
        Ok(Some(match operators::effect(operator) {
            Effect::Calls => Instruction::Call(self.context.callee(function)),
            // A tail call doesn't go through the thunk: a call would keep the frame that it gives up.
            _ => section::Mover(self.context).instruction(operator.clone())?,
        }))
    }

    pub(super) fn copy_until_offset(&mut self, offset: u64) {
        self.copy_until((offset - self.base) as usize);
    }

    /// Copies the source up to here.
    pub(super) fn copy_until(&mut self, end: usize) {
        if end > self.done {
            self.out.extend_from_slice(&self.source[self.done..end]);
            self.done = end;
        }
    }

    pub(super) fn skip_until_offset(&mut self, offset: u64) {
        self.done = (offset - self.base) as usize;
    }

    /// Writes instructions in the place of one.
    pub(super) fn replace(&mut self, start: u64, end: u64, instructions: &[Instruction<'_>]) {
        self.copy_until_offset(start);
        self.put(instructions);
        self.skip_until_offset(end);
    }

    pub(super) fn put(&mut self, instructions: &[Instruction<'_>]) {
        instructions.iter().for_each(|instruction| instruction.encode(self.out));
    }

    pub(super) fn no_func_type(&self) -> Error {
        Error::malformed(self.base, "the type of a function is not a function type")
    }
}
