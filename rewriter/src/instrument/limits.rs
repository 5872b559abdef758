//! The engines' limits for a module. A module within them can be past them with its probes.

use crate::instrument::context::Context;
use crate::module::info::ModuleInfo;
use crate::{Error, ErrorKind};

/// The limit of the JavaScript API, and of other engines, for types, imports, functions, globals and exports, each.
const MOST: usize = 1_000_000;
/// The limit of the same engines for memories.
const MOST_MEMORIES: usize = 100;

/// Fails if the probes push the module over a limit that the original meets, or if the recorder would be inside a module that can't
/// contain it.
pub(crate) fn check(info: &ModuleInfo<'_>, context: &Context<'_>, added_types: u32) -> Result<(), Error> {
    if context.parts.has_exports()
        && let Some(section) = loaded_beside_others(info)
    {
        return Err(ErrorKind::SideModule { section: section.to_owned() }.into());
    }
    let functions = info.imported_funcs.len() + info.defined_types.len();
    let shift = context.shift as usize;
    let own = context.parts.counts();
    let counts = [
        ("types", info.types.len(), added_types as usize, MOST),
        ("imports", info.imports, context.parts.all_imports() as usize, MOST),
        ("functions", functions, shift + context.thunked().count() + own.functions, MOST),
        ("memories", info.memories as usize, own.memories, MOST_MEMORIES),
        ("globals", info.globals as usize, own.globals, MOST),
        ("exports", info.exports, own.exports, MOST),
    ];
    for (what, count, added, limit) in counts {
        if count <= limit && count + added > limit {
            return Err(ErrorKind::TooMany { what, count: count + added, limit }.into());
        }
    }
    Ok(())
}

/// The section by which a loader puts a module beside others, at run time: it relocates every export that is no function,
/// and fails at those of a recorder.
fn loaded_beside_others<'a>(info: &'a ModuleInfo<'_>) -> Option<&'a str> {
    let mut names = info.sections.iter().filter_map(|section| section.custom_name.as_deref());
    names.find(|&name| name == "dylink.0" || name == "dylink")
}
