//! Finds functions that call nothing, don't loop, can't trap and take less time than a probe. Their calls can be
//! counted by one event.

use crate::error::Error;
use crate::module::operators;
use crate::module::operators::Effect;
use wasmparser::{FunctionBody, Operator};

/// Number of instructions in both halves of a probe.
const MOST: u32 = 40;

/// Whether a body has few instructions, all cheap: none calls, loops, traps or throws. A load is not cheap: it may
/// trap, or wait for memory longer than a probe takes.
pub(crate) fn is_trapless(body: &FunctionBody<'_>) -> Result<bool, Error> {
    let mut operators = body.get_operators_reader()?;
    let mut instructions = 0;
    while !operators.is_end_then_eof() {
        let operator = operators.read()?;
        instructions += u32::from(!matches!(operator, Operator::End | Operator::Else));
        if instructions > MOST || !is_cheap(&operator) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_cheap(operator: &Operator<'_>) -> bool {
    use Operator::*;
    let is_branch = || {
        matches!(operator, Block { .. } | If { .. } | End | Br { .. } | BrIf { .. } | BrTable { .. } | Return)
    };
    matches!(operators::effect(operator), Effect::Cheap | Effect::Variable) || is_branch()
}
