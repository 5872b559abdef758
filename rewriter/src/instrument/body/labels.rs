//! Renumbers labels where added blocks enclose them: branches, and the pads of `try_table`.

use super::rewriter::Rewriter;
use crate::error::Error;
use crate::instrument::try_table::OpenTryTable;
use crate::module::operators;
use wasm_encoder::Instruction;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasmparser::{Handle, Operator};

impl<'a> Rewriter<'a, '_> {
    /// A branch out of a `try_table` counts its pads too. A branch to a label that doesn't exist must not reach an
    /// added one.
    #[inline(never)]
    pub(super) fn relabel(&mut self, operator: &Operator<'a>, start: u64, end: u64) -> Result<(), Error> {
        let mut operator = operator.clone();
        match &mut operator {
            Operator::BrTable { targets } => {
                let labels = targets
                    .targets()
                    .map(|label| self.label(label?, start))
                    .collect::<Result<Vec<u32>, Error>>()?;
                let default = self.label(targets.default(), start)?;
                if self.labels.added() == 0 {
                    return Ok(());
                }
                self.replace(start, end, &[Instruction::BrTable(labels.into(), default)]);
                return Ok(());
            }
            Operator::Resume { resume_table, .. }
            | Operator::ResumeThrow { resume_table, .. }
            | Operator::ResumeThrowRef { resume_table, .. } => {
                for handler in &mut resume_table.handlers {
                    if let Handle::OnLabel { label, .. } = handler {
                        *label = self.label(*label, start)?;
                    }
                }
                if self.labels.added() > 0 {
                    let instruction = RoundtripReencoder.instruction(operator)?;
                    self.replace(start, end, &[instruction]);
                }
                return Ok(());
            }
            _ => {}
        }
        let Some(label) = operators::label_mut(&mut operator) else {
            return Err(operators::unknown(start));
        };
        let new = self.labels.translate(*label).ok_or_else(|| no_such_label(start))?;
        if new != *label {
            *label = new;
            let instruction = RoundtripReencoder.instruction(operator)?;
            self.replace(start, end, &[instruction]);
        }
        Ok(())
    }

    fn label(&self, label: u32, offset: u64) -> Result<u32, Error> {
        self.labels.translate(label).ok_or_else(|| no_such_label(offset))
    }

    pub(super) fn open_try_table(
        &mut self,
        table: &wasmparser::TryTable,
        start: u64,
        end: u64,
    ) -> Result<(), Error> {
        let arity = self.context.info.block_results(table.ty);
        if table.catches.is_empty() {
            self.labels.open(0, arity);
            return Ok(());
        }
        self.copy_until_offset(start);
        self.skip_until_offset(end);
        self.facts.unwinds |= !self.facts.site.tracks_depth_only;
        self.facts.adds_labels = true;
        let first_spill = self.facts.site.token + self.probe_locals();
        let open = OpenTryTable::begin(
            self.context,
            table,
            &self.labels,
            start,
            self.out,
            first_spill,
            &mut self.spills,
        )?;
        self.facts.lacks_pad_types |= open.lacks_pad_types;
        self.labels.open(open.pads() + 1, arity);
        self.open_try_tables.push(open);
        Ok(())
    }

    pub(super) fn close_try_table(&mut self) -> Result<(), Error> {
        self.labels.close();
        if let Some(open) = self.open_try_tables.pop() {
            open.end(&self.context.code, self.facts.site, self.out, &mut self.hints.met);
        }
        Ok(())
    }
}

fn no_such_label(offset: u64) -> Error {
    Error::malformed(offset, "a branch to an unknown label")
}
