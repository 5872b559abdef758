//! The form with a recorder inside the module (`recorder.wat`).
//!
//! - The usual case of an event is inlined in every function.
//! - If instructions are the clock, it always advances between an enter and its leave, so all functions share one enter and one leave.

use super::calls;
use super::shape::{Form, Kind, Needs};
use crate::error::Error;
use crate::instrument::events::{ByEffect, Code, Counted, DepthTracking, Events, Timed};
use crate::instrument::parts::{PartIndices, Parts};
use kperf_abi::{block, names, recorder};
use wasm_encoder::ValType;

pub(super) struct Inline {
    /// Whether instructions are the clock.
    pub(super) counts: bool,
}

impl Form for Inline {
    fn kind(&self) -> Kind {
        Kind::Timed
    }

    fn wants(&self) -> Needs {
        Needs { pad_types: true, allocations: true, samples: true, ..Needs::default() }
    }

    fn parts(&self, needs: Needs) -> Result<Parts, Error> {
        let form = match (self.counts, needs.allocations) {
            (false, false) => recorder::Form::Inline,
            (false, true) => recorder::Form::InlineAllocations,
            (true, false) => recorder::Form::Instructions,
            (true, true) => recorder::Form::InstructionsAllocations,
        };
        let pages =
            if needs.samples { |_| block::MEMORY_PAGES_WITH_SAMPLES } else { |_| block::MEMORY_PAGES };
        Parts::of_recorder(form, pages)
    }

    fn code(&self, parts: &Parts, places: &PartIndices) -> Result<Code, Error> {
        let template = |name| parts.template(places, name);
        let by_effect = |[calls, may_trap, pure]: [&'static str; 3]| {
            Ok::<_, Error>(match self.counts {
                true => ByEffect::same(template(calls)?),
                false => {
                    ByEffect { calls: template(calls)?, may_trap: template(may_trap)?, pure: template(pure)? }
                }
            })
        };
        let inside = Events {
            timed: Timed {
                locals: parts.template_locals(places, names::INLINE_ENTER)?,
                enter: by_effect([
                    names::INLINE_ENTER,
                    names::INLINE_ENTER_LEAF,
                    names::INLINE_ENTER_TRAPLESS,
                ])?,
                leave: by_effect([
                    names::INLINE_LEAVE,
                    names::INLINE_LEAVE_LEAF,
                    names::INLINE_LEAVE_TRAPLESS,
                ])?,
                unwind: template(names::INLINE_UNWIND)?,
                takes_returned: false,
                leave_closes: true,
            },
            depth_only: DepthTracking {
                locals: vec![ValType::I32],
                note: template(names::INLINE_HERE)?,
                close: template(names::INLINE_BACK)?,
            },
            counted: Counted {
                locals: parts.template_locals(places, names::INLINE_LEAF)?,
                leaf: template(names::INLINE_LEAF)?,
            },
        };
        Ok(Code { inside, smaller: Some(smaller(parts, places)?) })
    }
}

/// Calls of the recorder's functions, for functions without room for more.
fn smaller(parts: &Parts, places: &PartIndices) -> Result<Events, Error> {
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
