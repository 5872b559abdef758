//! Branch hints (`metadata.code.branch_hint`): which way an `if` or a `br_if` usually goes. They name instructions by the
//! function and the offset in its body.
//!
//! Those of a module move with their instructions. Without them an engine would compile another program than the one that is
//! measured. Probes have hints too: an engine that reads them puts what a probe rarely does behind the function's own code.

use crate::Error;
use crate::module::info::ModuleInfo;
use kperf_abi::FuncIndex;
use std::collections::HashMap;
use wasm_encoder::Encode;
use wasmparser::{BinaryReader, BranchHint, SectionLimited};

/// The section's name.
pub(crate) const SECTION: &str = "metadata.code.branch_hint";

/// An offset in a body, and whether the branch there is likely to be taken.
pub(crate) type Hint = (u32, bool);

/// The hints of a module, in the order of their offsets.
pub(crate) type Hints = HashMap<FuncIndex, Vec<Hint>>;

/// The hints of bodies that were written, as the section has them.
#[derive(Debug, Default)]
pub(crate) struct Written {
    functions: u32,
    bytes: Vec<u8>,
}

/// The hints of a body that is being written.
#[derive(Default)]
pub(crate) struct Offsets<'a> {
    /// Those of the source that aren't reached yet.
    left: &'a [Hint],
    /// Where the others have come to, and those of probes.
    pub(crate) met: Vec<Hint>,
    /// Those of what is put in front of all that in the end.
    pub(crate) in_front: Vec<Hint>,
}

/// The hints of a module: `None` if it has none, or if they can't be read. A module may have several sections of them; nobody reads
/// more than the first.
pub(crate) fn of_module(info: &ModuleInfo<'_>) -> Option<Hints> {
    let (data, offset) = info.custom_section(SECTION)?;
    read(data, offset as u64).ok()
}

impl Written {
    /// The hints of a function, which stands behind those that have some already.
    pub(crate) fn add(&mut self, function: u32, hints: &[Hint]) {
        if hints.is_empty() {
            return;
        }
        self.functions += 1;
        function.encode(&mut self.bytes);
        (hints.len() as u32).encode(&mut self.bytes);
        for &(offset, likely) in hints {
            offset.encode(&mut self.bytes);
            // One byte follows.
            self.bytes.extend([1, u8::from(likely)]);
        }
    }

    /// Those of more functions, behind these.
    pub(crate) fn extend(&mut self, more: &Written) {
        self.functions += more.functions;
        self.bytes.extend_from_slice(&more.bytes);
    }

    /// The section's data; `None` if there are no hints.
    pub(crate) fn section(&self) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(self.bytes.len() + 5);
        self.functions.encode(&mut out);
        out.extend_from_slice(&self.bytes);
        (self.functions > 0).then_some(out)
    }
}

impl<'a> Offsets<'a> {
    /// Before a body is written. `hints`: those of its source.
    pub(crate) fn new(hints: Option<&'a Vec<Hint>>) -> Offsets<'a> {
        Offsets { left: hints.map_or(&[], Vec::as_slice), ..Offsets::default() }
    }

    /// The instruction at the offset `old` of the body will stand at `new`.
    #[inline]
    pub(crate) fn pass(&mut self, old: usize, new: usize) {
        while let Some(&(offset, likely)) = self.left.first()
            && offset as usize <= old
        {
            // One that lies within an instruction says nothing.
            if offset as usize == old {
                self.met.push((new as u32, likely));
            }
            self.left = &self.left[1..];
        }
    }

    /// The body is written; `before` so many bytes were put in front of it afterwards.
    pub(crate) fn finish(self, before: usize) -> Vec<Hint> {
        let mut hints = self.in_front;
        hints.extend(self.met.iter().map(|&(at, likely)| (at.saturating_add(before as u32), likely)));
        hints
    }
}

/// Reads a section's data, which stand at this offset.
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
