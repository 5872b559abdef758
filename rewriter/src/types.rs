//! The types that a rewritten module needs beside its own. They go behind the module's recursive groups, which stay as
//! they are.

use crate::Error;
use crate::parse::{ModuleInfo, Signature};
use std::collections::HashMap;
use wasm_encoder::Encode;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasmparser::ValType;

/// Types by signature: the module's plain ones and those that are added.
pub(crate) struct Types {
    known: HashMap<Signature, u32>,
    added: Vec<Signature>,
    next: u32,
}

impl Types {
    pub(crate) fn new(info: &ModuleInfo<'_>) -> Types {
        let mut known = HashMap::new();
        for (index, ty) in info.types.iter().enumerate().filter(|(_, ty)| ty.plain) {
            if let Some(signature) = &ty.signature {
                known.entry(signature.clone()).or_insert(index as u32);
            }
        }
        Types { known, added: Vec::new(), next: info.types.len() as u32 }
    }

    /// The index of a plain function type, which is added where the module has none.
    pub(crate) fn function(&mut self, params: &[ValType], results: &[ValType]) -> u32 {
        let signature = Signature { params: params.to_vec(), results: results.to_vec() };
        if let Some(&index) = self.known.get(&signature) {
            return index;
        }
        let index = self.next;
        self.next += 1;
        self.known.insert(signature.clone(), index);
        self.added.push(signature);
        index
    }

    /// The type of a block without parameters.
    pub(crate) fn block(&mut self, results: &[ValType]) -> Result<wasm_encoder::BlockType, Error> {
        Ok(match results {
            [] => wasm_encoder::BlockType::Empty,
            [result] => wasm_encoder::BlockType::Result(RoundtripReencoder.val_type(*result)?),
            _ => wasm_encoder::BlockType::FunctionType(self.function(&[], results)),
        })
    }

    /// How many types are added.
    pub(crate) fn added(&self) -> u32 {
        self.added.len() as u32
    }

    /// The added types as they stand in a type section.
    pub(crate) fn encode_added(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        for signature in &self.added {
            out.push(0x60);
            for types in [&signature.params, &signature.results] {
                (types.len() as u32).encode(out);
                for &ty in types {
                    RoundtripReencoder.val_type(ty)?.encode(out);
                }
            }
        }
        Ok(())
    }
}
