//! The facts about a module that later passes need.

use crate::error::Error;
use crate::module::boundary::{Boundary, Carried};
use crate::module::functions::FunctionSet;
use crate::module::operators::{self, Named};
use kperf_abi::FuncIndex;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use wasmparser::{
    AbstractHeapType, BinaryReader, BlockType, FuncType, FunctionBody, HeapType, Operator, RefType, ValType,
};

/// A section of the input: its id and the range of its content.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) id: u8,
    pub(crate) content: Range<usize>,
    /// The name of a custom section.
    pub(crate) custom_name: Option<String>,
}

/// One type of the type section.
#[derive(Debug)]
pub(crate) struct TypeInfo {
    /// `None` for a type that isn't a function type.
    pub(crate) signature: Option<FuncType>,
    /// Whether it is a plain type: alone in its group, final, without supertypes, not shared.
    pub(crate) plain: bool,
    /// Whether it is shared between threads, so that it may only name shared types.
    pub(crate) shared: bool,
    /// Whether it is a continuation type.
    pub(crate) is_continuation: bool,
    /// Bytes that a struct takes, or an element of an array.
    pub(crate) object_size: Option<u64>,
}

/// An imported function.
#[derive(Debug)]
pub(crate) struct ImportedFunc<'a> {
    pub(crate) module: &'a str,
    pub(crate) name: &'a str,
    pub(crate) type_index: u32,
}

/// The range of a body in the module; nothing more is kept of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyPlace {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// The two ways to catch an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proposal {
    /// `try` with `catch` and `catch_all`.
    LegacyExceptions,
    /// `try_table`.
    ExceptionReferences,
}

/// The facts about a module that later passes need. In each index space imports come first.
#[derive(Debug, Default)]
pub(crate) struct ModuleInfo<'a> {
    pub(crate) wasm: &'a [u8],
    pub(crate) sections: Vec<Section>,
    pub(crate) types: Vec<TypeInfo>,
    /// Whether some struct or array may hold functions.
    pub(crate) objects_hold_functions: bool,
    /// Number of imports of all kinds.
    pub(crate) imports: usize,
    /// Imports from the modules that are reserved for probes.
    pub(crate) imports_like_ours: Vec<(&'a str, &'a str)>,
    pub(crate) imported_funcs: Vec<ImportedFunc<'a>>,
    /// Type index of each defined function.
    pub(crate) defined_types: Vec<u32>,
    pub(crate) bodies: Vec<BodyPlace>,
    /// For each table, what its elements may carry.
    pub(crate) tables: Vec<Carried>,
    /// Number of memories.
    pub(crate) memories: u32,
    pub(crate) memory_types: Vec<wasmparser::MemoryType>,
    /// Whether the first memory is imported or exported.
    pub(crate) is_first_memory_linked: bool,
    /// Memories with 64-bit addresses.
    pub(crate) wide_memories: HashSet<u32>,
    /// Tables with 64-bit indices.
    pub(crate) wide_tables: HashSet<u32>,
    /// Number of globals.
    pub(crate) globals: u32,
    /// Number of imported globals.
    pub(crate) imported_globals: u32,
    /// For globals that may hold functions: what they carry, and whether they are mutable.
    pub(crate) carrying_globals: HashMap<u32, (Carried, bool)>,
    /// Type index of each tag.
    pub(crate) tags: Vec<u32>,
    /// Number of exports.
    pub(crate) exports: usize,
    /// Exports with the prefix of a recorder inside the module.
    pub(crate) exports_like_ours: Vec<&'a str>,
    /// The start function.
    pub(crate) start: Option<u32>,
    /// First export name of each exported function.
    pub(crate) exported_funcs: HashMap<u32, &'a str>,
    /// Functions in segments and in initial values of tables and globals. Bodies can refer only to these and to
    /// exported functions.
    pub(crate) referenced: FunctionSet,
    pub(crate) boundary: Boundary,
}

impl<'a> ModuleInfo<'a> {
    /// The parameters of a block, if its type exists.
    pub(crate) fn block_params(&self, ty: BlockType) -> &[ValType] {
        match ty {
            BlockType::FuncType(index) => self.signature(index).map_or(&[], FuncType::params),
            BlockType::Empty | BlockType::Type(_) => &[],
        }
    }

    /// Number of a block's results.
    pub(crate) fn block_results(&self, ty: BlockType) -> usize {
        match ty {
            BlockType::FuncType(index) => {
                self.signature(index).map_or(0, |signature| signature.results().len())
            }
            BlockType::Empty => 0,
            BlockType::Type(_) => 1,
        }
    }

    /// The function type with this index.
    pub(crate) fn signature(&self, type_index: u32) -> Option<&FuncType> {
        self.types.get(type_index as usize)?.signature.as_ref()
    }

    /// The type of a function.
    pub(crate) fn func_type(&self, index: FuncIndex) -> Option<&FuncType> {
        self.signature(self.type_index(index)?)
    }

    /// Whether a function is shared between threads.
    pub(crate) fn is_shared(&self, index: FuncIndex) -> bool {
        let ty = self.type_index(index).and_then(|index| self.types.get(index as usize));
        ty.is_some_and(|ty| ty.shared)
    }

    fn type_index(&self, index: FuncIndex) -> Option<u32> {
        let at = index.0 as usize;
        match self.imported_funcs.get(at) {
            Some(import) => Some(import.type_index),
            None => self.defined_types.get(at - self.imported_funcs.len()).copied(),
        }
    }

    /// How the module catches exceptions, by the first body that does. Modules without tags catch none.
    pub(crate) fn first_catch(&self) -> Result<Option<Proposal>, Error> {
        if self.tags.is_empty() {
            return Ok(None);
        }
        for &place in &self.bodies {
            for operator in self.body(place).get_operators_reader()? {
                match operator? {
                    Operator::Try { .. } => return Ok(Some(Proposal::LegacyExceptions)),
                    Operator::TryTable { .. } => return Ok(Some(Proposal::ExceptionReferences)),
                    _ => {}
                }
            }
        }
        Ok(None)
    }

    /// A body of the module.
    pub(crate) fn body(&self, place: BodyPlace) -> FunctionBody<'a> {
        let bytes = self.wasm.get(place.start as usize..place.end as usize).unwrap_or_default();
        FunctionBody::new(BinaryReader::new(bytes, place.start.into()))
    }

    /// Index of the n-th defined function.
    pub(crate) fn defined(&self, n: usize) -> FuncIndex {
        FuncIndex((self.imported_funcs.len() + n) as u32)
    }

    /// The range of the code section's content, if there is one.
    pub(crate) fn code(&self) -> Option<Range<usize>> {
        const CODE: u8 = 10;
        Some(self.sections.iter().find(|section| section.id == CODE)?.content.clone())
    }

    /// The content of the custom section with this name, if there is one.
    pub(crate) fn custom_section(&self, name: &str) -> Option<(&'a [u8], usize)> {
        let section = self.sections.iter().find(|section| section.custom_name.as_deref() == Some(name))?;
        // The content begins with the name: its length, then its bytes. The parser has checked both.
        let content = &self.wasm[section.content.clone()];
        let reader =
            wasmparser::CustomSectionReader::new(BinaryReader::new(content, section.content.start as u64))
                .ok()?;
        Some((reader.data(), reader.data_offset() as usize))
    }

    /// Fails if a type doesn't exist. The pass adds types after the module's own, which must not make an invalid
    /// module valid.
    pub(crate) fn check_type(&self, named: Option<u32>, offset: u64) -> Result<(), Error> {
        match named {
            Some(index) if index as usize >= self.types.len() => {
                Err(Error::malformed(offset, format!("unknown type {index}")))
            }
            _ => Ok(()),
        }
    }

    /// Fails if an instruction names a type that doesn't exist.
    pub(crate) fn check_types_of(&self, operator: &Operator<'_>, offset: u64) -> Result<(), Error> {
        operators::each_named(operator, |named| match named {
            Named::Type(index) => self.check_type(Some(index), offset),
            _ => Ok(()),
        })
    }

    /// The function that is exported under this name.
    pub(crate) fn exported_func(&self, name: &str) -> Option<u32> {
        let section = self.sections.iter().find(|section| section.id == 7)?;
        let reader = BinaryReader::new(&self.wasm[section.content.clone()], section.content.start as u64);
        let mut exports = wasmparser::ExportSectionReader::new(reader).ok()?.into_iter().flatten();
        let is_it = |export: &wasmparser::Export<'_>| {
            export.name == name && export.kind == wasmparser::ExternalKind::Func
        };
        exports.find(is_it).map(|export| export.index)
    }

    /// Whether a function with this index exists.
    pub(crate) fn is_there(&self, function: u32) -> bool {
        (function as usize) < self.imported_funcs.len() + self.defined_types.len()
    }

    /// Whether references of this type may be functions, or continuations, which run functions.
    pub(crate) fn is_function(&self, reference: RefType) -> bool {
        match reference.heap_type() {
            HeapType::Abstract { ty, .. } => matches!(ty, AbstractHeapType::Func | AbstractHeapType::Cont),
            HeapType::Concrete(index) | HeapType::Exact(index) => index
                .as_module_index()
                .and_then(|index| self.types.get(index as usize))
                .is_some_and(|ty| ty.signature.is_some() || ty.is_continuation),
        }
    }
}
