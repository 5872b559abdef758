//! Makes what runs of what the user gave.

use anyhow::bail;
use kperf_abi::SymbolTable;
use kperf_rewriter::{Options, Warning};
use std::collections::HashMap;

/// A module that is ready to run.
pub struct Prepared {
    /// The module as it runs.
    pub wasm: Vec<u8>,
    /// Its functions, if it has probes.
    pub symbols: Option<SymbolTable>,
    /// What was lost on the way.
    pub warnings: Vec<Warning>,
}

impl Prepared {
    /// The module as it is.
    pub fn plain(wasm: Vec<u8>) -> Prepared {
        Prepared { wasm, symbols: None, warnings: Vec::new() }
    }

    /// The module with probes: those that it has, or new ones.
    pub fn probed(wasm: Vec<u8>, options: &Options) -> anyhow::Result<Prepared> {
        let Some(symbols) = kperf_rewriter::probed(&wasm)? else {
            let rewritten = kperf_rewriter::rewrite(&wasm, options)?;
            return Ok(Prepared {
                wasm: rewritten.wasm,
                symbols: Some(rewritten.symbols),
                warnings: rewritten.warnings,
            });
        };
        if !options.filter.is_empty() || options.exports_only || options.min_instructions > 0 {
            bail!(
                "it has probes already, so that functions can't be chosen any more; run the original, or leave the filters out"
            );
        }
        Ok(Prepared { wasm, symbols: Some(symbols), warnings: Vec::new() })
    }

    /// The names as the source has them, of functions whose names in the module are mangled.
    pub fn demangled(&self) -> HashMap<String, String> {
        let names = |table: &SymbolTable| {
            let symbols = table.symbols.iter();
            symbols.filter_map(|symbol| Some((symbol.name.clone(), symbol.demangled.clone()?))).collect()
        };
        match &self.symbols {
            Some(table) => names(table),
            // Only to demangle: nothing is rewritten.
            None => match kperf_rewriter::plan(&self.wasm, &Options::default()) {
                Ok(plan) => {
                    let functions = plan.functions.into_iter();
                    functions.filter_map(|function| Some((function.name, function.demangled?))).collect()
                }
                Err(_) => HashMap::new(),
            },
        }
    }
}
