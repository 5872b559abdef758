//! Types that are added to a module, after the module's own recursive groups.

use crate::error::Error;
use crate::module::info::ModuleInfo;
use std::collections::HashMap;
use wasm_encoder::Encode;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasmparser::{FuncType, ValType};

/// Types by signature: the module's plain ones and the added ones.
pub(crate) struct Types<'a> {
    own: HashMap<&'a FuncType, u32>,
    added: Vec<FuncType>,
    /// Index of each added type among the added ones.
    places: HashMap<FuncType, u32>,
    /// Index of the first added type.
    first: u32,
}

impl<'a> Types<'a> {
    pub(crate) fn new(info: &'a ModuleInfo<'_>) -> Types<'a> {
        let mut own = HashMap::new();
        for (index, ty) in info.types.iter().enumerate().filter(|(_, ty)| ty.plain) {
            if let Some(signature) = &ty.signature {
                own.entry(signature).or_insert(index as u32);
            }
        }
        Types { own, added: Vec::new(), places: HashMap::new(), first: info.types.len() as u32 }
    }

    /// The index of a plain function type, which is added if the module has none.
    pub(crate) fn function(&mut self, params: &[ValType], results: &[ValType]) -> u32 {
        let signature = FuncType::new(params.iter().copied(), results.iter().copied());
        if let Some(&index) = self.own.get(&signature) {
            return index;
        }
        let added = &mut self.added;
        let place = *self.places.entry(signature).or_insert_with_key(|signature| {
            added.push(signature.clone());
            added.len() as u32 - 1
        });
        self.first + place
    }

    /// A block type without parameters.
    pub(crate) fn block(&mut self, results: &[ValType]) -> Result<wasm_encoder::BlockType, Error> {
        Ok(match results {
            [] => wasm_encoder::BlockType::Empty,
            [result] => wasm_encoder::BlockType::Result(RoundtripReencoder.val_type(*result)?),
            _ => wasm_encoder::BlockType::FunctionType(self.function(&[], results)),
        })
    }

    /// Number of added types.
    pub(crate) fn added(&self) -> u32 {
        self.added.len() as u32
    }

    /// Encodes the added types for a type section.
    pub(crate) fn encode_added(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        for signature in &self.added {
            out.push(0x60);
            for types in [signature.params(), signature.results()] {
                (types.len() as u32).encode(out);
                for &ty in types {
                    RoundtripReencoder.val_type(ty)?.encode(out);
                }
            }
        }
        Ok(())
    }
}
