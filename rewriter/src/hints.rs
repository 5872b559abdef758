//! Branch hints (`metadata.code.branch_hint`): which way an `if` or a `br_if` usually goes. They name instructions by the
//! function and the offset in its body, and move with them. Without them an engine would compile another program than the
//! one that is measured.

use crate::Error;
use crate::module::ModuleInfo;
use kperf_abi::FuncIndex;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use wasm_encoder::Encode;
use wasmparser::{BinaryReader, BranchHint, SectionLimited};

/// The section's name.
pub(crate) const SECTION: &str = "metadata.code.branch_hint";

/// An offset in a body and what is said of the branch there.
type Hint = (u32, bool);

/// The hints of a module, and where the bodies that were written have them.
#[derive(Default)]
pub(crate) struct Hints {
    /// In the order of their offsets. `None`: there is no such section, or it can't be read.
    read: Option<HashMap<FuncIndex, Vec<Hint>>>,
    moved: Mutex<BTreeMap<FuncIndex, Vec<Hint>>>,
}

/// The hints of a body that is being written.
#[derive(Default)]
pub(crate) struct Offsets<'a> {
    /// Those that aren't reached yet.
    left: &'a [Hint],
    /// Where the others have come to.
    moved: Vec<Hint>,
}

impl Hints {
    /// Reads the section, if there is one. A module may have several; nobody reads more than the first.
    pub(crate) fn read(info: &ModuleInfo<'_>) -> Hints {
        let section = info.custom_section(SECTION);
        let read = section.and_then(|(data, offset)| read(data, offset as u64).ok());
        Hints { read, moved: Mutex::default() }
    }

    /// Whether there is a section that can be read.
    pub(crate) fn is_read(&self) -> bool {
        self.read.is_some()
    }

    /// Those of a function, before its body is written.
    pub(crate) fn of(&self, index: FuncIndex) -> Offsets<'_> {
        let hints = self.read.as_ref().and_then(|read| read.get(&index));
        Offsets { left: hints.map_or(&[], Vec::as_slice), moved: Vec::new() }
    }

    /// Keeps where a body has its hints; `before` so many bytes were put in front of it afterwards.
    pub(crate) fn put(&self, index: FuncIndex, offsets: Offsets<'_>, before: usize) {
        if offsets.moved.is_empty() {
            return;
        }
        let moved = offsets.moved.iter().map(|&(at, likely)| (at.saturating_add(before as u32), likely));
        self.moved.lock().unwrap_or_else(PoisonError::into_inner).insert(index, moved.collect());
    }

    /// The section's data, once all bodies are written: `None` if nothing is left of it. `place` says a function's new
    /// index.
    pub(crate) fn encode(&self, place: impl Fn(u32) -> u32) -> Option<Vec<u8>> {
        let moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        if moved.is_empty() {
            return None;
        }
        let mut out = Vec::new();
        (moved.len() as u32).encode(&mut out);
        for (index, hints) in moved.iter() {
            place(index.0).encode(&mut out);
            (hints.len() as u32).encode(&mut out);
            for &(offset, likely) in hints {
                offset.encode(&mut out);
                // One byte follows.
                out.extend([1, u8::from(likely)]);
            }
        }
        Some(out)
    }
}

impl Offsets<'_> {
    /// The instruction at the offset `old` of the body will stand at `new`.
    #[inline]
    pub(crate) fn pass(&mut self, old: usize, new: usize) {
        while let Some(&(offset, likely)) = self.left.first()
            && offset as usize <= old
        {
            // One that lies within an instruction says nothing.
            if offset as usize == old {
                self.moved.push((new as u32, likely));
            }
            self.left = &self.left[1..];
        }
    }
}

fn read(data: &[u8], offset: u64) -> Result<HashMap<FuncIndex, Vec<Hint>>, Error> {
    let mut hints: HashMap<FuncIndex, Vec<Hint>> = HashMap::new();
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
