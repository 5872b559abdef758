//! Ids and indices of functions, and places in the source.

use serde::{Deserialize, Serialize};

/// Number of a probed function. A table's ids have no gaps and begin at its `id_base`. Probes call `enter` with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FuncId(pub u32);

/// Index of a function in the original module's function index space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FuncIndex(pub u32);

/// A place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Source {
    /// The file, as an index into [`SymbolTable::files`](crate::SymbolTable::files).
    pub file: u32,
    /// The line, counted from 1; 0 where it isn't known.
    pub line: u32,
}
