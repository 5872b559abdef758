//! What tests call exported functions with.

use wasmtime::{Val, ValType};

/// A value of a type; `None` for a reference that can't be null.
pub(crate) fn argument(ty: &ValType) -> Option<Val> {
    Some(match ty {
        ValType::I32 => Val::I32(7),
        ValType::I64 => Val::I64(-3),
        ValType::F32 => Val::F32(1.5f32.to_bits()),
        ValType::F64 => Val::F64(2.5f64.to_bits()),
        ValType::V128 => Val::V128(5.into()),
        ValType::Ref(reference) if reference.is_nullable() => Val::null_ref(reference.heap_type()),
        ValType::Ref(_) => return None,
    })
}
