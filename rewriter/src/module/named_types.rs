//! The greatest type index that a type names.

use wasmparser::{BlockType, CompositeInnerType, HeapType, RefType, StorageType, SubType, ValType};

/// The greatest index that a type definition names.
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

/// The index that a value type names, if any.
pub(crate) fn by_val(ty: ValType) -> Option<u32> {
    match ty {
        ValType::Ref(reference) => by_ref(reference),
        _ => None,
    }
}

/// The index that a reference type names, if any.
pub(crate) fn by_ref(ty: RefType) -> Option<u32> {
    by_heap(ty.heap_type())
}

/// The index that a heap type names, if any.
pub(crate) fn by_heap(ty: HeapType) -> Option<u32> {
    match ty {
        HeapType::Abstract { .. } => None,
        HeapType::Concrete(index) | HeapType::Exact(index) => index.as_module_index(),
    }
}

/// The index that a block type names, if any.
pub(crate) fn by_block(ty: BlockType) -> Option<u32> {
    match ty {
        BlockType::Empty => None,
        BlockType::Type(ty) => by_val(ty),
        BlockType::FuncType(index) => Some(index),
    }
}
