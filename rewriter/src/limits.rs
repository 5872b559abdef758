//! What engines allow a module. What is within the limits may not be with its probes.

use crate::context::Context;
use crate::parse::ModuleInfo;
use crate::{Error, ErrorKind};

/// The limit of the JavaScript API, and of other engines, for types, imports and functions, each.
const MOST: usize = 1_000_000;

/// Fails if the rewritten module would have more of something than engines allow, and the original hasn't.
pub(crate) fn check(info: &ModuleInfo<'_>, context: &Context<'_>, added_types: u32) -> Result<(), Error> {
    let functions = info.imported_funcs.len() + info.defined_types.len();
    let shift = context.shift as usize;
    let counts = [
        ("types", info.types.len(), added_types as usize),
        ("imports", info.imports, shift),
        ("functions", functions, shift + context.thunked().count()),
    ];
    for (what, count, added) in counts {
        if count <= MOST && count + added > MOST {
            return Err(ErrorKind::TooMany { what, count: count + added, limit: MOST }.into());
        }
    }
    Ok(())
}
