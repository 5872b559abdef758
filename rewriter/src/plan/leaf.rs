//! Functions that call nothing, don't loop and can't trap, and that take less time than a probe. They can be counted only, and are
//! recorded at their end.

use crate::Error;
use crate::module::operators;
use crate::module::operators::Effect;
use wasmparser::{FunctionBody, Operator};

/// As many instructions as the two halves of a probe have.
const MOST: u32 = 40;

/// Whether a body has few instructions, all of them cheap, and none of them calls, loops, traps or takes part in an
/// exception. (A load may trap, and may wait for memory longer than any probe takes.)
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
