//! The module `spectest`, which scripts import from.
//!
//! <https://github.com/WebAssembly/spec/blob/main/interpreter/host/spectest.ml>

use super::probes::Probes;
use wasmtime::{
    Func, FuncType, Global, GlobalType, Linker, Memory, MemoryType, MemoryTypeBuilder, Mutability, Ref,
    RefType, Result, SharedMemory, Store, Table, TableType, Val, ValType,
};

/// Defines the module.
pub(crate) fn link(store: &mut Store<Probes>, linker: &mut Linker<Probes>) -> Result<()> {
    use ValType::{F32, F64, I32, I64};
    let prints: [(&str, &[ValType]); 7] = [
        ("print", &[]),
        ("print_i32", &[I32]),
        ("print_i64", &[I64]),
        ("print_f32", &[F32]),
        ("print_f64", &[F64]),
        ("print_i32_f32", &[I32, F32]),
        ("print_f64_f64", &[F64, F64]),
    ];
    for (name, params) in prints {
        let ty = FuncType::new(store.engine(), params.iter().cloned(), []);
        let print = Func::new(&mut *store, ty, |_, _, _| Ok(()));
        linker.define(&*store, "spectest", name, print)?;
    }
    let globals = [
        ("global_i32", I32, Val::I32(666)),
        ("global_i64", I64, Val::I64(666)),
        ("global_f32", F32, Val::F32(666.6f32.to_bits())),
        ("global_f64", F64, Val::F64(666.6f64.to_bits())),
    ];
    for (name, ty, value) in globals {
        let global = Global::new(&mut *store, GlobalType::new(ty, Mutability::Const), value)?;
        linker.define(&*store, "spectest", name, global)?;
    }
    let tables = [
        ("table", TableType::new(RefType::FUNCREF, 10, Some(20))),
        ("table64", TableType::new64(RefType::FUNCREF, 10, Some(20))),
    ];
    for (name, ty) in tables {
        let table = Table::new(&mut *store, ty, Ref::Func(None))?;
        linker.define(&*store, "spectest", name, table)?;
    }
    let memory = Memory::new(&mut *store, MemoryType::new(1, Some(2)))?;
    linker.define(&*store, "spectest", "memory", memory)?;
    let shared = MemoryTypeBuilder::new().min(1).max(Some(2)).shared(true).build()?;
    let shared = SharedMemory::new(store.engine(), shared)?;
    linker.define(&*store, "spectest", "shared_memory", shared)?;
    Ok(())
}
