//! What engines allow a module. What is within the limits may not be with its probes.

use crate::context::Context;
use crate::parse::ModuleInfo;
use crate::template::Recorder;
use crate::{Error, ErrorKind};

/// The limit of the JavaScript API, and of other engines, for types, imports, functions, globals and exports, each.
const MOST: usize = 1_000_000;
/// The same for memories.
const MOST_MEMORIES: usize = 100;

/// Fails if the rewritten module would have more of something than engines allow, and the original hasn't.
pub(crate) fn check(
    info: &ModuleInfo<'_>,
    context: &Context<'_>,
    recorder: Option<&Recorder>,
    added_types: u32,
) -> Result<(), Error> {
    let functions = info.imported_funcs.len() + info.defined_types.len();
    let shift = context.shift as usize;
    let own = recorder.map(Recorder::counts).unwrap_or_default();
    let counts = [
        ("types", info.types.len(), added_types as usize, MOST),
        ("imports", info.imports, shift, MOST),
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
