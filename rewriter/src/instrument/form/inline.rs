//! The form with a recorder inside the module (`recorder.wat`).
//!
//! - The usual case of an event is inlined in every function.

use super::calls;
use super::shape::{Form, Kind, Needs};
use crate::error::Error;
use crate::instrument::events::{ByEffect, Code, Counted, DepthTracking, Events, Timed};
use crate::instrument::parts::{PartIndices, Parts};
use kperf_abi::{block, names, recorder};
use wasm_encoder::ValType;

pub(super) struct Inline;

impl Form for Inline {
    fn kind(&self) -> Kind {
        Kind::Timed
    }

    fn wants(&self) -> Needs {
        Needs { pad_types: true, allocations: true, samples: true, ..Needs::default() }
    }

    fn parts(&self, needs: Needs) -> Result<Parts, Error> {
        let form = if needs.allocations { recorder::Form::InlineAllocations } else { recorder::Form::Inline };
        let pages =
            if needs.samples { |_| block::MEMORY_PAGES_WITH_SAMPLES } else { |_| block::MEMORY_PAGES };
        Parts::of_recorder(form, pages)
    }

    fn code(&self, parts: &Parts, places: &PartIndices) -> Result<Code, Error> {
        let template = |name| parts.template(places, name);
        let inside = Events {
            timed: Timed {
                locals: parts.template_locals(places, names::INLINE_ENTER)?,
                enter: ByEffect {
                    calls: template(names::INLINE_ENTER)?,
                    may_trap: template(names::INLINE_ENTER_LEAF)?,
                    pure: template(names::INLINE_ENTER_TRAPLESS)?,
                },
                leave: ByEffect {
                    calls: template(names::INLINE_LEAVE)?,
                    may_trap: template(names::INLINE_LEAVE_LEAF)?,
                    pure: template(names::INLINE_LEAVE_TRAPLESS)?,
                },
                unwind: template(names::INLINE_UNWIND)?,
                takes_returned: false,
                leave_closes: true,
            },
            depth_only: depth_only(parts, places)?,
            counted: counted(parts, places)?,
        };
        Ok(Code { inside, smaller: Some(smaller(parts, places)?) })
    }
}

/// Calls of the recorder's functions, for functions without room for more.
pub(super) fn smaller(parts: &Parts, places: &PartIndices) -> Result<Events, Error> {
    let function = |name| parts.function(places, name);
    Ok(Events {
        timed: Timed {
            locals: vec![ValType::I32],
            enter: calls::enter(function(names::ENTER)?, &[calls::ID]),
            leave: ByEffect::same(calls::with_token(function(names::LEAVE)?)),
            unwind: calls::with_token(function(names::UNWIND)?),
            takes_returned: false,
            leave_closes: true,
        },
        depth_only: DepthTracking::default(),
        counted: Counted { locals: Vec::new(), leaf: calls::leaf(function(names::LEAF)?) },
    })
}

/// The code in functions without a probe that may catch.
pub(super) fn depth_only(parts: &Parts, places: &PartIndices) -> Result<DepthTracking, Error> {
    Ok(DepthTracking {
        locals: vec![ValType::I32],
        note: parts.template(places, names::INLINE_HERE)?,
        close: parts.template(places, names::INLINE_BACK)?,
    })
}

/// The code in counted functions.
pub(super) fn counted(parts: &Parts, places: &PartIndices) -> Result<Counted, Error> {
    Ok(Counted {
        locals: parts.template_locals(places, names::INLINE_LEAF)?,
        leaf: parts.template(places, names::INLINE_LEAF)?,
    })
}
