//! The code that a form of probe adds to functions.

use crate::error::Error;
use crate::instrument::template::Template;
use crate::plan::leaf;
use kperf_abi::FuncId;
use kperf_abi::word::MAX_LEAF_ID;
use wasm_encoder::ValType;
use wasmparser::FunctionBody;

/// The code for functions.
pub(crate) struct Code {
    pub(crate) inside: Events,
    /// Smaller code, for functions without room for `inside`. Not every form has it.
    pub(crate) smaller: Option<Events>,
}

/// The code of a form's events. A form leaves empty the events that its functions never have.
#[derive(Default)]
pub(crate) struct Events {
    pub(crate) timed: Timed,
    pub(crate) depth_only: DepthTracking,
    pub(crate) counted: Counted,
}

/// The code in a timed function.
#[derive(Default)]
pub(crate) struct Timed {
    /// The probe's locals; the token is the first.
    pub(crate) locals: Vec<ValType>,
    /// At the start.
    pub(crate) enter: ByEffect<Template>,
    /// At the end, and before a tail call.
    pub(crate) leave: ByEffect<Template>,
    /// After what may have unwound frames above this one.
    pub(crate) unwind: Template,
    /// Whether a leave uses the function's result.
    pub(crate) takes_returned: bool,
    /// Whether a leave closes open frames above this one. A shadow stack's doesn't check.
    pub(crate) leave_closes: bool,
}

/// The code in a function without a probe that may catch.
#[derive(Default)]
pub(crate) struct DepthTracking {
    pub(crate) locals: Vec<ValType>,
    /// At the start: notes the depth.
    pub(crate) note: Template,
    /// After what may have caught: closes deeper frames.
    pub(crate) close: Template,
}

/// The code in a counted function.
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
