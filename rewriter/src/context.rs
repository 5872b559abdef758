//! What all bodies of a module share while they are rewritten.

use crate::Error;
use crate::parse::ModuleInfo;
use crate::plan::Plan;
use crate::probe::Probes;
use crate::reach::HostReach;
use crate::template::{Places, Recorder};
use crate::types::Types;
use kperf_abi::{FuncId, FuncIndex, names};
use std::collections::{HashMap, HashSet};
use wasm_encoder::BlockType;
use wasmparser::{Catch, FuncType, RefType, ValType};

/// Indices in the rewritten module, and the types that bodies need there.
pub(crate) struct Context<'a> {
    pub(crate) info: &'a ModuleInfo<'a>,
    pub(crate) reach: &'a HostReach,
    /// Where the module imports its probes, the index of `unwind` is that of `leave` if it imports none, which is found
    /// out afterwards.
    pub(crate) code: Probes,
    /// Where the recorder's things are, if it becomes a part of the module.
    pub(crate) places: Places,
    /// How many imports are added, and so by how much the indices of defined functions grow.
    pub(crate) shift: u32,
    probes: Vec<Option<FuncId>>,
    /// The functions that are counted only.
    counted: HashSet<FuncIndex>,
    /// For each imported function the index of the thunk that stands for it in calls.
    thunks: Vec<Option<u32>>,
    /// Types of bodies with several results, by type index.
    body_types: HashMap<u32, BlockType>,
    /// Types of pads, by the tag's type index and whether the exception is wanted too.
    pad_types: HashMap<(u32, bool), BlockType>,
}

/// What only the bodies can tell, though it decides the indices in them: a guess, and when it was wrong what was learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Something says `unwind`: the module imports it.
    pub(crate) unwind: bool,
    /// A `try_table` has a clause that gets several values: the types of their pads are added. Not without need: they
    /// speak of exceptions as references, which engines for the legacy proposal don't know.
    pub(crate) pad_types: bool,
}

/// What is caught as `(ref exn)`, which never is null.
const EXN: ValType = ValType::Ref(RefType::EXN);

impl<'a> Context<'a> {
    /// Decides indices and types; both are known before any body is read.
    pub(crate) fn new(
        info: &'a ModuleInfo<'a>,
        reach: &'a HostReach,
        plan: &Plan,
        needs: Needs,
        recorder: Option<&Recorder>,
        types: &mut Types<'_>,
    ) -> Result<Context<'a>, Error> {
        let imported = info.imported_funcs.len() as u32;
        let shift = recorder.map_or(2 + u32::from(needs.unwind), Recorder::import_count);
        let probes: Vec<_> = plan.functions.iter().map(|function| function.probe()).collect();
        let mut next_thunk = imported + shift + info.bodies.len() as u32;
        let thunks = probes[..imported as usize]
            .iter()
            .map(|probe| {
                probe.map(|_| {
                    next_thunk += 1;
                    next_thunk - 1
                })
            })
            .collect();

        let mut places = Places::default();
        let code = match recorder {
            None => {
                let unwind = imported + shift - 1;
                Probes {
                    enter: imported,
                    leave: imported + 1,
                    unwind,
                    leaf: None,
                    templates: None,
                    counted_from: None,
                    only_counts: false,
                }
            }
            Some(recorder) => {
                let mut ids = plan.probed().map(|(id, _)| id);
                let id_base = ids.next().unwrap_or_default();
                places = Places {
                    types: recorder.place_types(types),
                    first_import: imported,
                    first_function: next_thunk,
                    first_global: info.globals,
                    memory: info.memories,
                    id_base: id_base.0,
                    functions: ids.count() as u32 + 1,
                    start: info.start.map(|start| moved(info, shift, start)),
                };
                // One that only counts has none of these, and nothing calls them.
                let only_counts = recorder.only_counts();
                let function = |name| match only_counts {
                    true => Ok(u32::MAX),
                    false => recorder.function(&places, name),
                };
                Probes {
                    enter: function(names::ENTER)?,
                    leave: function(names::LEAVE)?,
                    unwind: function(names::UNWIND)?,
                    leaf: recorder.function(&places, names::LEAF).ok(),
                    templates: Some(recorder.templates(&places)?),
                    counted_from: recorder.counts_calls().then_some(id_base),
                    only_counts,
                }
            }
        };
        let mut body_types = HashMap::new();
        for (n, &type_index) in info.defined_types.iter().enumerate() {
            if probes[imported as usize + n].is_some()
                && let Some(signature) = info.signature(type_index)
                && signature.results().len() > 1
                && !body_types.contains_key(&type_index)
            {
                body_types.insert(type_index, types.block(signature.results())?);
            }
        }
        let mut pad_types = HashMap::new();
        for &type_index in info.tags.iter().filter(|_| needs.pad_types) {
            let Some(signature) = info.signature(type_index) else { continue };
            if !pad_types.contains_key(&(type_index, false)) {
                pad_types.insert((type_index, false), types.block(signature.params())?);
                let with_exception = [signature.params(), &[EXN]].concat();
                pad_types.insert((type_index, true), types.block(&with_exception)?);
            }
        }
        let counted = plan.functions.iter().filter(|function| function.counted);
        let counted = counted.map(|function| function.index).collect();
        Ok(Context { info, reach, code, places, shift, probes, counted, thunks, body_types, pad_types })
    }

    /// The id that a function calls `enter` with, if it does.
    pub(crate) fn probe(&self, index: FuncIndex) -> Option<FuncId> {
        self.probes.get(index.0 as usize).copied().flatten()
    }

    /// Whether a function's probe only counts its calls.
    pub(crate) fn is_counted(&self, index: FuncIndex) -> bool {
        self.code.only_counts || self.counted.contains(&index)
    }

    /// A function's index in the rewritten module. One that isn't there gets one that isn't there either: a thunk might
    /// be, right behind the last function.
    pub(crate) fn function(&self, index: u32) -> u32 {
        moved(self.info, self.shift, index)
    }

    /// What a call of a function calls in the rewritten module: the thunk where it has one.
    pub(crate) fn callee(&self, index: u32) -> u32 {
        self.thunks.get(index as usize).copied().flatten().unwrap_or_else(|| self.function(index))
    }

    /// Whether calls of this function go through a thunk.
    pub(crate) fn is_thunked(&self, index: u32) -> bool {
        self.callee(index) != self.function(index)
    }

    /// The imports that have thunks, and their ids.
    pub(crate) fn thunked(&self) -> impl Iterator<Item = (u32, FuncId)> {
        let imports = 0..self.info.imported_funcs.len() as u32;
        imports.filter_map(|import| Some((import, self.probe(FuncIndex(import))?)))
    }

    /// The type of the block around a body.
    pub(crate) fn body_type(&self, index: FuncIndex, signature: &FuncType) -> Result<BlockType, Error> {
        let type_index = self.info.defined_types.get(index.0 as usize - self.info.imported_funcs.len());
        match type_index.and_then(|index| self.body_types.get(index)) {
            Some(&block) => Ok(block),
            None => single_or_empty(signature.results()),
        }
    }

    /// How many values a clause of a `try_table` gives to its label.
    pub(crate) fn caught_values(&self, clause: &Catch, offset: u64) -> Result<usize, Error> {
        Ok(match *clause {
            Catch::One { tag, .. } => self.tag_values(tag, offset)?.len(),
            Catch::OneRef { tag, .. } => self.tag_values(tag, offset)?.len() + 1,
            Catch::All { .. } => 0,
            Catch::AllRef { .. } => 1,
        })
    }

    fn tag_type(&self, tag: u32, offset: u64) -> Result<u32, Error> {
        let no_tag = || Error::malformed(offset, "a clause names a tag that isn't there");
        self.info.tags.get(tag as usize).copied().ok_or_else(no_tag)
    }

    fn tag_values(&self, tag: u32, offset: u64) -> Result<&[ValType], Error> {
        let no_function = || Error::malformed(offset, "a tag's type is no function type");
        let signature = self.info.signature(self.tag_type(tag, offset)?).ok_or_else(no_function)?;
        Ok(signature.params())
    }

    /// The type of the pad for a clause of a `try_table`; `None` when it needs one that wasn't added.
    pub(crate) fn pad_type(&self, clause: &Catch, offset: u64) -> Result<Option<BlockType>, Error> {
        let (tag, with_exception) = match *clause {
            Catch::One { tag, .. } => (tag, false),
            Catch::OneRef { tag, .. } => (tag, true),
            Catch::All { .. } => return Ok(Some(BlockType::Empty)),
            Catch::AllRef { .. } => return single_or_empty(&[EXN]).map(Some),
        };
        match (self.tag_values(tag, offset)?, with_exception) {
            ([], true) => single_or_empty(&[EXN]).map(Some),
            (values @ ([] | [_]), false) => single_or_empty(values).map(Some),
            _ => Ok(self.pad_types.get(&(self.tag_type(tag, offset)?, with_exception)).copied()),
        }
    }
}

/// The index of a function behind so many more imports.
fn moved(info: &ModuleInfo<'_>, shift: u32, index: u32) -> u32 {
    let imported = info.imported_funcs.len();
    if (index as usize) < imported {
        index
    } else if (index as usize) < imported + info.defined_types.len() {
        index + shift
    } else {
        u32::MAX
    }
}

fn single_or_empty(results: &[ValType]) -> Result<BlockType, Error> {
    use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
    Ok(match results {
        [result] => BlockType::Result(RoundtripReencoder.val_type(*result)?),
        _ => BlockType::Empty,
    })
}
