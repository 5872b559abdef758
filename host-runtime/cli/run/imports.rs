//! Refuses imports that the host doesn't supply, before a module is rewritten and compiled, which may take minutes.

use super::guest::Import;
use anyhow::bail;
use kperf_abi::names;
use std::collections::HashSet;
use std::path::Path;
use wasmparser::{TypeRef, ValType};
use wasmtime::{ExternType, FuncType, Linker, Store};

/// How many missing imports an error names.
const MAX_LISTED: usize = 20;

/// Fails if the module imports what `linker` doesn't supply, and lists it.
pub(super) fn check<T>(
    imports: &[Import],
    linker: &Linker<T>,
    store: &mut Store<T>,
    path: &Path,
) -> anyhow::Result<()> {
    let (mut missing, mut known) = (Vec::new(), HashSet::new());
    for Import { module, name, ty, signature } in imports {
        if [names::MODULE, names::HOST_MODULE].contains(&module.as_str()) {
            continue;
        }
        let text = match linker.get(&mut *store, module, name) {
            Ok(supplied) if signature.as_ref().is_some_and(|wanted| fits(&supplied.ty(&*store), wanted)) => {
                continue;
            }
            Ok(_) => format!("`{module}.{name}` (of another type)"),
            Err(_) => format!("`{module}.{name}` ({})", kind(ty)),
        };
        if known.insert(text.clone()) {
            missing.push(text);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let count = missing.len();
    bail!(
        "`{}` imports what `run` doesn't supply: {}{}; `run` has WASI preview 1 only. For a host of your own, add probes with `rewrite`",
        path.display(),
        missing[..count.min(MAX_LISTED)].join(", "),
        if count > MAX_LISTED { format!(" and {} more", count - MAX_LISTED) } else { String::new() },
    )
}

/// Whether the supplied function has the wanted type. WASI supplies only functions, and they take only numbers.
fn fits(supplied: &ExternType, wanted: &wasmparser::FuncType) -> bool {
    let ExternType::Func(supplied) = supplied else { return false };
    let same = |supplied: &mut dyn Iterator<Item = wasmtime::ValType>, wanted: &[ValType]| {
        let supplied: Vec<_> = supplied.map(|ty| number(&ty)).collect();
        supplied.len() == wanted.len()
            && supplied.iter().zip(wanted).all(|(supplied, wanted)| *supplied == Some(*wanted))
    };
    let supplied: &FuncType = supplied;
    same(&mut supplied.params(), wanted.params()) && same(&mut supplied.results(), wanted.results())
}

fn number(ty: &wasmtime::ValType) -> Option<ValType> {
    Some(match ty {
        wasmtime::ValType::I32 => ValType::I32,
        wasmtime::ValType::I64 => ValType::I64,
        wasmtime::ValType::F32 => ValType::F32,
        wasmtime::ValType::F64 => ValType::F64,
        _ => return None,
    })
}

fn kind(ty: &TypeRef) -> &'static str {
    match ty {
        TypeRef::Func(_) | TypeRef::FuncExact(_) => "function",
        TypeRef::Global(_) => "global",
        TypeRef::Memory(_) => "memory",
        TypeRef::Table(_) => "table",
        TypeRef::Tag(_) => "tag",
    }
}
