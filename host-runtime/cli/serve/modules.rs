//! Modules on their way to the browser: each gets probes, once.

use crate::output::tell;
use crate::probes;
use bytes::Bytes;
use kperf_rewriter::Options;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The modules so far.
pub struct Modules {
    options: Options,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// What became of each, by the bytes as they came.
    rewritten: HashMap<Bytes, Bytes>,
    /// The next module's first id: all of a page's modules write one trace.
    id_base: u32,
}

impl Modules {
    /// None yet. Each gets probes by these options, with a name and ids of its own.
    pub fn new(options: Options) -> Modules {
        Modules { options, known: Mutex::default() }
    }

    /// The module with probes, from the cache if it was asked for before. One that can't have any stays as it is, which is
    /// told. Takes as long as rewriting does.
    pub fn probed(&self, name: &str, wasm: &Bytes) -> Bytes {
        // While one is rewritten others wait: ids follow each other.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rewritten) = known.rewritten.get(wasm) {
            return rewritten.clone();
        }
        let rewritten = self.rewrite(name, wasm, &mut known.id_base).unwrap_or_else(|| wasm.clone());
        known.rewritten.insert(wasm.clone(), rewritten.clone());
        rewritten
    }

    fn rewrite(&self, name: &str, wasm: &[u8], id_base: &mut u32) -> Option<Bytes> {
        if let Ok(Some(table)) = kperf_rewriter::probed(wasm) {
            tell(format_args!("{name}: has probes already"));
            *id_base = (*id_base).max(table.id_end());
            return None;
        }
        let module_name = name.rsplit('/').next().unwrap_or(name).trim_end_matches(".wasm").to_owned();
        let options = Options { id_base: *id_base, module_name, ..self.options.clone() };
        let begun = Instant::now();
        match kperf_rewriter::rewrite(wasm, &options) {
            Ok(rewritten) => {
                *id_base = rewritten.symbols.id_end();
                let (probed, all) = (rewritten.symbols.symbols.len(), rewritten.plan.functions.len());
                let (before, after) = (wasm.len(), rewritten.wasm.len());
                tell(format_args!(
                    "{name}: {probed} of {all} functions probed, {before} -> {after} bytes, {:.0?}",
                    begun.elapsed()
                ));
                probes::tell_warnings(&rewritten.warnings);
                Some(rewritten.wasm.into())
            }
            Err(error) => {
                tell(format_args!("{name}: served without probes: {:#}", anyhow::Error::from(error)));
                None
            }
        }
    }
}
