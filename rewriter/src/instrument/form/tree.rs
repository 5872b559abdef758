//! The form with a recorder inside the module, in the program's own memory (`tree.wat`): it keeps a call tree and writes it.
//!
//! ```wat
//! (if (node is the last child that was called) (then count it) (else (local.set $t (call $enter (i32.const 7)))))  ..
//! ```

use super::calls;
use super::shape::{Form, Kind, Needs};
use crate::error::Error;
use crate::instrument::events::{ByEffect, Code, Counted, DepthTracking, Events, Timed};
use crate::instrument::parts::{PartIndices, Parts};
use kperf_abi::{names, recorder};
use wasm_encoder::ValType;

pub(super) struct Tree;

impl Form for Tree {
    fn kind(&self) -> Kind {
        Kind::Timed
    }

    fn wants(&self) -> Needs {
        Needs { pad_types: true, files: true, ..Needs::default() }
    }

    fn parts(&self, needs: Needs) -> Result<Parts, Error> {
        Parts::in_memory_of_program(match needs.files {
            true => recorder::Form::TreeFiles,
            false => recorder::Form::Tree,
        })
    }

    fn code(&self, parts: &Parts, places: &PartIndices) -> Result<Code, Error> {
        let template = |name| parts.template(places, name);
        let function = |name| parts.function(places, name);
        let depth_only = || {
            Ok::<_, Error>(DepthTracking {
                locals: vec![ValType::I32],
                note: template(names::INLINE_HERE)?,
                close: template(names::INLINE_BACK)?,
            })
        };
        let inside = Events {
            timed: Timed {
                locals: parts.template_locals(places, names::INLINE_ENTER)?,
                enter: ByEffect::same(template(names::INLINE_ENTER)?),
                leave: ByEffect::same(template(names::INLINE_LEAVE)?),
                unwind: template(names::INLINE_UNWIND)?,
                takes_returned: false,
                leave_closes: true,
            },
            depth_only: depth_only()?,
            counted: Counted::default(),
        };
        let smaller = Events {
            timed: Timed {
                locals: vec![ValType::I32],
                enter: calls::enter(function(names::ENTER)?, &[calls::ID]),
                leave: ByEffect::same(calls::with_token(function(names::LEAVE)?)),
                unwind: calls::with_token(function(names::UNWIND)?),
                takes_returned: false,
                leave_closes: true,
            },
            depth_only: depth_only()?,
            counted: Counted::default(),
        };
        Ok(Code { inside, smaller: Some(smaller) })
    }
}
