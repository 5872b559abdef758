//! Branch hints (`metadata.code.branch_hint`): which way an `if` or a `br_if` usually goes.
//!
//! - A hint names an instruction by the function and the offset in its body.
//! - A module's hints move with their instructions, so that engines compile the program that is measured.
//! - Probes have hints too: engines move the rare path of a probe after the function's own code.

use crate::error::Error;
use crate::module::info::ModuleInfo;
use kperf_abi::FuncIndex;
use std::collections::HashMap;
use wasm_encoder::BranchHints;
use wasmparser::{BinaryReader, BranchHint, SectionLimited};

/// The section's name.
pub(crate) const SECTION: &str = "metadata.code.branch_hint";

/// An offset in a body, and whether the branch there is likely to be taken.
pub(crate) type Hint = (u32, bool);

/// A module's hints, by function, each function's by offset.
pub(crate) type Hints = HashMap<FuncIndex, Vec<Hint>>;

/// The hints of the written bodies, in the order of functions.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Each function with hints, and how many it has.
    functions: Vec<(u32, usize)>,
    hints: Vec<Hint>,
}

/// The hints of a body while it is written.
#[derive(Default)]
pub(crate) struct Offsets<'a> {
    /// The source's hints after the current instruction.
    left: &'a [Hint],
    /// The hints at their new offsets, with the probe's.
    pub(crate) met: Vec<Hint>,
    /// The hints of code that is put before the body at the end.
    pub(crate) in_front: Vec<Hint>,
}

/// A module's hints; `None` if it has none or they are malformed. Of several sections engines read only the first.
pub(crate) fn of_module(info: &ModuleInfo<'_>) -> Option<Hints> {
    let (data, offset) = info.custom_section(SECTION)?;
    read(data, offset as u64).ok()
}

impl Written {
    /// Adds a function's hints after those of earlier functions.
    pub(crate) fn add(&mut self, function: u32, hints: &[Hint]) {
        if !hints.is_empty() {
            self.functions.push((function, hints.len()));
            self.hints.extend_from_slice(hints);
        }
    }

    /// Adds the hints of more functions, after these.
    pub(crate) fn extend(&mut self, more: &Written) {
        self.functions.extend_from_slice(&more.functions);
        self.hints.extend_from_slice(&more.hints);
    }

    /// The section; `None` if there are no hints.
    pub(crate) fn section(&self) -> Option<BranchHints> {
        let (mut section, mut rest) = (BranchHints::new(), &self.hints[..]);
        for &(function, count) in &self.functions {
            let (hints, others) = rest.split_at_checked(count)?;
            let encoded = hints.iter().map(|&(offset, likely)| wasm_encoder::BranchHint {
                branch_func_offset: offset,
                branch_hint_value: likely.into(),
            });
            section.function_hints(function, encoded);
            rest = others;
        }
        (!section.is_empty()).then_some(section)
    }
}

impl<'a> Offsets<'a> {
    /// Hints for a body that is to be written. `hints`: the source's.
    pub(crate) fn new(hints: Option<&'a Vec<Hint>>) -> Offsets<'a> {
        Offsets { left: hints.map_or(&[], Vec::as_slice), ..Offsets::default() }
    }

    /// The instruction at offset `old` of the body comes to offset `new`.
    #[inline]
    pub(crate) fn pass(&mut self, old: usize, new: usize) {
        while let Some(&(offset, likely)) = self.left.first()
            && offset as usize <= old
        {
            // A hint inside an instruction is dropped.
            if offset as usize == old {
                self.met.push((new as u32, likely));
            }
            self.left = &self.left[1..];
        }
    }

    /// Ends the body; `before` bytes were put before it afterwards.
    pub(crate) fn finish(self, before: usize) -> Vec<Hint> {
        let mut hints = self.in_front;
        hints.extend(self.met.iter().map(|&(at, likely)| (at.saturating_add(before as u32), likely)));
        hints
    }
}

/// Parses a section's data, which begins at this offset.
pub(crate) fn read(data: &[u8], offset: u64) -> Result<Hints, Error> {
    let mut hints = Hints::new();
    for function in wasmparser::BranchHintSectionReader::new(BinaryReader::new(data, offset))? {
        let function = function?;
        let branches: SectionLimited<'_, BranchHint> = function.hints;
        let of_function = hints.entry(FuncIndex(function.func)).or_default();
        for hint in branches {
            let hint = hint?;
            of_function.push((hint.func_offset, hint.taken));
        }
    }
    for of_function in hints.values_mut() {
        of_function.sort_unstable();
        of_function.dedup_by_key(|hint| hint.0);
    }
    Ok(hints)
}
