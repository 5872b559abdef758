//! What every form of probe is.

use crate::Error;
use crate::instrument::events::Code;
use crate::instrument::parts::{Parts, Places};

/// A form of probe.
pub(crate) trait Form: Sync {
    /// Which events functions have.
    fn kind(&self) -> Kind;

    /// What it needs to know about the bodies before it adds anything. The values are true where it wants to know.
    fn wants(&self) -> Needs;

    /// What the module gets: imports, functions, globals, a memory, exports, something in front of its start function.
    fn parts(&self, needs: Needs) -> Result<Parts, Error>;

    /// What stands inside functions, now that the parts have their places.
    fn code(&self, parts: &Parts, places: &Places) -> Result<Code, Error>;
}

/// Which events the functions of a module have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An enter and a leave. Small functions may have one event for both.
    Timed,
    /// One event, in front of a body that stays as it is. How a function ends, and what it catches, doesn't matter.
    Counted,
}

/// What only the bodies tell, although it decides the indices in them. It is a guess at first; if that was wrong, it is what the
/// bodies said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Something says `unwind`: the module imports it.
    pub(crate) unwind: bool,
    /// A function without a probe notes how deep it is: the module imports `depth` and `close`.
    pub(crate) depth: bool,
    /// A `try_table` has a clause that gets several values: the types of their pads are added. Not without need: they
    /// speak of exceptions as references, which engines for the legacy proposal don't know.
    pub(crate) pad_types: bool,
    /// What is allocated is recorded. Of what a form wants: it can do that.
    pub(crate) allocations: bool,
    /// So are samples of it only.
    pub(crate) samples: bool,
}
