//! Makes what runs of what the user gave.

use anyhow::bail;
use kperf_abi::SymbolTable;
use kperf_abi::names::{HOST_MODULE, MODULE};
use kperf_rewriter::{Leaf, Options, Plan, PlannedFunc, Warning};
use std::collections::HashMap;
use wasmparser::{Parser, Payload, Validator, WasmFeatures};
use wasmtime::Module;

/// A module that is ready to run.
pub struct Prepared {
    /// The module as it runs.
    pub wasm: Vec<u8>,
    /// Its functions, if it has probes.
    pub symbols: Option<SymbolTable>,
    /// What was lost on the way.
    pub warnings: Vec<Warning>,
    /// Whether the module runs something when it is instantiated.
    pub has_start: bool,
}

impl Prepared {
    /// The module as it is.
    pub fn plain(wasm: Vec<u8>) -> anyhow::Result<Prepared> {
        if matches!(kperf_rewriter::probed(&wasm), Ok(Some(_))) {
            bail!("it has probes, which nobody answers with --plain; run the original");
        }
        let has_start = has_start(&wasm);
        Ok(Prepared { wasm, symbols: None, warnings: Vec::new(), has_start })
    }

    /// The module with probes: those that it has, or new ones.
    pub fn probed(wasm: &[u8], options: &Options) -> anyhow::Result<Prepared> {
        let has_start = has_start(wasm);
        let Some(symbols) = kperf_rewriter::probed(wasm)? else {
            // Here rather than by the engine, which would speak of places in the rewritten module.
            Validator::new_with_features(WasmFeatures::all()).validate_all(wasm)?;
            let rewritten = kperf_rewriter::rewrite(wasm, options)?;
            return Ok(Prepared {
                wasm: rewritten.wasm,
                symbols: Some(rewritten.symbols),
                warnings: rewritten.warnings,
                has_start,
            });
        };
        if options.leaf == Leaf::Count && !symbols.symbols.iter().any(|symbol| symbol.counted) {
            bail!(
                "it has probes already, which time all functions; run the original, or leave --leaf count out"
            );
        }
        if chooses(options) {
            bail!(
                "it has probes already, so that functions can't be chosen any more; run the original, or leave the filters out"
            );
        }
        Ok(Prepared { wasm: wasm.to_vec(), symbols: Some(symbols), warnings: Vec::new(), has_start })
    }

    /// The functions' names for people.
    pub fn names(&self) -> Names {
        match &self.symbols {
            Some(table) => Names::of_symbols(table),
            // Only for the names: nothing is rewritten.
            None => match kperf_rewriter::plan(&self.wasm, &Options::default()) {
                Ok(plan) => Names::of_plan(&plan),
                Err(_) => Names::default(),
            },
        }
    }
}

fn has_start(wasm: &[u8]) -> bool {
    Parser::new(0).parse_all(wasm).any(|payload| matches!(payload, Ok(Payload::StartSection { .. })))
}

/// Whether the user said which functions, or what they are called.
pub fn chooses(options: &Options) -> bool {
    let named = options.names.is_some();
    named || !options.filter.is_empty() || options.exports_only || options.min_instructions > 0
}

/// What functions are called, for people.
#[derive(Default)]
pub struct Names {
    /// Of a module with probes.
    symbols: SymbolTable,
    /// Of one without, by the index.
    by_index: HashMap<u32, String>,
    /// By the name in the module, for functions without a probe.
    demangled: HashMap<Box<str>, Box<str>>,
}

impl Names {
    fn of_symbols(table: &SymbolTable) -> Names {
        let demangled =
            table.symbols.iter().filter_map(|symbol| Some((symbol.name.clone(), symbol.demangled.clone()?)));
        Names { demangled: demangled.collect(), symbols: table.clone(), ..Names::default() }
    }

    fn of_plan(plan: &Plan) -> Names {
        let name = |function: &PlannedFunc| (function.index.0, function.display_name().to_owned());
        Names { by_index: plan.functions.iter().map(name).collect(), ..Names::default() }
    }

    /// The name of a function, by its index and name in the module that runs.
    pub fn of(&self, module: &Module, index: u32, name: Option<&str>) -> String {
        let funcs = |import: &wasmtime::ImportType<'_>| matches!(import.ty(), wasmtime::ExternType::Func(_));
        let imported = module.imports().filter(funcs).count() as u32;
        let probes = |import: &wasmtime::ImportType<'_>| [MODULE, HOST_MODULE].contains(&import.module());
        let added = module.imports().filter(probes).count() as u32;
        let probed = self.symbols.placed(imported, added).find(|(placed, _)| *placed == index);
        let known = probed.map(|(_, symbol)| symbol.display_name());
        match (known.or_else(|| self.by_index.get(&index).map(String::as_str)), name) {
            (Some(known), _) => known.to_owned(),
            (None, Some(name)) => self.demangled.get(name).map_or(name, |name| name).to_owned(),
            (None, None) => format!("func[{}]", index.saturating_sub(added)),
        }
    }
}
