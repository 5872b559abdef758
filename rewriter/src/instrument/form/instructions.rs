//! The form [`super::inline`] with the number of executed instructions as its clock. The clock always advances
//! between an enter and its leave, so all functions share one enter and one leave.

use super::inline;
use super::shape::{Form, Kind, Needs};
use crate::error::Error;
use crate::instrument::events::{ByEffect, Code, Events, Timed};
use crate::instrument::parts::{PartIndices, Parts};
use kperf_abi::{block, names, recorder};

pub(super) struct Instructions;

impl Form for Instructions {
    fn kind(&self) -> Kind {
        Kind::Timed
    }

    fn wants(&self) -> Needs {
        Needs { pad_types: true, allocations: true, samples: true, ..Needs::default() }
    }

    fn parts(&self, needs: Needs) -> Result<Parts, Error> {
        let form = if needs.allocations {
            recorder::Form::InstructionsAllocations
        } else {
            recorder::Form::Instructions
        };
        let pages =
            if needs.samples { |_| block::MEMORY_PAGES_WITH_SAMPLES } else { |_| block::MEMORY_PAGES };
        Parts::of_recorder(form, pages)
    }

    fn code(&self, parts: &Parts, places: &PartIndices) -> Result<Code, Error> {
        let template = |name| parts.template(places, name);
        let inside = Events {
            timed: Timed {
                locals: parts.template_locals(places, names::INLINE_ENTER)?,
                enter: ByEffect::same(template(names::INLINE_ENTER)?),
                leave: ByEffect::same(template(names::INLINE_LEAVE)?),
                unwind: template(names::INLINE_UNWIND)?,
                takes_returned: false,
                leave_closes: true,
            },
            depth_only: inline::depth_only(parts, places)?,
            counted: inline::counted(parts, places)?,
        };
        Ok(Code { inside, smaller: Some(inline::smaller(parts, places)?) })
    }
}
