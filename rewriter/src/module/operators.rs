//! The effects and the indices of each operator.
//!
//! - The match that gives the effects has no `_` arm: a new operator of wasmparser doesn't compile without
//!   one.
//! - This is the only file that knows operators one by one.

use crate::error::Error;
use crate::module::named_types::{by_block, by_heap, by_ref, by_val};
use wasmparser::{Catch, Handle, MemArgTarget, Operator};

/// An index of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Function(u32),
    /// Also the index inside a block, value or reference type.
    Type(u32),
    Label(u32),
    Local(u32),
    Global(u32),
    Memory(u32),
    Table(u32),
    Tag(u32),
    Data(u32),
    Element(u32),
}

/// What an operator does, as far as probes are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing: no index, no trap, little time. A load is not cheap, because it may trap or wait for memory longer
    /// than a probe takes. A division may trap. Vector operators are left out for brevity.
    Cheap,
    /// Reads or writes a variable, which is as cheap.
    Variable,
    /// Makes a reference to a function.
    Refers,
    /// Nothing, but it may trap, throw or take long.
    Plain,
    /// Begins a label; branches go to its end.
    Opens,
    /// Begins a label; branches go to its start.
    Loops,
    /// Begins a label, and other labels get the exceptions inside it: the clauses of a `try_table`.
    OpensTable,
    /// Ends the innermost label.
    Ends,
    /// Ends the innermost label, and another label gets the exceptions inside it.
    Delegates,
    /// Caught exceptions arrive here.
    Catches,
    /// Branches to labels.
    Branches,
    Returns,
    /// Leaves the function and calls another: a tail call.
    TailCalls,
    /// Calls a function by index.
    Calls,
    /// Calls through a table or a reference.
    CallsReference,
    /// Waits for another thread.
    Waits,
    /// Suspends its stack.
    Switches,
    /// Runs another stack, with labels for suspensions.
    Resumes,
    /// Unknown to the rewriter.
    Unknown,
}

/// Handles one field, by its name. An unknown name doesn't compile.
macro_rules! name_field {
    ($each:ident, function_index, $v:ident) => {
        $each(Named::Function(*$v))?
    };
    ($each:ident, local_index, $v:ident) => {
        $each(Named::Local(*$v))?
    };
    ($each:ident, global_index, $v:ident) => {
        $each(Named::Global(*$v))?
    };
    ($each:ident, tag_index, $v:ident) => {
        $each(Named::Tag(*$v))?
    };
    ($each:ident, relative_depth, $v:ident) => {
        $each(Named::Label(*$v))?
    };
    ($each:ident, mem, $v:ident) => {
        $each(Named::Memory(*$v))?
    };
    ($each:ident, dst_mem, $v:ident) => {
        $each(Named::Memory(*$v))?
    };
    ($each:ident, src_mem, $v:ident) => {
        $each(Named::Memory(*$v))?
    };
    ($each:ident, table, $v:ident) => {
        $each(Named::Table(*$v))?
    };
    ($each:ident, table_index, $v:ident) => {
        $each(Named::Table(*$v))?
    };
    ($each:ident, dst_table, $v:ident) => {
        $each(Named::Table(*$v))?
    };
    ($each:ident, src_table, $v:ident) => {
        $each(Named::Table(*$v))?
    };
    ($each:ident, data_index, $v:ident) => {
        $each(Named::Data(*$v))?
    };
    ($each:ident, array_data_index, $v:ident) => {
        $each(Named::Data(*$v))?
    };
    ($each:ident, elem_index, $v:ident) => {
        $each(Named::Element(*$v))?
    };
    ($each:ident, array_elem_index, $v:ident) => {
        $each(Named::Element(*$v))?
    };
    ($each:ident, type_index, $v:ident) => {
        $each(Named::Type(*$v))?
    };
    ($each:ident, struct_type_index, $v:ident) => {
        $each(Named::Type(*$v))?
    };
    ($each:ident, array_type_index, $v:ident) => {
        $each(Named::Type(*$v))?
    };
    ($each:ident, array_type_index_dst, $v:ident) => {
        $each(Named::Type(*$v))?
    };
    ($each:ident, array_type_index_src, $v:ident) => {
        $each(Named::Type(*$v))?
    };
    ($each:ident, cont_type_index, $v:ident) => {
        $each(Named::Type(*$v))?
    };
    ($each:ident, argument_index, $v:ident) => {
        $each(Named::Type(*$v))?
    };
    ($each:ident, result_index, $v:ident) => {
        $each(Named::Type(*$v))?
    };
    ($each:ident, blockty, $v:ident) => {
        name_type(&mut $each, by_block(*$v))?
    };
    ($each:ident, hty, $v:ident) => {
        name_type(&mut $each, by_heap(*$v))?
    };
    ($each:ident, ty, $v:ident) => {
        name_type(&mut $each, by_val(*$v))?
    };
    ($each:ident, from_ref_type, $v:ident) => {
        name_type(&mut $each, by_ref(*$v))?
    };
    ($each:ident, to_ref_type, $v:ident) => {
        name_type(&mut $each, by_ref(*$v))?
    };
    ($each:ident, tys, $v:ident) => {
        $v.iter().try_for_each(|&ty| name_type(&mut $each, by_val(ty)))?
    };
    ($each:ident, memarg, $v:ident) => {
        match $v.target {
            MemArgTarget::Memory(index) => $each(Named::Memory(index))?,
            MemArgTarget::Array(index) => $each(Named::Type(index))?,
        }
    };
    ($each:ident, targets, $v:ident) => {{
        for label in $v.targets() {
            $each(Named::Label(label?))?;
        }
        $each(Named::Label($v.default()))?
    }};
    ($each:ident, try_table, $v:ident) => {{
        name_type(&mut $each, by_block($v.ty))?;
        for clause in &$v.catches {
            let (Catch::One { label, .. }
            | Catch::OneRef { label, .. }
            | Catch::All { label }
            | Catch::AllRef { label }) = *clause;
            if let Catch::One { tag, .. } | Catch::OneRef { tag, .. } = *clause {
                $each(Named::Tag(tag))?;
            }
            $each(Named::Label(label))?;
        }
    }};
    ($each:ident, resume_table, $v:ident) => {
        for handler in &$v.handlers {
            match *handler {
                Handle::OnLabel { tag, label } => {
                    $each(Named::Tag(tag))?;
                    $each(Named::Label(label))?;
                }
                Handle::OnSwitch { tag } => $each(Named::Tag(tag))?,
            }
        }
    };
    ($each:ident, value, $v:ident) => {
        let _ = $v;
    };
    ($each:ident, lane, $v:ident) => {
        let _ = $v;
    };
    ($each:ident, lanes, $v:ident) => {
        let _ = $v;
    };
    ($each:ident, ordering, $v:ident) => {
        let _ = $v;
    };
    ($each:ident, field_index, $v:ident) => {
        let _ = $v;
    };
    ($each:ident, array_size, $v:ident) => {
        let _ = $v;
    };
}

/// The field, if it is the operator's only label.
macro_rules! label_field {
    ($found:ident, relative_depth, $v:ident) => {
        $found = Some($v)
    };
    ($found:ident, $other:ident, $v:ident) => {
        let _ = $v;
    };
}

/// The field, if it is a function.
macro_rules! function_field {
    ($found:ident, function_index, $v:ident) => {
        $found = Some(*$v)
    };
    ($found:ident, $other:ident, $v:ident) => {
        let _ = $v;
    };
}

/// The field, if it is a global.
macro_rules! global_field {
    ($found:ident, global_index, $v:ident) => {
        $found = Some(*$v)
    };
    ($found:ident, $other:ident, $v:ident) => {
        let _ = $v;
    };
}

macro_rules! define {
    ($( @$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })? => $visit:ident ($($ann:tt)*) )*) => {
        /// An operator without its fields. Unlike wasmparser's operators, these can be matched exhaustively.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Opcode { $($op),* }

        #[inline]
        fn opcode(operator: &Operator<'_>) -> Option<Opcode> {
            match operator {
                $( Operator::$op { .. } => Some(Opcode::$op), )*
                _ => None,
            }
        }

        /// Calls a function with each index of an operator.
        #[inline]
        pub(crate) fn each_named(
            operator: &Operator<'_>,
            mut each: impl FnMut(Named) -> Result<(), Error>,
        ) -> Result<(), Error> {
            match operator {
                $( Operator::$op $({ $($arg),* })? => { $( $( name_field!(each, $arg, $arg); )* )? } )*
                _ => {}
            }
            Ok(())
        }

        /// The function index of an operator, if any.
        #[inline]
        pub(crate) fn function(operator: &Operator<'_>) -> Option<u32> {
            let mut found = None;
            match operator {
                $( Operator::$op $({ $($arg),* })? => { $( $( function_field!(found, $arg, $arg); )* )? } )*
                _ => {}
            }
            found
        }

        /// The global index of an operator, if any.
        pub(crate) fn global(operator: &Operator<'_>) -> Option<u32> {
            let mut found = None;
            match operator {
                $( Operator::$op $({ $($arg),* })? => { $( $( global_field!(found, $arg, $arg); )* )? } )*
                _ => {}
            }
            found
        }

        /// The label of an operator with exactly one.
        pub(crate) fn label_mut<'a>(operator: &'a mut Operator<'_>) -> Option<&'a mut u32> {
            let mut found = None;
            match operator {
                $( Operator::$op $({ $($arg),* })? => { $( $( label_field!(found, $arg, $arg); )* )? } )*
                _ => {}
            }
            found
        }

        #[cfg(test)]
        const ALL: &[(&str, Opcode, &[&str])] =
            &[$((stringify!($op), Opcode::$op, &[$($(stringify!($arg)),*)?])),*];
    };
}
wasmparser::for_each_operator!(define);

#[inline]
fn name_type(each: &mut impl FnMut(Named) -> Result<(), Error>, index: Option<u32>) -> Result<(), Error> {
    match index {
        Some(index) => each(Named::Type(index)),
        None => Ok(()),
    }
}

/// What an operator does.
#[inline]
pub(crate) fn effect(operator: &Operator<'_>) -> Effect {
    opcode(operator).map_or(Effect::Unknown, effect_of)
}

/// Fails if the operator's effect is unknown.
#[cold]
pub(crate) fn unknown(offset: u64) -> Error {
    Error::malformed(offset, "an instruction that is not known here")
}

#[inline]
#[rustfmt::skip]
fn effect_of(opcode: Opcode) -> Effect {
    use Opcode::*;
    // No `_`: a new operator needs a decision.
    match opcode {
        Block | If | Try => Effect::Opens,
        Loop => Effect::Loops,
        TryTable => Effect::OpensTable,
        End => Effect::Ends,
        Delegate => Effect::Delegates,
        Catch | CatchAll => Effect::Catches,
        Br | BrIf | BrTable | BrOnNull | BrOnNonNull | BrOnCast | BrOnCastFail | BrOnCastDescEq |
        BrOnCastDescEqFail | Rethrow => Effect::Branches,
        Return => Effect::Returns,
        LocalGet | LocalSet | LocalTee | GlobalGet | GlobalSet => Effect::Variable,
        RefFunc => Effect::Refers,
        ReturnCall | ReturnCallIndirect | ReturnCallRef => Effect::TailCalls,
        Call => Effect::Calls,
        CallIndirect | CallRef => Effect::CallsReference,
        MemoryAtomicWait32 | MemoryAtomicWait64 => Effect::Waits,
        Suspend | Switch => Effect::Switches,
        Resume | ResumeThrow | ResumeThrowRef => Effect::Resumes,
        // Operators that may trap, wait for memory, allocate, throw, or compute for long.
        Unreachable | I32Load | I64Load | F32Load | F64Load | I32Load8S | I32Load8U | I32Load16S |
        I32Load16U | I64Load8S | I64Load8U | I64Load16S | I64Load16U | I64Load32S | I64Load32U |
        I32Store | I64Store | F32Store | F64Store | I32Store8 | I32Store16 | I64Store8 | I64Store16
        | I64Store32 | MemorySize | MemoryGrow | I32DivS | I32DivU | I32RemS | I32RemU | I64DivS |
        I64DivU | I64RemS | I64RemU | F32Sqrt | F32Div | F64Sqrt | F64Div | I32TruncF32S |
        I32TruncF32U | I32TruncF64S | I32TruncF64U | I64TruncF32S | I64TruncF32U | I64TruncF64S |
        I64TruncF64U | StructNew | StructNewDefault | StructGet | StructGetS | StructGetU |
        StructSet | ArrayNew | ArrayNewDefault | ArrayNewFixed | ArrayNewData | ArrayNewElem |
        ArrayGet | ArrayGetS | ArrayGetU | ArraySet | ArrayLen | ArrayFill | ArrayCopy |
        ArrayInitData | ArrayInitElem | RefTestNonNull | RefTestNullable | RefCastNonNull |
        RefCastNullable | AnyConvertExtern | ExternConvertAny | RefI31 | I31GetS | I31GetU |
        StructNewDesc | StructNewDefaultDesc | RefGetDesc | RefCastDescEqNonNull |
        RefCastDescEqNullable | MemoryInit | DataDrop | MemoryCopy | MemoryFill | TableInit |
        ElemDrop | TableCopy | TypedSelect | TypedSelectMulti | RefNull | TableFill |
        TableGet | TableSet | TableGrow | TableSize | MemoryDiscard | MemoryAtomicNotify |
        AtomicFence | I32AtomicLoad | I64AtomicLoad | I32AtomicLoad8U | I32AtomicLoad16U |
        I64AtomicLoad8U | I64AtomicLoad16U | I64AtomicLoad32U | I32AtomicStore | I64AtomicStore |
        I32AtomicStore8 | I32AtomicStore16 | I64AtomicStore8 | I64AtomicStore16 | I64AtomicStore32 |
        I32AtomicRmwAdd | I64AtomicRmwAdd | I32AtomicRmw8AddU | I32AtomicRmw16AddU |
        I64AtomicRmw8AddU | I64AtomicRmw16AddU | I64AtomicRmw32AddU | I32AtomicRmwSub |
        I64AtomicRmwSub | I32AtomicRmw8SubU | I32AtomicRmw16SubU | I64AtomicRmw8SubU |
        I64AtomicRmw16SubU | I64AtomicRmw32SubU | I32AtomicRmwAnd | I64AtomicRmwAnd |
        I32AtomicRmw8AndU | I32AtomicRmw16AndU | I64AtomicRmw8AndU | I64AtomicRmw16AndU |
        I64AtomicRmw32AndU | I32AtomicRmwOr | I64AtomicRmwOr | I32AtomicRmw8OrU | I32AtomicRmw16OrU
        | I64AtomicRmw8OrU | I64AtomicRmw16OrU | I64AtomicRmw32OrU | I32AtomicRmwXor |
        I64AtomicRmwXor | I32AtomicRmw8XorU | I32AtomicRmw16XorU | I64AtomicRmw8XorU |
        I64AtomicRmw16XorU | I64AtomicRmw32XorU | I32AtomicRmwXchg | I64AtomicRmwXchg |
        I32AtomicRmw8XchgU | I32AtomicRmw16XchgU | I64AtomicRmw8XchgU | I64AtomicRmw16XchgU |
        I64AtomicRmw32XchgU | I32AtomicRmwCmpxchg | I64AtomicRmwCmpxchg | I32AtomicRmw8CmpxchgU |
        I32AtomicRmw16CmpxchgU | I64AtomicRmw8CmpxchgU | I64AtomicRmw16CmpxchgU |
        I64AtomicRmw32CmpxchgU | V128Load | V128Load8x8S | V128Load8x8U | V128Load16x4S |
        V128Load16x4U | V128Load32x2S | V128Load32x2U | V128Load8Splat | V128Load16Splat |
        V128Load32Splat | V128Load64Splat | V128Load32Zero | V128Load64Zero | V128Store |
        V128Load8Lane | V128Load16Lane | V128Load32Lane | V128Load64Lane | V128Store8Lane |
        V128Store16Lane | V128Store32Lane | V128Store64Lane | V128Const | I8x16Shuffle |
        I8x16ExtractLaneS | I8x16ExtractLaneU | I8x16ReplaceLane | I16x8ExtractLaneS |
        I16x8ExtractLaneU | I16x8ReplaceLane | I32x4ExtractLane | I32x4ReplaceLane |
        I64x2ExtractLane | I64x2ReplaceLane | F32x4ExtractLane | F32x4ReplaceLane | F64x2ExtractLane
        | F64x2ReplaceLane | I8x16Swizzle | I8x16Splat | I16x8Splat | I32x4Splat | I64x2Splat |
        F32x4Splat | F64x2Splat | I8x16Eq | I8x16Ne | I8x16LtS | I8x16LtU | I8x16GtS | I8x16GtU |
        I8x16LeS | I8x16LeU | I8x16GeS | I8x16GeU | I16x8Eq | I16x8Ne | I16x8LtS | I16x8LtU |
        I16x8GtS | I16x8GtU | I16x8LeS | I16x8LeU | I16x8GeS | I16x8GeU | I32x4Eq | I32x4Ne |
        I32x4LtS | I32x4LtU | I32x4GtS | I32x4GtU | I32x4LeS | I32x4LeU | I32x4GeS | I32x4GeU |
        I64x2Eq | I64x2Ne | I64x2LtS | I64x2GtS | I64x2LeS | I64x2GeS | F32x4Eq | F32x4Ne | F32x4Lt
        | F32x4Gt | F32x4Le | F32x4Ge | F64x2Eq | F64x2Ne | F64x2Lt | F64x2Gt | F64x2Le | F64x2Ge |
        V128Not | V128And | V128AndNot | V128Or | V128Xor | V128Bitselect | V128AnyTrue | I8x16Abs |
        I8x16Neg | I8x16Popcnt | I8x16AllTrue | I8x16Bitmask | I8x16NarrowI16x8S | I8x16NarrowI16x8U
        | I8x16Shl | I8x16ShrS | I8x16ShrU | I8x16Add | I8x16AddSatS | I8x16AddSatU | I8x16Sub |
        I8x16SubSatS | I8x16SubSatU | I8x16MinS | I8x16MinU | I8x16MaxS | I8x16MaxU | I8x16AvgrU |
        I16x8ExtAddPairwiseI8x16S | I16x8ExtAddPairwiseI8x16U | I16x8Abs | I16x8Neg |
        I16x8Q15MulrSatS | I16x8AllTrue | I16x8Bitmask | I16x8NarrowI32x4S | I16x8NarrowI32x4U |
        I16x8ExtendLowI8x16S | I16x8ExtendHighI8x16S | I16x8ExtendLowI8x16U | I16x8ExtendHighI8x16U
        | I16x8Shl | I16x8ShrS | I16x8ShrU | I16x8Add | I16x8AddSatS | I16x8AddSatU | I16x8Sub |
        I16x8SubSatS | I16x8SubSatU | I16x8Mul | I16x8MinS | I16x8MinU | I16x8MaxS | I16x8MaxU |
        I16x8AvgrU | I16x8ExtMulLowI8x16S | I16x8ExtMulHighI8x16S | I16x8ExtMulLowI8x16U |
        I16x8ExtMulHighI8x16U | I32x4ExtAddPairwiseI16x8S | I32x4ExtAddPairwiseI16x8U | I32x4Abs |
        I32x4Neg | I32x4AllTrue | I32x4Bitmask | I32x4ExtendLowI16x8S | I32x4ExtendHighI16x8S |
        I32x4ExtendLowI16x8U | I32x4ExtendHighI16x8U | I32x4Shl | I32x4ShrS | I32x4ShrU | I32x4Add |
        I32x4Sub | I32x4Mul | I32x4MinS | I32x4MinU | I32x4MaxS | I32x4MaxU | I32x4DotI16x8S |
        I32x4ExtMulLowI16x8S | I32x4ExtMulHighI16x8S | I32x4ExtMulLowI16x8U | I32x4ExtMulHighI16x8U
        | I64x2Abs | I64x2Neg | I64x2AllTrue | I64x2Bitmask | I64x2ExtendLowI32x4S |
        I64x2ExtendHighI32x4S | I64x2ExtendLowI32x4U | I64x2ExtendHighI32x4U | I64x2Shl | I64x2ShrS
        | I64x2ShrU | I64x2Add | I64x2Sub | I64x2Mul | I64x2ExtMulLowI32x4S | I64x2ExtMulHighI32x4S
        | I64x2ExtMulLowI32x4U | I64x2ExtMulHighI32x4U | F32x4Ceil | F32x4Floor | F32x4Trunc |
        F32x4Nearest | F32x4Abs | F32x4Neg | F32x4Sqrt | F32x4Add | F32x4Sub | F32x4Mul | F32x4Div |
        F32x4Min | F32x4Max | F32x4PMin | F32x4PMax | F64x2Ceil | F64x2Floor | F64x2Trunc |
        F64x2Nearest | F64x2Abs | F64x2Neg | F64x2Sqrt | F64x2Add | F64x2Sub | F64x2Mul | F64x2Div |
        F64x2Min | F64x2Max | F64x2PMin | F64x2PMax | I32x4TruncSatF32x4S | I32x4TruncSatF32x4U |
        F32x4ConvertI32x4S | F32x4ConvertI32x4U | I32x4TruncSatF64x2SZero | I32x4TruncSatF64x2UZero
        | F64x2ConvertLowI32x4S | F64x2ConvertLowI32x4U | F32x4DemoteF64x2Zero |
        F64x2PromoteLowF32x4 | I8x16RelaxedSwizzle | I32x4RelaxedTruncF32x4S |
        I32x4RelaxedTruncF32x4U | I32x4RelaxedTruncF64x2SZero | I32x4RelaxedTruncF64x2UZero |
        F32x4RelaxedMadd | F32x4RelaxedNmadd | F64x2RelaxedMadd | F64x2RelaxedNmadd |
        I8x16RelaxedLaneselect | I16x8RelaxedLaneselect | I32x4RelaxedLaneselect |
        I64x2RelaxedLaneselect | F32x4RelaxedMin | F32x4RelaxedMax | F64x2RelaxedMin |
        F64x2RelaxedMax | I16x8RelaxedQ15mulrS | I16x8RelaxedDotI8x16I7x16S |
        I32x4RelaxedDotI8x16I7x16AddS | Throw | ThrowRef | GlobalAtomicGet | GlobalAtomicSet |
        GlobalAtomicRmwAdd | GlobalAtomicRmwSub | GlobalAtomicRmwAnd | GlobalAtomicRmwOr |
        GlobalAtomicRmwXor | GlobalAtomicRmwXchg | GlobalAtomicRmwCmpxchg | TableAtomicGet |
        TableAtomicSet | TableAtomicRmwXchg | TableAtomicRmwCmpxchg | StructAtomicGet |
        StructAtomicGetS | StructAtomicGetU | StructAtomicSet | StructAtomicRmwAdd |
        StructAtomicRmwSub | StructAtomicRmwAnd | StructAtomicRmwOr | StructAtomicRmwXor |
        StructAtomicRmwXchg | StructAtomicRmwCmpxchg | ArrayAtomicGet | ArrayAtomicGetS |
        ArrayAtomicGetU | ArrayAtomicSet | ArrayAtomicRmwAdd | ArrayAtomicRmwSub | ArrayAtomicRmwAnd
        | ArrayAtomicRmwOr | ArrayAtomicRmwXor | ArrayAtomicRmwXchg | ArrayAtomicRmwCmpxchg |
        RefI31Shared | RefAsNonNull | ContNew | ContBind | I64Add128 | I64Sub128 | I64MulWideS |
        I64MulWideU | Pause => Effect::Plain,
        Nop | Else | Drop | Select |
        I32Const | I64Const | F32Const | F64Const | I32Eqz | I32Eq | I32Ne | I32LtS | I32LtU |
        I32GtS | I32GtU | I32LeS | I32LeU | I32GeS | I32GeU | I64Eqz | I64Eq | I64Ne | I64LtS |
        I64LtU | I64GtS | I64GtU | I64LeS | I64LeU | I64GeS | I64GeU | F32Eq | F32Ne | F32Lt | F32Gt
        | F32Le | F32Ge | F64Eq | F64Ne | F64Lt | F64Gt | F64Le | F64Ge | I32Clz | I32Ctz |
        I32Popcnt | I32Add | I32Sub | I32Mul | I32And | I32Or | I32Xor | I32Shl | I32ShrS | I32ShrU
        | I32Rotl | I32Rotr | I64Clz | I64Ctz | I64Popcnt | I64Add | I64Sub | I64Mul | I64And |
        I64Or | I64Xor | I64Shl | I64ShrS | I64ShrU | I64Rotl | I64Rotr | F32Abs | F32Neg | F32Ceil
        | F32Floor | F32Trunc | F32Nearest | F32Add | F32Sub | F32Mul | F32Min | F32Max |
        F32Copysign | F64Abs | F64Neg | F64Ceil | F64Floor | F64Trunc | F64Nearest | F64Add | F64Sub
        | F64Mul | F64Min | F64Max | F64Copysign | I32WrapI64 | I64ExtendI32S | I64ExtendI32U |
        F32ConvertI32S | F32ConvertI32U | F32ConvertI64S | F32ConvertI64U | F32DemoteF64 |
        F64ConvertI32S | F64ConvertI32U | F64ConvertI64S | F64ConvertI64U | F64PromoteF32 |
        I32ReinterpretF32 | I64ReinterpretF64 | F32ReinterpretI32 | F64ReinterpretI64 | I32Extend8S
        | I32Extend16S | I64Extend8S | I64Extend16S | I64Extend32S | RefEq | I32TruncSatF32S |
        I32TruncSatF32U | I32TruncSatF64S | I32TruncSatF64U | I64TruncSatF32S | I64TruncSatF32U |
        I64TruncSatF64S | I64TruncSatF64U | RefIsNull => Effect::Cheap,
    }
}

#[cfg(test)]
mod tests;
