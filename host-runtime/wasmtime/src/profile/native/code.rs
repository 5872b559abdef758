//! Where the functions of a module are in this process.

use kperf_abi::{Codes, FuncId, FunctionCode, SymbolTable, names};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;
use wasmtime::{ExternType, Module};

/// The machine code of a module.
pub(crate) struct Code {
    /// All of it, with the gaps between the functions.
    text: Range<usize>,
    /// In the order of their addresses.
    functions: Vec<Function>,
    id_base: u32,
    /// The moves of the module's code, by the functions' ids.
    codes: Codes,
    /// How far the exported function that tells where an instance is lies from the instance's beginning, in bytes.
    distance: OnceLock<usize>,
    /// Keeps the code where it is.
    module: Module,
}

struct Function {
    begin: usize,
    end: usize,
    /// `None` for one that isn't counted.
    id: Option<FuncId>,
}

/// Where an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FunctionAt {
    /// The function's first address.
    pub(crate) begin: usize,
    pub(crate) id: Option<FuncId>,
}

impl Code {
    /// `None` where code can't be sampled; here it can.
    pub(crate) fn new(module: &Module, symbols: &SymbolTable) -> Option<Code> {
        let text = module.text().as_ptr_range();
        let text = text.start as usize..text.end as usize;
        let ids = ids_by_index(module, symbols);
        let mut functions: Vec<Function> = module
            .functions()
            .map(|function| {
                let begin = text.start + function.offset;
                Function { begin, end: begin + function.len, id: ids.get(&function.index.as_u32()).copied() }
            })
            .collect();
        functions.sort_unstable_by_key(|function| function.begin);
        let codes = symbols.codes.clone();
        Some(Code {
            text,
            functions,
            id_base: symbols.id_base,
            codes,
            distance: OnceLock::new(),
            module: module.clone(),
        })
    }

    /// Whether it is the same code, with the same ids.
    pub(crate) fn is(&self, other: &Code) -> bool {
        self.text == other.text && self.id_base == other.id_base
    }

    pub(crate) fn id_base(&self) -> u32 {
        self.id_base
    }

    /// Where the compiled code begins.
    pub(super) fn start(&self) -> usize {
        self.text.start
    }

    pub(super) fn module(&self) -> &Module {
        &self.module
    }

    /// What is known of the code of a function.
    pub(super) fn code(&self, id: FuncId) -> FunctionCode {
        id.0.checked_sub(self.id_base).map_or_else(FunctionCode::default, |n| self.codes.get(n as usize))
    }

    /// Whether an instance's function is this far from its beginning, in bytes: as the first instance's.
    pub(crate) fn has_functions_at(&self, distance: usize) -> bool {
        *self.distance.get_or_init(|| distance) == distance
    }

    /// The function at an address. Takes no lock and no memory.
    pub(crate) fn at(&self, address: usize) -> Option<FunctionAt> {
        if !self.text.contains(&address) {
            return None;
        }
        let behind = self.functions.partition_point(|function| function.begin <= address);
        let function = self.functions.get(behind.checked_sub(1)?)?;
        (address < function.end).then_some(FunctionAt { begin: function.begin, id: function.id })
    }
}

/// The ids of a rewritten module's functions, by their index there.
fn ids_by_index(module: &Module, symbols: &SymbolTable) -> HashMap<u32, FuncId> {
    let functions = module.imports().filter(|import| matches!(import.ty(), ExternType::Func(_)));
    let is_ours = |import: &wasmtime::ImportType<'_>| names::is_of_probes(import.module(), import.name());
    let (added, original): (Vec<_>, Vec<_>) = functions.partition(is_ours);
    let imported = (added.len() + original.len()) as u32;
    symbols.placed(imported, added.len() as u32).map(|(index, symbol)| (index, symbol.id)).collect()
}
