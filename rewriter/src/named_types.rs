//! Type indices that aren't there. In the rewritten module they would be: the types of the probes stand right behind the
//! module's own, and an invalid module must not become a valid one.

use crate::Error;
use crate::parse::ModuleInfo;
use wasmparser::{BlockType, CompositeInnerType, HeapType, Operator, RefType, StorageType, SubType, ValType};

impl ModuleInfo<'_> {
    /// Fails if this type isn't there.
    pub(crate) fn check_type(&self, named: Option<u32>, offset: u64) -> Result<(), Error> {
        match named {
            Some(index) if index as usize >= self.types.len() => {
                Err(Error::malformed(offset, format!("type {index} isn't there")))
            }
            _ => Ok(()),
        }
    }

    /// Fails if an instruction names a type that isn't there and could take that of a probe.
    pub(crate) fn check_types_of(&self, operator: &Operator<'_>, offset: u64) -> Result<(), Error> {
        let check = |named| self.check_type(named, offset);
        match operator {
            Operator::Block { blockty }
            | Operator::Loop { blockty }
            | Operator::If { blockty }
            | Operator::Try { blockty } => check(by_block(*blockty)),
            Operator::TryTable { try_table } => check(by_block(try_table.ty)),
            Operator::CallIndirect { type_index, .. }
            | Operator::ReturnCallIndirect { type_index, .. }
            | Operator::CallRef { type_index }
            | Operator::ReturnCallRef { type_index } => check(Some(*type_index)),
            Operator::RefNull { hty }
            | Operator::RefTestNonNull { hty }
            | Operator::RefTestNullable { hty }
            | Operator::RefCastNonNull { hty }
            | Operator::RefCastNullable { hty } => check(by_heap(*hty)),
            Operator::BrOnCast { from_ref_type, to_ref_type, .. }
            | Operator::BrOnCastFail { from_ref_type, to_ref_type, .. } => {
                check(by_ref(*from_ref_type))?;
                check(by_ref(*to_ref_type))
            }
            Operator::TypedSelect { ty } => check(by_val(*ty)),
            Operator::TypedSelectMulti { tys } => tys.iter().try_for_each(|&ty| check(by_val(ty))),
            _ => Ok(()),
        }
    }
}

/// The greatest type that a type names.
pub(crate) fn by_sub_type(ty: &SubType) -> Option<u32> {
    let by_storage = |storage: &StorageType| match storage {
        StorageType::I8 | StorageType::I16 => None,
        StorageType::Val(ty) => by_val(*ty),
    };
    match &ty.composite_type.inner {
        CompositeInnerType::Func(func) => {
            func.params().iter().chain(func.results()).filter_map(|&ty| by_val(ty)).max()
        }
        CompositeInnerType::Array(array) => by_storage(&array.0.element_type),
        CompositeInnerType::Struct(fields) => {
            fields.fields.iter().filter_map(|field| by_storage(&field.element_type)).max()
        }
        CompositeInnerType::Cont(continuation) => continuation.0.as_module_index(),
    }
}

/// The type that a type of values names, if it does.
pub(crate) fn by_val(ty: ValType) -> Option<u32> {
    match ty {
        ValType::Ref(reference) => by_ref(reference),
        _ => None,
    }
}

/// The type that a type of references names, if it does.
pub(crate) fn by_ref(ty: RefType) -> Option<u32> {
    by_heap(ty.heap_type())
}

fn by_heap(ty: HeapType) -> Option<u32> {
    match ty {
        HeapType::Abstract { .. } => None,
        HeapType::Concrete(index) | HeapType::Exact(index) => index.as_module_index(),
    }
}

fn by_block(ty: BlockType) -> Option<u32> {
    match ty {
        BlockType::Empty => None,
        BlockType::Type(ty) => by_val(ty),
        BlockType::FuncType(index) => Some(index),
    }
}
