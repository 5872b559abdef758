//! Rewrites `try_table`. Normal control may reach the labels of its clauses too, so each clause gets a pad of its
//! own, where only the caught path calls `unwind` and branches on with its operands:
//!
//! ```wat
//! (try_table (result i32)                 (block $done (result i32)
//!            (catch $e $l)                  (block $pad1
//!            (catch_all $m)                   (block $pad0 (result ..$e's values)
//!   ..)                                         (try_table (result i32) (catch $e $pad0) (catch_all $pad1)
//!                                                 ..)
//!                                               (br $done))
//!                                             (call $unwind (local.get $t))
//!                                             (br $l))
//!                                           (call $unwind (local.get $t))
//!                                           (br $m))
//! ```
//!
//! Parameters of the block type wait in locals while the pads are opened. Otherwise a pad's type would name them, and
//! such types are known only after all bodies have been read.

use crate::error::Error;
use crate::instrument::context::Context;
use crate::instrument::hints::Hint;
use crate::instrument::probe::{ProbeSite, Probes};
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{Encode, Instruction};
use wasmparser::{Catch, TryTable, ValType};

/// The open labels of a body, and how many added blocks enclose each.
pub(crate) struct Labels {
    /// The source's labels, outermost first.
    open: Vec<Label>,
    /// Number of values for the function's own label.
    results: u32,
    /// Number of added blocks around the whole body, inside the block for the function's own label.
    around_body: u32,
}

struct Label {
    added_outside: u32,
    /// Number of values for a branch to it.
    arity: u32,
}

impl Labels {
    /// The labels of a function with `results` results.
    pub(crate) fn new(results: usize) -> Labels {
        Labels { open: Vec::new(), results: results as u32, around_body: 0 }
    }

    /// Opens an added block around the whole body.
    pub(crate) fn open_around_body(&mut self) {
        self.around_body += 1;
    }

    /// Opens a label of the source, for branches with `arity` values, with `added` blocks around it.
    pub(crate) fn open(&mut self, added: u32, arity: usize) {
        self.open.push(Label { added_outside: self.added() + added, arity: arity as u32 });
    }

    /// Closes the innermost label of the source, with the blocks around it.
    pub(crate) fn close(&mut self) {
        self.open.pop();
    }

    /// Number of open labels of the source, without the function's own.
    pub(crate) fn depth(&self) -> u32 {
        self.open.len() as u32
    }

    /// Number of open added blocks, without the one for the function's own label.
    pub(crate) fn added(&self) -> u32 {
        self.open.last().map_or(self.around_body, |label| label.added_outside)
    }

    /// The new number of a source label; `None` if it doesn't exist.
    pub(crate) fn translate(&self, label: u32) -> Option<u32> {
        let outside_target = match self.depth().checked_sub(label)? {
            0 => 0,
            position => self.open[position as usize - 1].added_outside,
        };
        Some(label + (self.added() - outside_target))
    }

    /// Number of values for a branch to a source label; `None` if it doesn't exist.
    fn arity(&self, label: u32) -> Option<u32> {
        match self.depth().checked_sub(label)? {
            0 => Some(self.results),
            position => Some(self.open[position as usize - 1].arity),
        }
    }
}

/// A `try_table` with open pads.
pub(crate) struct OpenTryTable {
    /// [`Labels::depth`] inside it.
    pub(crate) depth: u32,
    /// For each clause, the label that it names, numbered outside `$done`.
    targets: Vec<u32>,
    /// A pad's type is missing, so the body is invalid.
    pub(crate) lacks_pad_types: bool,
}

impl OpenTryTable {
    /// Opens the blocks and the `try_table`. `spills` gets the types of the locals for its parameters; `first_spill`
    /// is the first of them.
    pub(crate) fn begin(
        context: &Context<'_>,
        table: &TryTable,
        labels: &Labels,
        offset: u64,
        out: &mut Vec<u8>,
        first_spill: u32,
        spills: &mut Vec<ValType>,
    ) -> Result<OpenTryTable, Error> {
        let no_label = || Error::malformed(offset, "a clause with an unknown label");
        let params = context.info.block_params(table.ty);
        let block_type = RoundtripReencoder.block_type(table.ty)?;
        let waiting = first_spill + spills.len() as u32..first_spill + (spills.len() + params.len()) as u32;
        spills.extend_from_slice(params);

        Instruction::Block(block_type).encode(out);
        waiting.clone().rev().for_each(|local| Instruction::LocalSet(local).encode(out));
        let mut targets = Vec::with_capacity(table.catches.len());
        let mut clauses = Vec::with_capacity(table.catches.len());
        for (pad, &clause) in table.catches.iter().enumerate() {
            let label = pad as u32;
            let (target, moved) = match clause {
                Catch::One { tag, label: target } => (target, wasm_encoder::Catch::One { tag, label }),
                Catch::OneRef { tag, label: target } => (target, wasm_encoder::Catch::OneRef { tag, label }),
                Catch::All { label: target } => (target, wasm_encoder::Catch::All { label }),
                Catch::AllRef { label: target } => (target, wasm_encoder::Catch::AllRef { label }),
            };
            // If the clause is invalid, the branch on the pad would drop a value too many.
            let (given, taken) = (context.caught_values(&clause, offset)?, labels.arity(target));
            if taken.is_some_and(|taken| taken as usize != given) {
                return Err(Error::malformed(offset, "a clause gives other values than its label takes"));
            }
            targets.push(labels.translate(target).ok_or_else(no_label)?);
            clauses.push(moved);
        }
        let mut lacks_pad_types = false;
        // The last clause's pad is the outermost.
        for clause in table.catches.iter().rev() {
            let ty = context.pad_type(clause, offset)?;
            lacks_pad_types |= ty.is_none();
            Instruction::Block(ty.unwrap_or(wasm_encoder::BlockType::Empty)).encode(out);
        }
        waiting.for_each(|local| Instruction::LocalGet(local).encode(out));
        Instruction::TryTable(block_type, clauses.into()).encode(out);
        Ok(OpenTryTable { depth: labels.depth() + 1, targets, lacks_pad_types })
    }

    /// Number of pads.
    pub(crate) fn pads(&self) -> u32 {
        self.targets.len() as u32
    }

    /// Closes the pads after the `end` of the `try_table`.
    pub(crate) fn end(self, probes: &Probes, site: ProbeSite, out: &mut Vec<u8>, hints: &mut Vec<Hint>) {
        let pads = self.pads();
        Instruction::Br(pads).encode(out);
        for (pad, target) in self.targets.into_iter().enumerate() {
            // `$done` and the outer pads are still open.
            let open = pads - pad as u32;
            Instruction::End.encode(out);
            probes.unwind(site, out, hints);
            Instruction::Br(target + open).encode(out);
        }
        Instruction::End.encode(out);
    }
}
