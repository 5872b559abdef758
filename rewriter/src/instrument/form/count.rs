//! The forms with a recorder inside the module (`counts.wat`) that only counts calls, or not even that.

use super::shape::{Form, Kind, Needs};
use crate::error::Error;
use crate::instrument::events::{Code, Counted, Events};
use crate::instrument::parts::{PartIndices, Parts};
use kperf_abi::{names, recorder, shadow};

pub(super) struct Count {
    /// Whether calls are counted.
    pub(super) counts: bool,
    /// Whether other threads may read the counts at any time.
    pub(super) shares: bool,
}

impl Form for Count {
    fn kind(&self) -> Kind {
        Kind::Counted
    }

    fn wants(&self) -> Needs {
        // How a function ends doesn't matter.
        Needs::default()
    }

    fn parts(&self, _: Needs) -> Result<Parts, Error> {
        let parts = Parts::of_recorder(recorder::Form::Counts, shadow::pages)?;
        Ok(if self.shares { parts } else { parts.with_own_memory() })
    }

    fn code(&self, parts: &Parts, places: &PartIndices) -> Result<Code, Error> {
        if !self.counts {
            return Ok(Code { inside: Events::default(), smaller: None });
        }
        let counted = Counted {
            locals: parts.template_locals(places, names::INLINE_LEAF)?,
            leaf: parts.template(places, names::INLINE_LEAF)?,
        };
        Ok(Code { inside: Events { counted, ..Events::default() }, smaller: None })
    }
}
