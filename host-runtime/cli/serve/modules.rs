//! Modules on their way to the browser: each gets probes, once.

use crate::output::tell;
use crate::probes;
use bytes::Bytes;
use kperf_rewriter::{Options, Probe};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use wasmparser::{Parser, Payload};

/// The modules so far.
pub struct Modules {
    options: Options,
    /// With the recorder inside, for modules and browsers that can have that; else as `options` say.
    inline: Option<Options>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// What became of each, by the bytes as they came and whether the recorder may be inside.
    rewritten: HashMap<(Bytes, bool), Bytes>,
    /// The next module's first id: all of a page's modules write one trace.
    id_base: u32,
}

impl Modules {
    /// None yet. Each gets probes by these options, or those of `inline`, with a name and ids of its own.
    pub fn new(options: Options, inline: Option<Options>) -> Modules {
        Modules { options, inline, known: Mutex::default() }
    }

    /// The module with probes, from the cache if it was asked for before. One that can't have any stays as it is, which is
    /// told. Takes as long as rewriting does. `inline`: whether the browser takes modules with the recorder inside.
    pub fn probed(&self, name: &str, wasm: &Bytes, inline: bool) -> Bytes {
        // While one is rewritten others wait: ids follow each other.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(self.options.probe, Probe::Profile { .. }) && !inline {
            tell(format_args!("{name}: served without probes: this browser gives a module one memory"));
            return wasm.clone();
        }
        let inline = self.inline.as_ref().filter(|_| inline && stands_alone(wasm));
        let key = (wasm.clone(), inline.is_some());
        if let Some(rewritten) = known.rewritten.get(&key) {
            return rewritten.clone();
        }
        let rewritten = self.rewrite(name, wasm, inline, &mut known.id_base).unwrap_or_else(|| wasm.clone());
        known.rewritten.insert(key, rewritten.clone());
        rewritten
    }

    fn rewrite(&self, name: &str, wasm: &[u8], inline: Option<&Options>, id_base: &mut u32) -> Option<Bytes> {
        if let Ok(Some(table)) = kperf_rewriter::probed(wasm) {
            tell(format_args!("{name}: has probes already"));
            *id_base = (*id_base).max(table.id_end());
            return None;
        }
        let module_name = name.rsplit('/').next().unwrap_or(name).trim_end_matches(".wasm").to_owned();
        let with = |options: &Options| {
            let options = Options { id_base: *id_base, module_name: module_name.clone(), ..options.clone() };
            kperf_rewriter::rewrite(wasm, &options).map(|rewritten| (rewritten, options.probe))
        };
        let begun = Instant::now();
        // One that has no room for a recorder gets imported probes.
        let rewritten = inline.and_then(|options| with(options).ok());
        match rewritten.map_or_else(|| with(&self.options), Ok) {
            Ok((rewritten, probe)) => {
                *id_base = rewritten.symbols.id_end();
                let (probed, all) = (rewritten.symbols.symbols.len(), rewritten.plan.functions.len());
                let (before, after) = (wasm.len(), rewritten.wasm.len());
                tell(format_args!(
                    "{name}: {probed} of {all} functions probed{}, {before} -> {after} bytes, {:.0?}",
                    if probe == Probe::Inline { " (inline)" } else { "" },
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

/// Whether a module can have a recorder to itself in a page: one that is linked with others shares its call tree with them,
/// and what a start section does can't be seen from JavaScript before it has ended.
fn stands_alone(wasm: &[u8]) -> bool {
    Parser::new(0).parse_all(wasm).all(|payload| match payload {
        Ok(Payload::StartSection { .. }) => false,
        Ok(Payload::CustomSection(section)) => !section.name().starts_with("dylink"),
        _ => true,
    })
}
