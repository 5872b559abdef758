//! Functions in which nothing can happen, and which take less time than the two halves of a probe: they may be counted only,
//! and are recorded at their end.

use crate::Error;
use crate::probe::Between;
use kperf_abi::FuncId;
use kperf_abi::word::MAX_LEAF_ID;
use wasmparser::{FunctionBody, Operator};

/// Whether calls of a function that calls nothing, doesn't loop and can't trap are timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Leaf {
    /// They are, as all others: an enter and a leave.
    #[default]
    Time,
    /// They are one event, if the function is cheaper than its probe: exact counts, and its time is in that of its caller.
    Count,
}

/// As many instructions as the two halves of a probe have.
const MOST: u32 = 40;

/// What may come between the enter and the leave of a function. `calls`: its body calls or loops.
pub(crate) fn between(body: &FunctionBody<'_>, id: FuncId, calls: bool) -> Result<Between, Error> {
    Ok(if calls || id.0 > MAX_LEAF_ID {
        Between::Anything
    } else if is_trapless(body)? {
        Between::Nothing
    } else {
        Between::Trap
    })
}

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

/// What divides is not: it traps or takes as long as a probe. Vectors are left out for brevity.
fn is_cheap(operator: &Operator<'_>) -> bool {
    use Operator::*;
    matches!(
        operator,
        Nop | Drop
            | Select
            | Block { .. }
            | If { .. }
            | Else
            | End
            | Br { .. }
            | BrIf { .. }
            | BrTable { .. }
            | Return
            | LocalGet { .. }
            | LocalSet { .. }
            | LocalTee { .. }
            | GlobalGet { .. }
            | GlobalSet { .. }
            | RefIsNull
            | RefEq
            | I32Const { .. }
            | I64Const { .. }
            | F32Const { .. }
            | F64Const { .. }
            | I32Eqz
            | I32Eq
            | I32Ne
            | I32LtS
            | I32LtU
            | I32GtS
            | I32GtU
            | I32LeS
            | I32LeU
            | I32GeS
            | I32GeU
            | I64Eqz
            | I64Eq
            | I64Ne
            | I64LtS
            | I64LtU
            | I64GtS
            | I64GtU
            | I64LeS
            | I64LeU
            | I64GeS
            | I64GeU
            | F32Eq
            | F32Ne
            | F32Lt
            | F32Gt
            | F32Le
            | F32Ge
            | F64Eq
            | F64Ne
            | F64Lt
            | F64Gt
            | F64Le
            | F64Ge
            | I32Clz
            | I32Ctz
            | I32Popcnt
            | I32Add
            | I32Sub
            | I32Mul
            | I32And
            | I32Or
            | I32Xor
            | I32Shl
            | I32ShrS
            | I32ShrU
            | I32Rotl
            | I32Rotr
            | I64Clz
            | I64Ctz
            | I64Popcnt
            | I64Add
            | I64Sub
            | I64Mul
            | I64And
            | I64Or
            | I64Xor
            | I64Shl
            | I64ShrS
            | I64ShrU
            | I64Rotl
            | I64Rotr
            | F32Abs
            | F32Neg
            | F32Ceil
            | F32Floor
            | F32Trunc
            | F32Nearest
            | F32Add
            | F32Sub
            | F32Mul
            | F32Min
            | F32Max
            | F32Copysign
            | F64Abs
            | F64Neg
            | F64Ceil
            | F64Floor
            | F64Trunc
            | F64Nearest
            | F64Add
            | F64Sub
            | F64Mul
            | F64Min
            | F64Max
            | F64Copysign
            | I32WrapI64
            | I64ExtendI32S
            | I64ExtendI32U
            | I32Extend8S
            | I32Extend16S
            | I64Extend8S
            | I64Extend16S
            | I64Extend32S
            | F32ConvertI32S
            | F32ConvertI32U
            | F32ConvertI64S
            | F32ConvertI64U
            | F32DemoteF64
            | F64ConvertI32S
            | F64ConvertI32U
            | F64ConvertI64S
            | F64ConvertI64U
            | F64PromoteF32
            | I32ReinterpretF32
            | I64ReinterpretF64
            | F32ReinterpretI32
            | F64ReinterpretI64
            | I32TruncSatF32S
            | I32TruncSatF32U
            | I32TruncSatF64S
            | I32TruncSatF64U
            | I64TruncSatF32S
            | I64TruncSatF32U
            | I64TruncSatF64S
            | I64TruncSatF64U
    )
}
