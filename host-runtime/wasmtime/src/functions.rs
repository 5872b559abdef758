//! Finds the functions of a symbol table in a compiled module.

use kperf_abi::symbols::Symbol;
use kperf_abi::{SymbolTable, names};
use wasmtime::{ExternType, ImportType, Module};

/// The functions of a symbol table, by their index in the module, with probes or without.
pub(crate) fn by_index<'a>(
    module: &Module,
    table: &'a SymbolTable,
) -> impl Iterator<Item = (u32, &'a Symbol)> + use<'a> {
    let functions = module.imports().filter(|import| matches!(import.ty(), ExternType::Func(_)));
    let is_ours = |import: &ImportType<'_>| names::is_of_probes(import.module(), import.name());
    let (added, original): (Vec<_>, Vec<_>) = functions.partition(is_ours);
    table.placed((added.len() + original.len()) as u32, added.len() as u32)
}
