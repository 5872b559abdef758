//! What all bodies of a module share while they are rewritten.

use crate::debug::Globals;
use crate::instrument::form::{Form, Needs};
use crate::instrument::hints::{self, Hints};
use crate::instrument::parts::{Parts, Places};
use crate::instrument::probe::Probes;
use crate::instrument::types::Types;
use crate::module::info::ModuleInfo;
use crate::plan::allocators::Allocators;
use crate::plan::choose::Plan;
use crate::plan::reach::HostReach;
use crate::{Clock, Error};
use kperf_abi::{FuncId, FuncIndex, names};
use std::collections::{HashMap, HashSet};
use wasm_encoder::BlockType;
use wasmparser::{Catch, FuncType, Operator, RefType, ValType};

/// Indices in the rewritten module, and the types that bodies need there.
pub(crate) struct Context<'a> {
    pub(crate) info: &'a ModuleInfo<'a>,
    pub(crate) reach: &'a HostReach,
    pub(crate) code: Probes,
    /// What is added to the module, and where.
    pub(crate) parts: &'a Parts,
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
    /// The module's own branch hints.
    pub(crate) hints: Option<Hints>,
    /// How much is kept of where a body's instructions have come to: see [`Steps`](crate::module::moves::Steps). 0: nobody wants to know.
    pub(crate) most_steps: usize,
    /// How instructions are counted, if they are.
    pub(crate) counter: Option<Counter>,
    /// What records allocations, if they are recorded, and which functions are an allocator's.
    pub(crate) memory: Option<(Memory, &'a Allocators)>,
}

/// What records what is allocated: functions of the recorder's.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) outermost: Outermost,
    pub(crate) allocated: u32,
    pub(crate) grew: u32,
    pub(crate) created: u32,
}

/// How the outermost call of an allocator is told from those inside it.
#[derive(Clone, Copy)]
pub(crate) enum Outermost {
    /// A global has its token.
    Global(u32),
    /// The recorder is beside the module, and this function of it is called.
    Told(u32),
}

/// How instructions are counted.
#[derive(Clone, Copy)]
pub(crate) struct Counter {
    /// The global that has their number.
    pub(crate) global: u32,
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
        form: &dyn Form,
        parts: &'a Parts,
        types: &mut Types<'_>,
    ) -> Result<Context<'a>, Error> {
        let imported = info.imported_funcs.len() as u32;
        let shift = parts.import_count();
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

        let mut ids = plan.probed().map(|(id, _)| id);
        let first = ids.next().unwrap_or_default();
        let places = Places {
            types: parts.place_types(types),
            first_import: imported,
            first_function: next_thunk,
            first_global: info.globals + parts.global_import_count(),
            first_imported_global: info.imported_globals,
            memory: info.memories,
            id_base: first.0,
            functions: ids.count() as u32 + 1,
            start: info.start.map(|start| moved(info, shift, start)),
            sample: 0,
        };
        let code = Probes { kind: form.kind(), code: form.code(parts, &places)?, first };
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
        let hints = hints::of_module(info);
        Ok(Context {
            info,
            reach,
            code,
            parts,
            places,
            shift,
            probes,
            counted,
            thunks,
            body_types,
            pad_types,
            hints,
            most_steps: 0,
            counter: None,
            memory: None,
        })
    }

    /// With a count of the instructions that are executed, if that is the clock.
    pub(crate) fn counting(mut self, clock: Clock) -> Result<Context<'a>, Error> {
        if clock == Clock::Instructions {
            let global = self.parts.counter(&self.places)?;
            self.counter = Some(Counter { global });
        }
        Ok(self)
    }

    /// With a record of what is allocated, if the recorder has what it takes.
    pub(crate) fn recording(
        mut self,
        allocators: &'a Allocators,
        needs: Needs,
    ) -> Result<Context<'a>, Error> {
        if needs.allocations {
            let (parts, places) = (self.parts, &self.places);
            let function = |name| parts.imported(places, name).or_else(|_| parts.function(places, name));
            let outermost = match parts.global(places, names::STATE_ALLOCATOR) {
                Ok(global) => Outermost::Global(global),
                Err(_) => Outermost::Told(function(names::ALLOCATING)?),
            };
            let memory = Memory {
                outermost,
                allocated: function(names::ALLOCATED)?,
                grew: function(names::GREW)?,
                created: function(names::CREATED)?,
            };
            self.places.sample = allocators.told.sample;
            self.memory = Some((memory, allocators));
        }
        Ok(self)
    }

    /// The id that a function calls `enter` with, if it does.
    pub(crate) fn probe(&self, index: FuncIndex) -> Option<FuncId> {
        self.probes.get(index.0 as usize).copied().flatten()
    }

    /// Whether a function without a probe must note how deep it is where something may be caught in it. (One that is shared
    /// between threads calls nothing that isn't, so nothing with a probe.)
    pub(crate) fn tracks_depth(&self, index: FuncIndex) -> bool {
        !self.code.only_counts() && !self.info.is_shared(index)
    }

    /// Whether something may have been caught behind an instruction: there, or in a function of the host's.
    #[inline]
    pub(crate) fn may_catch(&self, operator: &Operator<'_>) -> bool {
        match *operator {
            // What it leaves open the thunk closes.
            Operator::Call { function_index } if self.is_thunked(function_index) => false,
            _ => self.reach.may_catch(operator),
        }
    }

    /// Whether a function's probe only counts its calls.
    pub(crate) fn is_counted(&self, index: FuncIndex) -> bool {
        self.code.only_counts() || self.counted.contains(&index)
    }

    /// A function's index in the rewritten module. One that isn't there gets one that isn't there either: a thunk might
    /// be, right behind the last function.
    pub(crate) fn function(&self, index: u32) -> u32 {
        moved(self.info, self.shift, index)
    }

    /// A global's index in the rewritten module. One that isn't there gets one that isn't there either.
    pub(crate) fn global(&self, index: u32) -> u32 {
        match index {
            _ if index >= self.info.globals => u32::MAX,
            _ if index >= self.info.imported_globals => index + self.parts.global_import_count(),
            _ => index,
        }
    }

    /// Which globals have other indices in the rewritten module.
    pub(crate) fn moved_globals(&self) -> Globals {
        Globals { first: self.info.imported_globals, by: self.parts.global_import_count() }
    }

    /// Whether globals have other indices in the rewritten module.
    pub(crate) fn moves_globals(&self) -> bool {
        self.parts.global_import_count() > 0
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
