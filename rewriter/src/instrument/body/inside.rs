//! Replaces operators of a program that shares its memory with a recorder.

use super::rewriter::Rewriter;
use wasmparser::Operator;

impl<'a> Rewriter<'a, '_> {
    /// Replaces an operator that asks for the memory's size, or ends the program. Returns whether it is one.
    #[inline]
    pub(super) fn replaced_inside(&mut self, operator: &Operator<'a>, start: u64, end: u64) -> bool {
        let context = self.context;
        let Some(inside) = &context.inside else { return false };
        match operator {
            Operator::MemorySize { .. } => self.replace(start, end, &inside.size()),
            Operator::MemoryGrow { .. } => self.replace(start, end, &inside.grow()),
            Operator::Unreachable => match inside.abort() {
                Some(abort) => self.replace(start, end, &abort),
                None => return false,
            },
            _ => return false,
        }
        true
    }
}
