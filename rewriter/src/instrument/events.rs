//! The events of a form of probe: the code that stands inside functions.

use crate::instrument::template::Template;
use wasm_encoder::ValType;

/// What stands inside functions.
pub(crate) struct Code {
    pub(crate) inside: Events,
    /// Smaller code, for functions that have no room for `inside`. Not every form has some.
    pub(crate) smaller: Option<Events>,
}

/// The events of a form, as they stand inside functions. A form leaves empty what its functions never have.
#[derive(Default)]
pub(crate) struct Events {
    pub(crate) timed: Timed,
    pub(crate) watched: Watched,
    pub(crate) counted: Counted,
}

/// What a function has that is timed.
#[derive(Default)]
pub(crate) struct Timed {
    /// The locals of the probe, that with the token first.
    pub(crate) locals: Vec<ValType>,
    /// The first thing in it.
    pub(crate) enter: Each<Template>,
    /// The last thing, and before a tail call.
    pub(crate) leave: Each<Template>,
    /// Behind what may have unwound frames above this one.
    pub(crate) unwind: Template,
    /// Whether a leave has a use for what the function returns.
    pub(crate) takes_returned: bool,
    /// Whether a leave closes what is open above the frame. (A shadow stack's doesn't look.)
    pub(crate) leave_closes: bool,
}

/// What a function without a probe has in which something may be caught.
#[derive(Default)]
pub(crate) struct Watched {
    pub(crate) locals: Vec<ValType>,
    /// The first thing in it: it keeps how deep it is.
    pub(crate) here: Template,
    /// Where something may have been caught: what is deeper is closed.
    pub(crate) back: Template,
}

/// What a function has that is counted only.
#[derive(Default)]
pub(crate) struct Counted {
    pub(crate) locals: Vec<ValType>,
    pub(crate) leaf: Template,
}

/// One for each of [`Between`].
#[derive(Default)]
pub(crate) struct Each<T> {
    pub(crate) anything: T,
    pub(crate) trap: T,
    pub(crate) nothing: T,
}

impl<T: Clone> Each<T> {
    /// One value for all three.
    pub(crate) fn same(one: T) -> Each<T> {
        Each { anything: one.clone(), trap: one.clone(), nothing: one }
    }
}

impl<T> Each<T> {
    pub(crate) fn of(&self, between: Between) -> &T {
        match between {
            Between::Anything => &self.anything,
            Between::Trap => &self.trap,
            Between::Nothing => &self.nothing,
        }
    }
}

/// What may come between the enter and the leave of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Between {
    /// Other events: the function calls, or it loops, and an embedder's epoch callback may run in a loop. So its frame may not be
    /// the innermost at its end, and the write position may have moved.
    #[default]
    Anything,
    /// A trap or an exception, but no event.
    Trap,
    /// Nothing: no event, trap or exception.
    Nothing,
}
