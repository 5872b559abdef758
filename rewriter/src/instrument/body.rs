//! Rewrites function bodies.
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
//! - Labels keep their numbers: the function's own label becomes the block's.
//! - A tail call is preceded by `leave`. In an allocator function it may become a call (see `tail_calls`).
//! - `unwind` follows everything that may have caught: `catch` and `catch_all` of a legacy `try`, each clause of a
//!   `try_table` (on a pad of its own, see [`crate::instrument::try_table`]), and calls that may reach a host
//!   function.
//! - Only these instructions and those with an index that moves are encoded; the bytes between them are copied.
//! - Nesting is kept on a stack of our own: real modules nest 21,245 blocks.
//! - A counted function has one event before its unchanged body.
//! - A function without a probe that may catch notes its depth at its start, and closes deeper frames after each
//!   catch. It has neither the block nor the other events.

mod counts;
pub(crate) mod facts;
mod inside;
mod labels;
mod memory;
mod probed;
mod rewriter;
mod tail_calls;
mod tails;
pub(crate) mod thunk;

use crate::error::Error;
use crate::instrument::context::Context;
use crate::instrument::probe::ProbeSite;
use crate::module::engines::MAX_SIZE;
use crate::skipped::SkipReason;
use facts::{BodyFacts, Met};
use kperf_abi::{FuncId, FuncIndex};
use rewriter::{Puts, Rewriter, not_counted};
use wasm_encoder::Encode;
use wasmparser::FunctionBody;

/// Appends a body to `out`, with its length before it.
pub(crate) fn rewrite(
    context: &Context<'_>,
    index: FuncIndex,
    body: &FunctionBody<'_>,
    out: &mut Vec<u8>,
    met: &mut Met,
) -> Result<BodyFacts, Error> {
    let mut new = Vec::with_capacity(body.as_bytes().len() + 64);
    let puts = Puts::find(context, index, body)?;
    let puts = &puts;
    let (tail_calls, switches) = (met.tail_calls.len(), met.switches.len());
    let again = |new: &mut Vec<u8>, met: &mut Met| {
        new.clear();
        met.tail_calls.truncate(tail_calls);
        met.switches.truncate(switches);
    };
    let site = |id, inline| ProbeSite { id, inline, ..ProbeSite::default() };
    let facts = match context.probe(index) {
        Some(id) if context.is_counted(index) => {
            let mut rewriter = Rewriter::new(context, index, body, puts, &mut new, met);
            rewriter.facts.site = site(id, true);
            rewriter.write_counted()?;
            rewriter.finish()
        }
        Some(id) => {
            let facts = Rewriter::new(context, index, body, puts, &mut new, met).probed(site(id, true))?;
            if context.code.has_smaller() && (facts.refused.is_some() || new.len() > MAX_SIZE) {
                // Calls take less room.
                again(&mut new, met);
                Rewriter::new(context, index, body, puts, &mut new, met).probed(site(id, false))?
            } else {
                facts
            }
        }
        None => {
            let mut plain = Rewriter::new(context, index, body, puts, &mut new, met);
            if plain.write_plain(context.tracks_depth(index))? {
                plain.finish()
            } else {
                again(&mut new, met);
                let depth_only = ProbeSite { tracks_depth_only: true, ..site(FuncId::default(), true) };
                let facts = Rewriter::new(context, index, body, puts, &mut new, met).probed(depth_only)?;
                if facts.refused.is_some() || new.len() > MAX_SIZE {
                    again(&mut new, met);
                    let mut plain = Rewriter::new(context, index, body, puts, &mut new, met);
                    plain.write_plain(false)?;
                    BodyFacts { lacks_room_for_depth: true, ..plain.finish() }
                } else {
                    facts
                }
            }
        }
    };
    if new.len() > MAX_SIZE && context.probe(index).is_some() {
        return Ok(BodyFacts { refused: Some(SkipReason::TooLarge), ..facts });
    }
    if new.len() > MAX_SIZE && body.as_bytes().len() <= MAX_SIZE && puts.counting.is_some() {
        return Err(not_counted(
            index,
            "its body would be larger than the 7,654,321 bytes that engines allow",
        ));
    }
    let at = out.len();
    new.as_slice().encode(out);
    let (steps, in_front) = std::mem::take(&mut met.steps);
    met.moves.extend(steps.written(in_front, at, out.len() - at - new.len(), new.len()));
    met.hints.add(context.function(index.0), &std::mem::take(&mut met.body_hints));
    Ok(facts)
}
