//! Indices and types that all bodies of a module share while they are rewritten.

use crate::debug_info::dwarf::Globals;
use crate::error::Error;
use crate::instrument::form::{Form, Needs};
use crate::instrument::hints::{self, Hints};
use crate::instrument::inside::Inside;
use crate::instrument::parts::{PartIndices, Parts};
use crate::instrument::probe::Probes;
use crate::instrument::types::Types;
use crate::module::info::ModuleInfo;
use crate::plan::allocators::Allocators;
use crate::plan::choose::Plan;
use crate::plan::reach::HostReach;
use crate::plan::waits::Wait;
use crate::recording::Clock;
use kperf_abi::{FuncId, FuncIndex, SymbolTable, names};
use std::collections::{BTreeSet, HashMap, HashSet};
use wasm_encoder::{BlockType, Instruction};
use wasmparser::{Catch, FuncType, Operator, RefType, ValType};

/// Indices in the rewritten module, and the types that bodies need there.
pub(crate) struct Context<'a> {
    pub(crate) info: &'a ModuleInfo<'a>,
    pub(crate) reach: &'a HostReach,
    pub(crate) code: Probes,
    /// The parts added to the module, and their indices.
    pub(crate) parts: &'a Parts,
    pub(crate) places: PartIndices,
    /// Number of added imports: the indices of defined functions grow by it.
    pub(crate) shift: u32,
    probes: Vec<Option<FuncId>>,
    /// Functions whose calls are only counted.
    counted: HashSet<FuncIndex>,
    /// For each imported function the index of its thunk.
    thunks: Vec<Option<u32>>,
    /// The instructions with which a thread waits, with the type and the index of the thunk of each.
    waits: Vec<(Wait, u32, u32)>,
    /// Types of bodies with several results, by type index.
    body_types: HashMap<u32, BlockType>,
    /// Types of pads, by the tag's type index and whether the exception is a value too.
    pad_types: HashMap<(u32, bool), BlockType>,
    /// The module's own branch hints.
    pub(crate) hints: Option<Hints>,
    /// The most steps kept for a body: see [`Steps`](crate::module::moves::Steps). 0: no map is wanted.
    pub(crate) most_steps: usize,
    /// How instructions are counted, if they are the clock.
    pub(crate) counter: Option<Counter>,
    /// The recorder's functions for allocations, and the allocator functions, if allocations are recorded.
    pub(crate) memory: Option<(Memory, &'a Allocators)>,
    /// The recorder in the program's memory, if it is there.
    pub(crate) inside: Option<Inside>,
}

/// The recorder's functions for allocations.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) outermost: Outermost,
    pub(crate) allocated: u32,
    pub(crate) grew: u32,
    pub(crate) created: u32,
}

/// How nested calls of an allocator are recognized.
#[derive(Clone, Copy)]
pub(crate) enum Outermost {
    /// This global has the outermost call's token.
    Global(u32),
    /// The recorder is beside the module and has this function for it.
    Function(u32),
}

/// How instructions are counted.
#[derive(Clone, Copy)]
pub(crate) struct Counter {
    /// The global with the count.
    pub(crate) global: u32,
}

/// The export that runs a command of WASI.
pub(crate) const COMMAND: &str = "_start";
/// The type of a caught exception, which is never null.
const EXN: ValType = ValType::Ref(RefType::EXN);

impl<'a> Context<'a> {
    /// Decides indices and types before any body is read.
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
        let places = PartIndices {
            types: parts.place_types(types),
            first_import: imported,
            first_function: next_thunk,
            first_global: info.globals + parts.global_import_count(),
            first_imported_global: info.imported_globals,
            memory: if parts.in_memory_of_program { 0 } else { info.memories },
            id_base: first.0,
            functions: ids.count() as u32 + 1,
            start: info.start.map(|start| moved(info, shift, start)),
            sample: 0,
            ..PartIndices::default()
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
            waits: Vec::new(),
            body_types,
            pad_types,
            hints,
            most_steps: 0,
            counter: None,
            memory: None,
            inside: None,
        })
    }

    /// Adds the count of instructions, if that is the clock.
    pub(crate) fn counting(mut self, clock: Clock) -> Result<Context<'a>, Error> {
        if clock == Clock::Instructions {
            let global = self.parts.counter(&self.places)?;
            self.counter = Some(Counter { global });
        }
        Ok(self)
    }

    /// Puts probes around these instructions.
    pub(crate) fn waiting(mut self, waits: &BTreeSet<Wait>, types: &mut Types<'_>) -> Context<'a> {
        let thunks = self.places.first_function + self.parts.function_count()..;
        let ty = |wait: &Wait| types.function(&wait.params(self.info), &[ValType::I32]);
        self.waits = waits
            .iter()
            .zip(waits.iter().map(ty))
            .zip(thunks)
            .map(|((&wait, ty), thunk)| (wait, ty, thunk))
            .collect();
        self
    }

    /// Puts the recorder into the program's memory, if it is to be there.
    pub(crate) fn inside(mut self, symbols: &SymbolTable, path: &str) -> Result<Context<'a>, Error> {
        if self.parts.in_memory_of_program {
            let start = self.info.exported_func(COMMAND);
            self.places.command = start.map(|start| self.function(start));
            self.inside = Some(Inside::new(self.info, self.parts, &mut self.places, symbols, path)?);
        }
        Ok(self)
    }

    /// In the place of a call of an import, if the recorder needs to know of it.
    pub(crate) fn host_call(&self, function: u32) -> Option<Vec<Instruction<'static>>> {
        self.inside.as_ref()?.host_call(self.info, function)
    }

    /// Adds the recording of allocations, if the recorder has the functions for it.
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
                Err(_) => Outermost::Function(function(names::ALLOCATING)?),
            };
            let memory = Memory {
                outermost,
                allocated: function(names::ALLOCATED)?,
                grew: function(names::GREW)?,
                created: function(names::CREATED)?,
            };
            self.places.sample = allocators.described.sample;
            self.memory = Some((memory, allocators));
        }
        Ok(self)
    }

    /// The id that a function passes to `enter`, if it has a probe.
    pub(crate) fn probe(&self, index: FuncIndex) -> Option<FuncId> {
        self.probes.get(index.0 as usize).copied().flatten()
    }

    /// Whether a function without a probe must note its depth if it may catch. Shared functions call only shared
    /// functions, which have no probes.
    pub(crate) fn tracks_depth(&self, index: FuncIndex) -> bool {
        !self.code.only_counts() && !self.info.is_shared(index)
    }

    /// Whether something may have been caught before the next instruction: by this one, or in a host function.
    #[inline]
    pub(crate) fn may_catch(&self, operator: &Operator<'_>) -> bool {
        match *operator {
            // The thunk closes what the call leaves open.
            Operator::Call { function_index } if self.is_thunked(function_index) => false,
            _ => self.reach.may_catch(operator),
        }
    }

    /// Whether a function's probe only counts its calls.
    pub(crate) fn is_counted(&self, index: FuncIndex) -> bool {
        self.code.only_counts() || self.counted.contains(&index)
    }

    /// The function's new index. An out-of-range index stays out of range, so our additions never make an invalid
    /// module valid.
    pub(crate) fn function(&self, index: u32) -> u32 {
        moved(self.info, self.shift, index)
    }

    /// The global's new index. An out-of-range index stays out of range.
    pub(crate) fn global(&self, index: u32) -> u32 {
        match index {
            _ if index >= self.info.globals => u32::MAX,
            _ if index >= self.info.imported_globals => index + self.parts.global_import_count(),
            _ => index,
        }
    }

    /// The globals with new indices.
    pub(crate) fn moved_globals(&self) -> Globals {
        Globals { first: self.info.imported_globals, by: self.parts.global_import_count() }
    }

    /// Whether globals get new indices.
    pub(crate) fn moves_globals(&self) -> bool {
        self.parts.global_import_count() > 0
    }

    /// The new index for a call of a function: its thunk's, if it has one.
    pub(crate) fn callee(&self, index: u32) -> u32 {
        self.thunks.get(index as usize).copied().flatten().unwrap_or_else(|| self.function(index))
    }

    /// Whether calls of this function go through a thunk.
    pub(crate) fn is_thunked(&self, index: u32) -> bool {
        self.callee(index) != self.function(index)
    }

    /// The imports with thunks, and their ids.
    pub(crate) fn thunked(&self) -> impl Iterator<Item = (u32, FuncId)> {
        let imports = 0..self.info.imported_funcs.len() as u32;
        imports.filter_map(|import| Some((import, self.probe(FuncIndex(import))?)))
    }

    /// The instructions with which a thread waits, with the type and the index of the thunk of each. They follow all other functions.
    pub(crate) fn waits(&self) -> &[(Wait, u32, u32)] {
        &self.waits
    }

    /// The thunk in the place of an operator of a function, if the thread waits there.
    pub(crate) fn wait_thunk(&self, index: FuncIndex, operator: &Operator<'_>) -> Option<u32> {
        if self.waits.is_empty() || self.info.is_shared(index) {
            return None;
        }
        let wait = Wait::of(self.info, operator)?;
        let at = self.waits.binary_search_by_key(&wait, |&(wait, ..)| wait).ok()?;
        self.waits.get(at).map(|&(.., thunk)| thunk)
    }

    /// The type of the block around a body.
    pub(crate) fn body_type(&self, index: FuncIndex, signature: &FuncType) -> Result<BlockType, Error> {
        let type_index = self.info.defined_types.get(index.0 as usize - self.info.imported_funcs.len());
        match type_index.and_then(|index| self.body_types.get(index)) {
            Some(&block) => Ok(block),
            None => single_or_empty(signature.results()),
        }
    }

    /// Number of values that a clause of a `try_table` passes to its label.
    pub(crate) fn caught_values(&self, clause: &Catch, offset: u64) -> Result<usize, Error> {
        Ok(match *clause {
            Catch::One { tag, .. } => self.tag_values(tag, offset)?.len(),
            Catch::OneRef { tag, .. } => self.tag_values(tag, offset)?.len() + 1,
            Catch::All { .. } => 0,
            Catch::AllRef { .. } => 1,
        })
    }

    fn tag_type(&self, tag: u32, offset: u64) -> Result<u32, Error> {
        let no_tag = || Error::malformed(offset, "a clause with an unknown tag");
        self.info.tags.get(tag as usize).copied().ok_or_else(no_tag)
    }

    fn tag_values(&self, tag: u32, offset: u64) -> Result<&[ValType], Error> {
        let no_function = || Error::malformed(offset, "the type of a tag is not a function type");
        let signature = self.info.signature(self.tag_type(tag, offset)?).ok_or_else(no_function)?;
        Ok(signature.params())
    }

    /// The type of the pad for a clause of a `try_table`; `None` if its type wasn't added.
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

/// A function's index after `shift` imports are added.
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
