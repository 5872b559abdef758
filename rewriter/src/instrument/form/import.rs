//! The form with a recorder beside the module, which imports the recorder's functions:
//!
//! ```wat
//! (local.set $t (call $kperf.enter (i32.const 7)))  ..  (call $kperf.leave (local.get $t))
//! ```

use super::calls;
use super::shape::{Form, Kind, Needs};
use crate::error::Error;
use crate::instrument::events::{ByEffect, Code, Counted, DepthTracking, Events, Timed};
use crate::instrument::parts::{PartIndices, Parts};
use crate::instrument::template::Template;
use kperf_abi::names;
use kperf_abi::word::Reason;
use wasm_encoder::{Instruction, ValType};
use wasmparser::ValType::{I32, I64};

pub(super) struct Import {
    /// Whether instructions are the clock. The module adds their number to a global of the recorder.
    pub(super) counts: bool,
}

impl Form for Import {
    fn kind(&self) -> Kind {
        Kind::Timed
    }

    fn wants(&self) -> Needs {
        Needs { unwind: true, depth: true, pad_types: true, allocations: true, samples: false, files: false }
    }

    fn parts(&self, needs: Needs) -> Result<Parts, Error> {
        let mut parts = Parts::importing(names::MODULE);
        if self.counts {
            parts.import_counter(names::INSTRUCTIONS);
        }
        parts.import(names::ENTER, &[I32], &[I32]);
        parts.import(names::LEAVE, &[I32], &[]);
        if needs.unwind {
            parts.import(names::UNWIND, &[I32], &[]);
        }
        if needs.depth {
            parts.import(names::DEPTH, &[], &[I32]);
            parts.import(names::CLOSE, &[I32, I32], &[]);
        }
        if needs.allocations {
            parts.import(names::ALLOCATING, &[I32], &[]);
            parts.import(names::ALLOCATED, &[I32, I64, I64, I64], &[]);
            parts.import(names::GREW, &[I32, I64, I64], &[]);
            parts.import(names::CREATED, &[I64], &[]);
        }
        Ok(parts)
    }

    fn code(&self, parts: &Parts, places: &PartIndices) -> Result<Code, Error> {
        // An event is empty if its function isn't imported: a body that needs it is written again.
        let calling = |name, template: fn(u32) -> Template| {
            parts.imported(places, name).map_or_else(|_| Template::default(), template)
        };
        let inside = Events {
            timed: Timed {
                locals: vec![ValType::I32],
                enter: calls::enter(parts.imported(places, names::ENTER)?, &[calls::ID]),
                leave: ByEffect::same(calls::with_token(parts.imported(places, names::LEAVE)?)),
                unwind: calling(names::UNWIND, calls::with_token),
                takes_returned: false,
                leave_closes: true,
            },
            depth_only: DepthTracking {
                locals: vec![ValType::I32],
                note: calling(names::DEPTH, here),
                close: calling(names::CLOSE, back),
            },
            counted: Counted::default(),
        };
        Ok(Code { inside, smaller: None })
    }
}

/// Keeps the depth plus one. A local that an engine lost is 0, and minus one that is deeper than any stack.
fn here(depth: u32) -> Template {
    let code = [Instruction::Call(depth), Instruction::I32Const(1), Instruction::I32Add];
    Template::default().code(&code).local(Instruction::LocalSet, 0)
}

fn back(close: u32) -> Template {
    Template::default()
        .code(&[Instruction::I32Const(Reason::Caught as i32)])
        .local(Instruction::LocalGet, 0)
        .code(&[Instruction::I32Const(1), Instruction::I32Sub, Instruction::Call(close)])
}
