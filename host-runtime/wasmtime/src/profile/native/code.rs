//! Where the functions of a module are in this process.

use crate::functions::by_index;
use kperf_abi::{Codes, FuncId, FunctionCode, SymbolTable};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;
use wasmtime::Module;

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
    by_index(module, symbols).map(|(index, symbol)| (index, symbol.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recorder;
    use kperf_rewriter::{Filter, Options, Pattern, Recording, rewrite};
    use std::collections::BTreeSet;
    use wasmtime::{Config, Engine};

    /// A mangled name, one that would end its line, and none at all.
    const GUEST: &str = r#"(module (import "host" "h" (func $h))
        (func $_ZN4life4stepEv (call $h)) (func $"a\0a7f 10 b c" (call 1)) (func (export "f") (call 2)))"#;

    #[test]
    fn other_profilers_find_the_names_of_all_code_that_is_sampled() {
        let mut config = Config::new();
        Recorder::configure(&mut config);
        let engine = Engine::new(&config).expect("an engine");
        let wasm = wat::parse_str(GUEST).expect("the text parses");
        // Another module would get their addresses.
        let mut alive = Vec::new();
        let only = Filter { only: vec![Pattern::parse("life::*").expect("a pattern")], ..Filter::default() };
        for (recording, filter) in [
            (Recording::Count, Filter::default()),
            (Recording::OwnCount, Filter::default()),
            (Recording::Sample, Filter::default()),
            (Recording::imported(), only),
        ] {
            let options = Options { recording, filter, imports: true, ..Options::default() };
            let rewritten = rewrite(&wasm, &options).expect("probes");
            let module = Module::new(&engine, &rewritten.wasm).expect("it compiles");
            alive.push(module.clone());
            Recorder::perf_map(&module, Some(&rewritten.symbols.to_bytes())).expect("a file");
            let code = Code::new(&module, &rewritten.symbols).expect("code");
            let file = std::fs::read_to_string(format!("/tmp/perf-{}.map", std::process::id()));
            let file = file.expect("whole text");
            let mut found = BTreeSet::new();
            for line in file.lines() {
                let [begin, length, name] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else {
                    panic!("{line:?}")
                };
                let [begin, length] =
                    [begin, length].map(|number| usize::from_str_radix(number, 16).expect("hexadecimal"));
                // Other tests may add modules of their own.
                let [Some(first), last] = [begin, begin + length - 1].map(|address| code.at(address)) else {
                    continue;
                };
                assert_eq!((Some(first), first.begin), (last, begin), "{line:?}");
                let symbol = |id: FuncId| &rewritten.symbols.symbols[(id.0 - code.id_base()) as usize];
                if let Some(id) = first.id {
                    assert_eq!(symbol(id).display_name().replace('\n', "?"), name, "{line:?}");
                    found.insert(id);
                }
            }
            assert_eq!(found.len(), rewritten.symbols.symbols.len(), "{recording:?}: {file}");
        }
    }
}
