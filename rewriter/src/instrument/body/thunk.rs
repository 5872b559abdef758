//! Writes thunks: functions that call an import, or wait, between probes.

use crate::instrument::context::Context;
use crate::instrument::hints::Hint;
use crate::instrument::probe::{ProbeSite, encode_locals};
use crate::plan::waits::Wait;
use kperf_abi::FuncId;
use kperf_abi::word::WAIT_ID;
use wasm_encoder::{Encode, Instruction};

/// Writes a thunk's body, which times the host function. Returns its branch hints.
pub(crate) fn write(
    context: &Context<'_>,
    import: u32,
    id: FuncId,
    params: u32,
    out: &mut Vec<u8>,
) -> Vec<Hint> {
    let call = context.host_call(import).unwrap_or_else(|| vec![Instruction::Call(import)]);
    around(context, &call, context.reach.function(import), id, params, out)
}

/// Writes the body of a thunk that waits:
///
/// ```wat
/// (memory.atomic.wait32 (A) (V) (T))     (call $memory.atomic.wait32 (A) (V) (T))
///
///                                        (func $memory.atomic.wait32 (param i32 i32 i64) (result i32) (local $t i32)
///                                          (local.set $t (call $kperf.enter (i32.const 0x3ffffffd)))
///                                          (memory.atomic.wait32 (local.get 0) (local.get 1) (local.get 2))
///                                          (call $kperf.leave (local.get $t)))
/// ```
pub(crate) fn write_wait(context: &Context<'_>, wait: Wait, out: &mut Vec<u8>) -> Vec<Hint> {
    around(context, &[wait.instruction()], false, FuncId(WAIT_ID), 3, out)
}

/// Writes instructions that take all parameters, between probes. `unwinds`: a host function among them may leave frames open.
fn around(
    context: &Context<'_>,
    instructions: &[Instruction<'_>],
    unwinds: bool,
    id: FuncId,
    params: u32,
    out: &mut Vec<u8>,
) -> Vec<Hint> {
    let probes = &context.code;
    let (mut new, mut hints) = (Vec::new(), Vec::new());
    let counted = probes.only_counts();
    let site = ProbeSite { id, token: params, inline: true, ..ProbeSite::default() };
    let (groups, locals) =
        encode_locals(if counted { probes.leaf_locals(site) } else { probes.locals(site) });
    groups.encode(&mut new);
    new.extend_from_slice(&locals);
    if counted {
        probes.leaf(site, &mut new, &mut hints);
    } else {
        probes.enter(site, &mut new, &mut hints);
    }
    (0..params).for_each(|param| Instruction::LocalGet(param).encode(&mut new));
    instructions.iter().for_each(|instruction| instruction.encode(&mut new));
    if !counted {
        if unwinds && !probes.leave_closes(site) {
            probes.unwind(site, &mut new, &mut hints);
        }
        probes.leave(site, None, &mut new, &mut hints);
    }
    Instruction::End.encode(&mut new);
    new.as_slice().encode(out);
    hints
}
