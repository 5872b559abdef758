//! What every form of probe defines.

use crate::error::Error;
use crate::instrument::events::Code;
use crate::instrument::parts::{PartIndices, Parts};

/// A form of probe.
pub(crate) trait Form: Sync {
    /// The events that functions have.
    fn kind(&self) -> Kind;

    /// What it wants to know about the bodies before it adds parts. True means that it wants to know.
    fn wants(&self) -> Needs;

    /// The parts that the module gets: imports, functions, globals, a memory, exports, a start function.
    fn parts(&self, needs: Needs) -> Result<Parts, Error>;

    /// The code for functions, after the parts have their indices.
    fn code(&self, parts: &Parts, places: &PartIndices) -> Result<Code, Error>;
}

/// The events that functions have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An enter and a leave. Small functions may have one event for both.
    Timed,
    /// One event before an unchanged body. How a function ends and what it catches doesn't matter.
    Counted,
}

/// Facts that only the bodies show, although they decide the indices in bodies. First a guess, then what the bodies
/// showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Some body calls `unwind`: the module imports it.
    pub(crate) unwind: bool,
    /// Some function without a probe tracks its depth: the module imports `depth` and `close`.
    pub(crate) depth: bool,
    /// Some clause of a `try_table` passes several values: types for pads are added. They mention exception
    /// references, which engines for the legacy proposal don't know, so they are added only if needed.
    pub(crate) pad_types: bool,
    /// Allocations are recorded; from a form's `wants`: it can record them.
    pub(crate) allocations: bool,
    /// Only samples of them are recorded.
    pub(crate) samples: bool,
    /// The program has WASI, so the recorder may write files; from a form's `wants`: it can.
    pub(crate) files: bool,
}
