//! Names of a guest's functions, for errors.

use super::guest::Guest;
use kperf_abi::SymbolTable;
use kperf_abi::names::is_of_probes;
use kperf_rewriter::{Options, Plan, PlannedFunc};
use std::collections::HashMap;
use std::sync::Arc;
use wasmtime::Module;

/// The functions' demangled names.
#[derive(Default)]
pub struct Names {
    /// The symbol table of a module with probes.
    symbols: SymbolTable,
    /// The names of a module without probes, by function index.
    by_index: HashMap<u32, String>,
    /// Demangled names by the names in the module, for functions without a probe.
    demangled: HashMap<Arc<str>, Arc<str>>,
}

impl Names {
    /// The names of a guest's functions.
    pub fn of(guest: &Guest) -> Names {
        match &guest.symbols[..] {
            tables if guest.is_component() => Names::of_component(tables),
            [table, ..] => Names::of_symbols(table),
            // The plan is made only for its names.
            [] => match kperf_rewriter::plan(&guest.wasm, &Options::default()) {
                Ok(plan) => Names::of_plan(&plan),
                Err(_) => Names::default(),
            },
        }
    }

    /// The symbol tables of a guest's functions. Those of a guest without probes are made for it; where that fails, there are none.
    pub fn tables(guest: &Guest) -> Vec<SymbolTable> {
        let options = Options::default();
        if !guest.symbols.is_empty() {
            guest.symbols.clone()
        } else if guest.is_component() {
            let rewritten = kperf_rewriter::rewrite_component(&guest.wasm, &options);
            rewritten.iter().flat_map(|rewritten| rewritten.symbols().cloned()).collect()
        } else {
            kperf_rewriter::rewrite(&guest.wasm, &options)
                .into_iter()
                .map(|rewritten| rewritten.symbols)
                .collect()
        }
    }

    fn of_symbols(table: &SymbolTable) -> Names {
        let demangled =
            table.symbols.iter().filter_map(|symbol| Some((symbol.name.clone(), symbol.demangled.clone()?)));
        Names { demangled: demangled.collect(), symbols: table.clone(), ..Names::default() }
    }

    /// Names of a component's functions. An error has only a function's name, not its module.
    fn of_component(tables: &[SymbolTable]) -> Names {
        let demangled = tables.iter().flat_map(|table| Names::of_symbols(table).demangled).collect();
        Names { demangled, ..Names::default() }
    }

    fn of_plan(plan: &Plan) -> Names {
        let name = |function: &PlannedFunc| (function.index.0, function.display_name().to_owned());
        Names { by_index: plan.functions.iter().map(name).collect(), ..Names::default() }
    }

    /// The name of a function, by its index and name in the module that runs.
    pub fn name(&self, module: &Module, index: u32, name: Option<&str>) -> String {
        let funcs = |import: &wasmtime::ImportType<'_>| matches!(import.ty(), wasmtime::ExternType::Func(_));
        let imported = module.imports().filter(funcs).count() as u32;
        let probes = |import: &wasmtime::ImportType<'_>| is_of_probes(import.module(), import.name());
        let added = module.imports().filter(funcs).filter(probes).count() as u32;
        let probed = self.symbols.placed(imported, added).find(|(placed, _)| *placed == index);
        let known = probed.map(|(_, symbol)| symbol.display_name());
        match (known.or_else(|| self.by_index.get(&index).map(String::as_str)), name) {
            (Some(known), _) => known.to_owned(),
            (None, Some(name)) => self.demangled.get(name).map_or(name, |name| name).to_owned(),
            (None, None) => format!("func[{}]", index.saturating_sub(added)),
        }
    }
}
