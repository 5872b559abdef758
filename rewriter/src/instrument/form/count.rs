//! The forms with a recorder inside the module (`counts.wat`) that only counts calls, or not even that.

use super::shape::{Form, Kind, Needs};
use crate::error::Error;
use crate::instrument::events::{Code, Counted, Events};
use crate::instrument::parts::{PartIndices, Parts};
use crate::instrument::template::Template;
use kperf_abi::{names, recorder, shadow};
use wasm_encoder::Instruction;

pub(super) struct Count(pub(super) Counts);

/// Where the counts of calls are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// In a memory that threads share.
    InMemory,
    /// In a global each.
    InGlobals,
    /// Calls aren't counted.
    Nowhere,
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
        Ok(if self.0 == Counts::InGlobals { parts.counting_in_globals() } else { parts })
    }

    fn code(&self, parts: &Parts, places: &PartIndices) -> Result<Code, Error> {
        let counted = match self.0 {
            Counts::InMemory => Counted {
                locals: parts.template_locals(places, names::INLINE_LEAF)?,
                leaf: parts.template(places, names::INLINE_LEAF)?,
            },
            Counts::InGlobals => {
                let count = parts.first_count(places).wrapping_sub(places.id_base);
                let leaf = Template::default()
                    .of_function(Instruction::GlobalGet, count)
                    .code(&[Instruction::I64Const(1), Instruction::I64Add])
                    .of_function(Instruction::GlobalSet, count);
                Counted { locals: Vec::new(), leaf }
            }
            Counts::Nowhere => Counted::default(),
        };
        Ok(Code { inside: Events { counted, ..Events::default() }, smaller: None })
    }
}
