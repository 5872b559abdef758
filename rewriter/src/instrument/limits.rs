//! Checks that probes don't exceed the engines' limits for a module.

use crate::error::{Error, ErrorKind};
use crate::instrument::context::Context;
use crate::module::info::ModuleInfo;

/// The limit of the JavaScript API, and of other engines, for each of types, imports, functions, globals and exports.
const MOST: usize = 1_000_000;
/// The limit of these engines for memories.
const MOST_MEMORIES: usize = 100;

/// Fails if the probes exceed a limit that the original meets, or if a module that is linked at run time would
/// contain a recorder.
pub(crate) fn check(info: &ModuleInfo<'_>, context: &Context<'_>, added_types: u32) -> Result<(), Error> {
    if context.parts.has_exports()
        && let Some(section) = loaded_beside_others(info)
    {
        return Err(ErrorKind::SideModule { section: section.to_owned() }.into());
    }
    let functions = info.imported_funcs.len() + info.defined_types.len();
    let shift = context.shift as usize;
    let thunks = context.thunked().count() + context.waits().len();
    let own = context.parts.counts(context.places.functions);
    let counts = [
        ("types", info.types.len(), added_types as usize, MOST),
        ("imports", info.imports, context.parts.all_imports() as usize, MOST),
        ("functions", functions, shift + thunks + own.functions, MOST),
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

/// The section of dynamic linking. Its loader relocates every export that isn't a function, and fails at a
/// recorder's.
fn loaded_beside_others<'a>(info: &'a ModuleInfo<'_>) -> Option<&'a str> {
    let mut names = info.sections.iter().filter_map(|section| section.custom_name.as_deref());
    names.find(|&name| name == "dylink.0" || name == "dylink")
}
