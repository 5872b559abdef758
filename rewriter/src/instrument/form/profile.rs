//! The form with a recorder inside the module (`profile.wat`): a count of each function's calls, and a stack
//! of the open ones, with or without spans.

use super::calls;
use super::shape::{Form, Kind, Needs};
use crate::error::Error;
use crate::instrument::events::{ByEffect, Code, Counted, DepthTracking, Events, Timed};
use crate::instrument::parts::{PartIndices, Parts};
use kperf_abi::{names, recorder, shadow};
use wasm_encoder::ValType;

pub(super) struct Profile {
    pub(super) form: recorder::Form,
    /// Whether threads share its memory.
    pub(super) is_shared: bool,
}

impl Form for Profile {
    fn kind(&self) -> Kind {
        Kind::Timed
    }

    fn wants(&self) -> Needs {
        Needs { pad_types: true, ..Needs::default() }
    }

    fn parts(&self, _: Needs) -> Result<Parts, Error> {
        let parts = Parts::of_recorder(self.form, shadow::pages)?;
        Ok(if self.is_shared { parts } else { parts.with_own_memory() })
    }

    fn code(&self, parts: &Parts, places: &PartIndices) -> Result<Code, Error> {
        let template = |name| parts.template(places, name);
        let function = |name| parts.function(places, name);
        let (enter_leaf, leave_leaf) =
            (template(names::INLINE_ENTER_LEAF)?, template(names::INLINE_LEAVE_LEAF)?);
        let inside = Events {
            timed: Timed {
                locals: parts.template_locals(places, names::INLINE_ENTER)?,
                enter: ByEffect {
                    calls: template(names::INLINE_ENTER)?,
                    may_trap: enter_leaf.clone(),
                    pure: enter_leaf,
                },
                leave: ByEffect {
                    calls: template(names::INLINE_LEAVE)?,
                    may_trap: leave_leaf.clone(),
                    pure: leave_leaf,
                },
                unwind: template(names::INLINE_UNWIND)?,
                takes_returned: true,
                leave_closes: false,
            },
            depth_only: DepthTracking {
                locals: vec![ValType::I32],
                note: template(names::INLINE_HERE)?,
                close: template(names::INLINE_BACK)?,
            },
            counted: Counted::default(),
        };
        let smaller = Events {
            timed: Timed {
                locals: vec![ValType::I32],
                enter: calls::enter(function(names::ENTER)?, &[calls::ID, calls::COUNT]),
                leave: ByEffect::same(calls::with_token(function(names::LEAVE)?)),
                unwind: calls::with_token(function(names::UNWIND)?),
                takes_returned: false,
                leave_closes: false,
            },
            depth_only: DepthTracking::default(),
            counted: Counted::default(),
        };
        Ok(Code { inside, smaller: Some(smaller) })
    }
}
