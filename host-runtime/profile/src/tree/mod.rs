//! The call tree, and tables of its functions.

pub(crate) mod builder;
pub(crate) mod callgraph;
pub(crate) mod flat;
pub(crate) mod groups;
pub(crate) mod links;
pub(crate) mod nodes;
pub(crate) mod observer;
pub(crate) mod paths;
pub(crate) mod subtree;
pub(crate) mod text;
pub(crate) mod unplaced;
