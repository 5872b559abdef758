//! The events of a form of probe: the code that stands inside functions.

use crate::Error;
use crate::instrument::template::Template;
use crate::plan::leaf;
use kperf_abi::FuncId;
use kperf_abi::word::MAX_LEAF_ID;
use wasm_encoder::ValType;
use wasmparser::FunctionBody;

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
    pub(crate) depth_only: DepthTracking,
    pub(crate) counted: Counted,
}

/// What a function has that is timed.
#[derive(Default)]
pub(crate) struct Timed {
    /// The locals of the probe, that with the token first.
    pub(crate) locals: Vec<ValType>,
    /// The first thing in it.
    pub(crate) enter: ByEffect<Template>,
    /// The last thing, and before a tail call.
    pub(crate) leave: ByEffect<Template>,
    /// Behind what may have unwound frames above this one.
    pub(crate) unwind: Template,
    /// Whether a leave has a use for what the function returns.
    pub(crate) takes_returned: bool,
    /// Whether a leave closes what is open above the frame. (A shadow stack's doesn't look.)
    pub(crate) leave_closes: bool,
}

/// What a function without a probe has in which something may be caught.
#[derive(Default)]
pub(crate) struct DepthTracking {
    pub(crate) locals: Vec<ValType>,
    /// The first thing in it: it keeps how deep it is.
    pub(crate) note: Template,
    /// Where something may have been caught: what is deeper is closed.
    pub(crate) close: Template,
}

/// What a function has that is counted only.
#[derive(Default)]
pub(crate) struct Counted {
    pub(crate) locals: Vec<ValType>,
    pub(crate) leaf: Template,
}

/// One value for each [`BodyEffect`].
#[derive(Default)]
pub(crate) struct ByEffect<T> {
    pub(crate) calls: T,
    pub(crate) may_trap: T,
    pub(crate) pure: T,
}

impl<T: Clone> ByEffect<T> {
    /// One value for all three.
    pub(crate) fn same(one: T) -> ByEffect<T> {
        ByEffect { calls: one.clone(), may_trap: one.clone(), pure: one }
    }
}

impl<T> ByEffect<T> {
    pub(crate) fn of(&self, effect: BodyEffect) -> &T {
        match effect {
            BodyEffect::Calls => &self.calls,
            BodyEffect::MayTrap => &self.may_trap,
            BodyEffect::Pure => &self.pure,
        }
    }
}

/// What a function's body may do between the enter and the leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BodyEffect {
    /// It calls, or it loops and an embedder's epoch callback may run in the loop. Other events may be recorded, so the frame may
    /// not be the innermost at its end, and the write position may have moved.
    #[default]
    Calls,
    /// It may trap or throw, but records no event.
    MayTrap,
    /// It records no event and neither traps nor throws.
    Pure,
}

impl BodyEffect {
    /// The effect of a function's body. `calls`: it calls or loops.
    pub(crate) fn find(body: &FunctionBody<'_>, id: FuncId, calls: bool) -> Result<BodyEffect, Error> {
        Ok(if calls || id.0 > MAX_LEAF_ID {
            BodyEffect::Calls
        } else if leaf::is_trapless(body)? {
            BodyEffect::Pure
        } else {
            BodyEffect::MayTrap
        })
    }
}
