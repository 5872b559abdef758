//! Components of the examples, and their parts.

use crate::common::command::ROOT;
use wasmparser::{Parser, Payload};

pub(crate) fn example(name: &str) -> String {
    format!("{ROOT}/examples/components/{name}")
}

/// The first core module of a component.
pub(crate) fn first_module(component: &[u8]) -> &[u8] {
    let modules = Parser::new(0).parse_all(component).find_map(|payload| match payload.unwrap() {
        Payload::ModuleSection { unchecked_range, .. } => Some(unchecked_range),
        _ => None,
    });
    let range = modules.unwrap();
    &component[range.start as usize..range.end as usize]
}
