//! Turns the user's module, or component, into the one that runs.

use anyhow::bail;
use kperf_abi::SymbolTable;
use kperf_abi::names::{INSTRUCTIONS, MODULE, STATE_INSTRUCTIONS, exported, is_of_probes};
use kperf_rewriter::{Leaf, Options, Plan, PlannedFunc, Records, Warning};
use std::collections::HashMap;
use std::sync::Arc;
use wasmparser::{Parser, Payload, Validator, WasmFeatures};
use wasmtime::Module;

/// A module that is ready to run.
pub struct Prepared {
    /// The bytes of the module that runs.
    pub wasm: Vec<u8>,
    /// The symbol tables of its modules with probes. A module alone has one at most.
    pub symbols: Vec<SymbolTable>,
    pub is_component: bool,
    /// What the rewriter warned of.
    pub warnings: Vec<Warning>,
    /// Whether the user's module has a start section.
    pub has_start: bool,
}

impl Prepared {
    /// The module without a change.
    pub fn plain(wasm: Vec<u8>) -> anyhow::Result<Prepared> {
        if matches!(kperf_rewriter::probed(&wasm), Ok(Some(_))) {
            bail!("it has probes, which need a recorder, and --plain has none; run the original");
        }
        let (has_start, is_component) = (has_start(&wasm), kperf_rewriter::is_component(&wasm));
        Ok(Prepared { wasm, symbols: Vec::new(), is_component, warnings: Vec::new(), has_start })
    }

    /// The module with probes: the ones that it has, or new ones.
    pub fn probed(wasm: &[u8], options: &Options) -> anyhow::Result<Prepared> {
        let has_start = has_start(wasm);
        let Some(symbols) = kperf_rewriter::probed(wasm)? else {
            // The engine would give offsets in the rewritten module.
            Validator::new_with_features(WasmFeatures::all()).validate_all(wasm)?;
            let rewritten = kperf_rewriter::rewrite(wasm, options)?;
            return Ok(Prepared {
                wasm: rewritten.wasm,
                symbols: vec![rewritten.symbols],
                is_component: false,
                warnings: rewritten.warnings,
                has_start,
            });
        };
        if options.leaf == Leaf::Count && !symbols.symbols.iter().any(|symbol| symbol.counted) {
            bail!(
                "it has probes already, which time all functions; run the original, or leave --leaf count out"
            );
        }
        if options.allocations.is_some() && symbols.module.allocations.is_none() {
            bail!(
                "it has probes already, which record no allocations; run the original, or leave --allocations out"
            );
        }
        if chooses(options) {
            bail!(
                "it has probes already, so functions can't be chosen any more; run the original, or leave the filters out"
            );
        }
        let symbols = vec![symbols];
        Ok(Prepared { wasm: wasm.to_vec(), symbols, is_component: false, warnings: Vec::new(), has_start })
    }

    /// The same for a component.
    pub fn probed_component(wasm: &[u8], options: &Options) -> anyhow::Result<Prepared> {
        let known = kperf_rewriter::probed_component(wasm)?;
        let (wasm, symbols, warnings) = if known.is_empty() {
            let rewritten = kperf_rewriter::rewrite_component(wasm, options)?;
            let symbols = rewritten.symbols().cloned().collect();
            (rewritten.wasm, symbols, rewritten.warnings)
        } else if chooses(options) {
            bail!(
                "it has probes already, so functions can't be chosen any more; run the original, or leave the filters out"
            );
        } else {
            (wasm.to_vec(), known, Vec::new())
        };
        Ok(Prepared { wasm, symbols, is_component: true, warnings, has_start: false })
    }

    /// What is needed for the names of a component's functions.
    pub fn for_names(&self) -> Prepared {
        let Self { is_component, has_start, .. } = *self;
        let symbols = self.symbols.clone();
        Prepared { wasm: Vec::new(), symbols, is_component, warnings: Vec::new(), has_start }
    }

    /// The functions' demangled names.
    pub fn names(&self) -> Names {
        match &self.symbols[..] {
            tables if self.is_component => Names::of_component(tables),
            [table, ..] => Names::of_symbols(table),
            // The plan is made only for its names.
            [] => match kperf_rewriter::plan(&self.wasm, &Options::default()) {
                Ok(plan) => Names::of_plan(&plan),
                Err(_) => Names::default(),
            },
        }
    }
}

/// The clock that a module with probes wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    Host,
    /// It counts its instructions.
    Instructions,
}

/// The clock of the probes of a module or a component; `None` if it has none.
pub fn clock_of_probes(wasm: &[u8]) -> Option<Clock> {
    if kperf_rewriter::is_component(wasm) {
        return kperf_rewriter::component_records(wasm).map(|records| match records {
            Records::Instructions => Clock::Instructions,
            Records::Trace | Records::Profile => Clock::Host,
        });
    }
    if !matches!(kperf_rewriter::probed(wasm), Ok(Some(_))) {
        return None;
    }
    let count = exported(STATE_INSTRUCTIONS);
    let counts = Parser::new(0).parse_all(wasm).any(|payload| match payload {
        Ok(Payload::ExportSection(exports)) => {
            exports.into_iter().any(|export| export.is_ok_and(|export| export.name == count))
        }
        _ => false,
    });
    Some(if counts { Clock::Instructions } else { Clock::Host })
}

/// Whether a module counts its instructions in a global of a recorder beside it.
pub fn counts_beside(wasm: &[u8]) -> bool {
    if kperf_rewriter::is_component(wasm) {
        return false;
    }
    Parser::new(0).parse_all(wasm).any(|payload| match payload {
        Ok(Payload::ImportSection(imports)) => imports
            .into_imports()
            .any(|import| import.is_ok_and(|import| (import.module, import.name) == (MODULE, INSTRUCTIONS))),
        _ => false,
    })
}

fn has_start(wasm: &[u8]) -> bool {
    Parser::new(0).parse_all(wasm).any(|payload| matches!(payload, Ok(Payload::StartSection { .. })))
}

/// Whether the user chose functions, or gave names for them.
pub fn chooses(options: &Options) -> bool {
    let named = options.names.is_some();
    named || !options.filter.is_empty() || options.exports_only || options.min_instructions > 0
}

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
    fn of_symbols(table: &SymbolTable) -> Names {
        let demangled =
            table.symbols.iter().filter_map(|symbol| Some((symbol.name.clone(), symbol.demangled.clone()?)));
        Names { demangled: demangled.collect(), symbols: table.clone(), ..Names::default() }
    }

    /// Which module a function is of isn't known: only its name tells.
    fn of_component(tables: &[SymbolTable]) -> Names {
        let demangled = tables.iter().flat_map(|table| Names::of_symbols(table).demangled).collect();
        Names { demangled, ..Names::default() }
    }

    fn of_plan(plan: &Plan) -> Names {
        let name = |function: &PlannedFunc| (function.index.0, function.display_name().to_owned());
        Names { by_index: plan.functions.iter().map(name).collect(), ..Names::default() }
    }

    /// The name of a function, by its index and name in the module that runs.
    pub fn of(&self, module: &Module, index: u32, name: Option<&str>) -> String {
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
