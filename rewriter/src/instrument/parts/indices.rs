//! Indices of the added parts in the rewritten module.

use std::convert::Infallible;
use wasm_encoder::reencode::{self, Reencode};

/// Indices of the parts in the rewritten module.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartIndices {
    /// Index of each type.
    pub(crate) types: Vec<u32>,
    /// Function index of the first import.
    pub(crate) first_import: u32,
    /// Index of the first added function.
    pub(crate) first_function: u32,
    pub(crate) first_global: u32,
    /// Index of the first imported global, after the module's own imported globals.
    pub(crate) first_imported_global: u32,
    pub(crate) memory: u32,
    /// The first probed function, and the number of probed functions.
    pub(crate) id_base: u32,
    pub(crate) functions: u32,
    /// The module's own start function.
    pub(crate) start: Option<u32>,
    /// The mean number of allocated bytes per sample; 0 records all allocations.
    pub(crate) sample: u64,
    /// The address and the number of the recorder's pages in the program's memory.
    pub(crate) base: u32,
    pub(crate) pages: u32,
    /// The program's `_start`.
    pub(crate) command: Option<u32>,
}

impl PartIndices {
    pub(super) fn ty(&self, index: u32) -> u32 {
        self.types.get(index as usize).copied().unwrap_or(u32::MAX)
    }

    pub(super) fn function(&self, index: u32, imports: u32) -> u32 {
        match index.checked_sub(imports) {
            None => self.first_import + index,
            Some(own) => self.first_function + own,
        }
    }
}

/// Moves the recorder's indices.
pub(super) struct Mover<'a> {
    pub(super) places: &'a PartIndices,
    pub(super) imports: u32,
}

impl Reencode for Mover<'_> {
    type Error = Infallible;

    fn type_index(&mut self, index: u32) -> Result<u32, reencode::Error> {
        Ok(self.places.ty(index))
    }

    fn function_index(&mut self, index: u32) -> Result<u32, reencode::Error> {
        Ok(self.places.function(index, self.imports))
    }

    fn global_index(&mut self, index: u32) -> Result<u32, reencode::Error> {
        Ok(self.places.first_global + index)
    }

    fn memory_index(&mut self, _index: u32) -> Result<u32, reencode::Error> {
        Ok(self.places.memory)
    }
}
