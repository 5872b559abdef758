//! Writes thunks: functions that call an import between probes.

use crate::instrument::context::Context;
use crate::instrument::hints::Hint;
use crate::instrument::probe::{ProbeSite, encode_locals};
use kperf_abi::FuncId;
use wasm_encoder::{Encode, Instruction};

/// Writes a thunk's body, which times the host function. Returns its branch hints.
pub(crate) fn write(
    context: &Context<'_>,
    import: u32,
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
    let call = context.host_call(import).unwrap_or_else(|| vec![Instruction::Call(import)]);
    call.iter().for_each(|instruction| instruction.encode(&mut new));
    if !counted {
        if context.reach.function(import) && !probes.leave_closes(site) {
            probes.unwind(site, &mut new, &mut hints);
        }
        probes.leave(site, None, &mut new, &mut hints);
    }
    Instruction::End.encode(&mut new);
    new.as_slice().encode(out);
    hints
}
