//! The pass itself: bytes to [`Rewritten`].

use crate::context::Needs;
use crate::names::{self, FuncNames};
use crate::parse::{ModuleInfo, Proposal};
use crate::plan::Decision;
use crate::probe::Probe;
use crate::reach::HostReach;
use crate::source::Sources;
use crate::template::Recorder;
use crate::write::{Output, Writer};
use crate::{Error, ErrorKind, Options, Plan, Warning};
use kperf_abi::symbols::ModuleIdentity;
use kperf_abi::{Symbol, SymbolTable};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// A module with probes.
#[derive(Debug)]
pub struct Rewritten {
    /// Its bytes; the input's own when nothing was to be probed.
    pub wasm: Vec<u8>,
    /// Which function each id stands for. The module carries it too.
    pub symbols: SymbolTable,
    /// What became of each function.
    pub plan: Plan,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

/// Puts probes into a module.
///
/// Fails on input that is no well-formed module, or uses what probes can't be put around, with the offset. Input is not
/// validated beyond that: an invalid module stays one, but for a few that are off by one where a probe has something.
pub fn rewrite(wasm: &[u8], options: &Options) -> Result<Rewritten, Error> {
    let info = ModuleInfo::parse(wasm)?;
    let mut warnings = Vec::new();
    let names = FuncNames::collect(&info, options.names.as_ref(), &mut warnings);
    let reach = HostReach::find(&info);
    let identity = identity(&info, options);
    let sources = Sources::read(&info, &mut warnings);
    let recorder = options.probe.form().map(Recorder::read).transpose()?;

    // The guess is nearly always right. Where it isn't: once more, with what was learnt.
    let mut refused = HashMap::new();
    let mut needs = guess(&info, &reach, options)?;
    loop {
        let plan = Plan::make(&info, &names, options, &refused)?;
        let symbols = symbols(&info, &plan, &identity, &sources, options.id_base);
        if symbols.symbols.is_empty() {
            warnings.extend(not_probed(&plan));
            return Ok(Rewritten { wasm: wasm.to_vec(), symbols, plan, warnings });
        }
        let recorder = recorder.as_ref();
        let writer = Writer { info: &info, reach: &reach, plan: &plan, symbols: &symbols, needs, recorder };
        let Output { wasm, facts, warnings: more } = writer.write(options.names.is_some())?;
        let known = refused.len();
        refused.extend(
            facts.iter().enumerate().filter_map(|(n, facts)| Some((info.defined(n), facts.refused?))),
        );
        let learnt = Needs {
            // Nothing is imported for it where the recorder is the module's own.
            unwind: recorder.is_none() && facts.iter().any(|facts| facts.unwinds),
            pad_types: needs.pad_types || facts.iter().any(|facts| facts.lacks_pad_types),
        };
        if refused.len() == known && learnt == needs {
            warnings.extend(more);
            warnings.extend(not_probed(&plan));
            if options.validate || cfg!(debug_assertions) {
                validate(&wasm)?;
            }
            return Ok(Rewritten { wasm, symbols, plan, warnings });
        }
        needs = learnt;
    }
}

/// What [`rewrite`] would do to each function, without doing it.
pub fn plan(wasm: &[u8], options: &Options) -> Result<Plan, Error> {
    let info = ModuleInfo::parse(wasm)?;
    let names = FuncNames::collect(&info, options.names.as_ref(), &mut Vec::new());
    Plan::make(&info, &names, options, &HashMap::new())
}

fn guess(info: &ModuleInfo<'_>, reach: &HostReach, options: &Options) -> Result<Needs, Error> {
    if options.probe == Probe::Count {
        // However a function ends is none of its business.
        return Ok(Needs { unwind: false, pad_types: false });
    }
    let called_directly =
        !options.imports && (0..info.imported_funcs.len()).any(|import| reach.import(import as u32));
    let catches = info.first_catch()?;
    Ok(Needs {
        unwind: options.probe == Probe::Import && (called_directly || reach.any_table() || catches.is_some()),
        pad_types: catches == Some(Proposal::ExceptionReferences),
    })
}

fn not_probed(plan: &Plan) -> Vec<Warning> {
    let wanted = |decision: Decision| match decision {
        Decision::Skip(reason) if reason.is_limit() => Some(reason),
        _ => None,
    };
    plan.functions
        .iter()
        .filter_map(|function| {
            let name = function.display_name().to_owned();
            Some(Warning::NotProbed { index: function.index, name, reason: wanted(function.decision)? })
        })
        .collect()
}

fn identity(info: &ModuleInfo<'_>, options: &Options) -> ModuleIdentity {
    ModuleIdentity {
        name: names::module_name(info).unwrap_or_else(|| options.module_name.clone()),
        sha256: Sha256::digest(info.wasm).iter().map(|byte| format!("{byte:02x}")).collect(),
        functions: info.bodies.len() as u32,
        rewriter: env!("CARGO_PKG_VERSION").to_owned(),
        options: options.description.clone(),
    }
}

fn symbols(
    info: &ModuleInfo<'_>,
    plan: &Plan,
    identity: &ModuleIdentity,
    sources: &Sources,
    id_base: u32,
) -> SymbolTable {
    let mut symbols = Vec::with_capacity(plan.probed().count());
    symbols.extend(plan.probed().map(|(id, function)| {
        let defined = (function.index.0 as usize).checked_sub(info.imported_funcs.len());
        Symbol {
            id,
            func_index: function.index,
            name: function.name.clone(),
            demangled: function.demangled.clone(),
            code_offset: defined.and_then(|n| info.bodies.get(n)).map_or(0, |body| body.start.into()),
            exported: function.exported,
            imported: function.imported,
            unnamed: function.unnamed,
            counted: function.counted,
            source: defined.and_then(|n| sources.get(n)),
        }
    }));
    SymbolTable { module: identity.clone(), id_base, symbols, files: sources.files.clone() }
}

fn validate(wasm: &[u8]) -> Result<(), Error> {
    let Err(error) =
        wasmparser::Validator::new_with_features(wasmparser::WasmFeatures::all()).validate_all(wasm)
    else {
        return Ok(());
    };
    let text =
        wasmprinter::print_bytes(wasm).unwrap_or_else(|error| format!("(and it doesn't print: {error})"));
    Err(ErrorKind::Invalid { message: error.to_string(), context: text }.into())
}
