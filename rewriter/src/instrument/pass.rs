//! The pass itself: bytes to [`Rewritten`].

use crate::codes::{Detail, codes};
use crate::instrument::body::facts::BodyFacts;
use crate::instrument::form::Needs;
use crate::instrument::form::{FORMS, Kind};
use crate::instrument::section;
use crate::instrument::write::{Output, Writer};
use crate::module::functions::FunctionSet;
use crate::module::info::{ModuleInfo, Proposal};
use crate::names::{self, FuncNames};
use crate::plan::allocators::Allocators;
use crate::plan::calls::Calls;
use crate::plan::choose::Decision;
use crate::plan::reach::HostReach;
use crate::plan::stacks;
use crate::source::Sources;
use crate::surroundings::Surroundings;
use crate::{
    Allocations, Error, ErrorKind, Options, Plan, SourceMap, SymbolFile, Warning, source_map, symbol_file,
    twin,
};
use kperf_abi::symbols::ModuleIdentity;
use kperf_abi::{Symbol, SymbolTable, names as abi};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use wasmparser::{FunctionBody, Operator};

/// A module with probes.
#[derive(Debug)]
pub struct Rewritten {
    /// Its bytes; the input's own when nothing was to be probed.
    pub wasm: Vec<u8>,
    /// Which function each id stands for. The module carries it too.
    pub symbols: SymbolTable,
    /// What became of each function.
    pub plan: Plan,
    /// Its source map, if it has a source map in another file.
    pub source_map: Option<String>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

/// Puts probes into a module.
///
/// Fails, with the offset, if the input is no well-formed module or uses something that probes can't be put around. It checks no
/// more than it needs; an invalid module stays invalid.
pub fn rewrite(wasm: &[u8], options: &Options) -> Result<Rewritten, Error> {
    rewrite_in(wasm, options, None)
}

/// The same for a module that is a part of something.
pub(crate) fn rewrite_in(
    wasm: &[u8],
    options: &Options,
    surroundings: Option<&Surroundings>,
) -> Result<Rewritten, Error> {
    let info = ModuleInfo::parse(wasm)?;
    check_names(&info)?;
    let mut warnings = Vec::new();
    let names = FuncNames::collect(&info, options.names.as_ref(), surroundings, &mut warnings);
    let mut reach = HostReach::find(&info, &options.host);
    let identity = identity_of(&info, options, surroundings);
    let own_map = own_source_map(&info, &mut warnings);
    let sources = sources(&info, own_map.as_ref(), &identity, options, &mut warnings)?;
    let source_map = match (&options.names, &options.source_map_url, &own_map) {
        (Some(SymbolFile::SourceMap(map)), Some(url), _) => Some((map, Some(url.as_str()))),
        (_, _, Some(map)) => Some((map, None)),
        _ => None,
    };
    let form = options.recording.form();
    let wants = form.wants();
    let allocators = match options.recording.allocations() {
        Allocations::Off => Allocators::default(),
        recorded => Allocators::find(&info, &names, &options.allocators, recorded, &mut warnings)?,
    };
    let identity = ModuleIdentity {
        allocations: options.recording.has_allocations().then(|| allocators.told.clone()),
        ..identity
    };

    // What bodies need is looked for. Tail calls to the host and functions without room aren't: once more, with what was learnt.
    let mut refused = HashMap::new();
    let mut guessed = None;
    loop {
        let plan = Plan::make(&info, &names, options, surroundings, &refused, &allocators)?;
        check_allocators(&plan, &allocators)?;
        let mut symbols = symbols(&info, &plan, &identity, &sources, options.id_base);
        if symbols.symbols.is_empty() && !(surroundings.is_some() && is_felt(&info, &reach, &plan, options)?)
        {
            warnings.extend(not_probed(&plan));
            return Ok(Rewritten { wasm: wasm.to_vec(), symbols, plan, source_map: None, warnings });
        }
        let needs = match guessed {
            Some(needs) => needs,
            None => guess(&info, &reach, &plan, options)?,
        };
        let parts = form.parts(needs)?;
        let writer = Writer {
            info: &info,
            reach: &reach,
            plan: &plan,
            symbols: &symbols,
            needs,
            form,
            parts: &parts,
            keeps_debug: !options.drops_debug,
            tells_moves: form.kind() == Kind::Counted,
            source_map,
            clock: options.recording.clock(),
            allocators: &allocators,
        };
        let Output { mut wasm, facts, met, moves, code_start, source_map: moved, warnings: more } =
            writer.write(options.names.is_some())?;
        stacks::check(&info, &reach, &plan, &met.switches)?;
        let known = refused.len();
        refused.extend(
            facts.iter().enumerate().filter_map(|(n, facts)| Some((info.defined(n), facts.refused?))),
        );
        let learnt = Needs {
            unwind: wants.unwind && facts.iter().any(|facts| facts.unwinds),
            depth: wants.depth && facts.iter().any(|facts| facts.tracks_depth),
            pad_types: needs.pad_types || facts.iter().any(|facts| facts.lacks_pad_types),
            allocations: needs.allocations,
            samples: needs.samples,
        };
        let reaches_more = form.kind() != Kind::Counted && reach.follow(&info, &met.tail_calls);
        if refused.len() == known && learnt == needs && !reaches_more {
            // The same of the debug information may have been found before.
            let new: Vec<_> = more.into_iter().filter(|warning| !warnings.contains(warning)).collect();
            warnings.extend(new);
            warnings.extend(not_probed(&plan));
            warnings.extend(depth_not_tracked(&info, &plan, &facts));
            let tells_calls = sources.has_rows() || form.kind() == Kind::Counted;
            let probed = || FunctionSet::of(plan.probed().map(|(_, function)| function.index.0));
            let calls = tells_calls.then(|| Calls::find(&info, &reach, probed()));
            let detail = match form.kind() {
                Kind::Counted => Detail::All(Some((&moves, code_start))),
                _ => Detail::Calls,
            };
            symbols.codes = codes(&info, &symbols, &sources, calls.as_ref(), detail);
            symbols.inlined = sources.inlined_functions().to_vec();
            symbols.tidy_inlined();
            // Large modules have much of both.
            drop((calls, moves, facts));
            if !symbols.symbols.is_empty() {
                section::write_custom(&mut wasm, abi::SYMBOLS_SECTION, &symbols.to_bytes());
            }
            #[cfg(feature = "validate")]
            if options.validate || cfg!(debug_assertions) {
                validate(&wasm)?;
            }
            let moved = moved.filter(|_| source_map.is_some_and(|(_, url)| url.is_some()));
            return Ok(Rewritten { wasm, symbols, plan, source_map: moved, warnings });
        }
        guessed = Some(learnt);
    }
}

/// Fails if the module has a name that is ours, in whatever form of probe: hosts tell by them which form it is.
fn check_names(info: &ModuleInfo<'_>) -> Result<(), Error> {
    let import = info.imports_like_ours.iter().find(|(module, name)| abi::is_of_probes(module, name));
    let reserved = match import {
        Some((module, name)) => Some(format!("{module}.{name}")),
        None if info.exports_like_ours.is_empty() => None,
        None => {
            let parts = FORMS.iter().map(|form| form.parts(form.wants())).collect::<Result<Vec<_>, _>>()?;
            let is_ours = |name: &&str| parts.iter().any(|parts| parts.exports(name));
            info.exports_like_ours.iter().copied().find(is_ours).map(str::to_owned)
        }
    };
    match reserved {
        Some(name) => Err(ErrorKind::ReservedName { name }.into()),
        None => Ok(()),
    }
}

/// What [`rewrite`] would do to each function, without doing it.
pub fn plan(wasm: &[u8], options: &Options) -> Result<Plan, Error> {
    let info = ModuleInfo::parse(wasm)?;
    check_names(&info)?;
    if let Some(file) = &options.names {
        check_build(file, identity_of(&info, options, None))?;
    }
    let names = FuncNames::collect(&info, options.names.as_ref(), None, &mut Vec::new());
    let allocators = match options.recording.allocations() {
        Allocations::Off => Allocators::default(),
        recorded => Allocators::find(&info, &names, &options.allocators, recorded, &mut Vec::new())?,
    };
    Plan::make(&info, &names, options, None, &HashMap::new(), &allocators)
}

/// What tells builds of a module apart. `name` is for a module that doesn't say its own.
pub fn identity(wasm: &[u8], name: &str) -> Result<ModuleIdentity, Error> {
    let options = Options { module_name: name.to_owned(), ..Options::default() };
    Ok(identity_of(&ModuleInfo::parse(wasm)?, &options, None))
}

/// Whether a module without probes does something to those around it, with whom it shares a recorder: it catches what passes through
/// their functions, or it executes instructions that are counted.
fn is_felt(info: &ModuleInfo<'_>, reach: &HostReach, plan: &Plan, options: &Options) -> Result<bool, Error> {
    let counts = options.recording.clock() == crate::Clock::Instructions && !info.bodies.is_empty();
    Ok(counts || guess(info, reach, plan, options)?.depth)
}

fn guess(info: &ModuleInfo<'_>, reach: &HostReach, plan: &Plan, options: &Options) -> Result<Needs, Error> {
    let wants = options.recording.form().wants();
    if wants == Needs::default() {
        return Ok(wants);
    }
    let catches = info.first_catch()?;
    let may_catch = reach.anything() || catches.is_some();
    Ok(Needs {
        unwind: wants.unwind && may_catch && catches_in(true, info, reach, plan, options)?,
        depth: wants.depth && may_catch && catches_in(false, info, reach, plan, options)?,
        pad_types: wants.pad_types && catches == Some(Proposal::ExceptionReferences),
        allocations: options.recording.has_allocations(),
        samples: matches!(options.recording.allocations(), Allocations::Sampled(_)),
    })
}

/// Whether functions with a probe (or those without) may catch something, or call a function that does. It stops at the first that
/// does, which is nearly always an early one. If none does, looking at all of them is cheaper than writing all of them twice.
fn catches_in(
    probed: bool,
    info: &ModuleInfo<'_>,
    reach: &HostReach,
    plan: &Plan,
    options: &Options,
) -> Result<bool, Error> {
    let functions = plan.functions.par_iter().zip(0..plan.functions.len());
    let bodies = functions.filter_map(|(function, index)| {
        let n = index.checked_sub(info.imported_funcs.len())?;
        let is_one = function.probe().is_some() == probed && !info.is_shared(function.index);
        is_one.then(|| info.body(info.bodies[n]))
    });
    let has_thunk = |operator: &Operator<'_>| match operator {
        Operator::Call { function_index } if options.imports => plan
            .functions
            .get(*function_index as usize)
            .is_some_and(|callee| callee.imported && callee.probe().is_some()),
        _ => false,
    };
    let catches = |body: FunctionBody<'_>| -> Result<bool, Error> {
        for operator in body.get_operators_reader()? {
            let operator = operator?;
            if reach.may_catch(&operator) && !has_thunk(&operator) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let found = bodies.map(catches).find_any(|caught| !matches!(caught, Ok(false)));
    found.unwrap_or(Ok(false))
}

/// Fails if a function of an allocator's can't bear a probe: what it allocates would be missing.
fn check_allocators(plan: &Plan, allocators: &Allocators) -> Result<(), Error> {
    for function in &plan.functions {
        if let (Some(_), Decision::Skip(reason)) = (allocators.get(function.index), function.decision) {
            let (name, why) = (function.display_name().to_owned(), format!("no probe in it: {reason}"));
            return Err(ErrorKind::BadAllocator { name, why }.into());
        }
    }
    Ok(())
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

fn depth_not_tracked(info: &ModuleInfo<'_>, plan: &Plan, facts: &[BodyFacts]) -> Vec<Warning> {
    let unwatched = facts.iter().enumerate().filter(|(_, facts)| facts.lacks_room_for_depth);
    unwatched
        .map(|(n, _)| {
            let index = info.defined(n);
            let name = plan.functions[index.0 as usize].display_name().to_owned();
            Warning::DepthNotTracked { index, name }
        })
        .collect()
}

fn identity_of(
    info: &ModuleInfo<'_>,
    options: &Options,
    surroundings: Option<&Surroundings>,
) -> ModuleIdentity {
    let content = info.code();
    let (sha256, code) = rayon::join(
        || twin::hexadecimal(&Sha256::digest(info.wasm)),
        || content.map(|content| twin::code_identity(&info.wasm[content.clone()], content.start as u64)),
    );
    let name =
        surroundings.map(|surroundings| surroundings.name.clone()).or_else(|| names::module_name(info));
    let mut identity = ModuleIdentity {
        name: name.unwrap_or_else(|| options.module_name.clone()),
        sha256,
        functions: info.bodies.len() as u32,
        rewriter: env!("CARGO_PKG_VERSION").to_owned(),
        options: options.description.clone(),
        imports: info.imported_funcs.len() as u32,
        code,
        ..ModuleIdentity::default()
    };
    twin::note(&mut identity, |name| info.custom_section(name).map_or(&[], |(data, _)| data));
    identity
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
    let (module, files) = (identity.clone(), sources.files.clone());
    let mut table = SymbolTable { module, id_base, symbols, files, ..SymbolTable::default() };
    symbol_file::name_by_places(&mut table);
    table
}

/// The source map that is in the module.
fn own_source_map(info: &ModuleInfo<'_>, warnings: &mut Vec<Warning>) -> Option<SourceMap> {
    let (data, _) = info.custom_section(source_map::SECTION)?;
    let map = SourceMap::inline(&twin::string(data)?)?;
    map.map_err(|error| warnings.push(Warning::BadDebugInfo { message: error.to_string() })).ok()
}

/// Fails if a file with names is of another build than the module.
fn check_build(file: &SymbolFile, module: ModuleIdentity) -> Result<(), Error> {
    let table = SymbolTable { module, ..SymbolTable::default() };
    file.fits(&table).map_err(|mismatch| ErrorKind::OtherBuild { mismatch }.into())
}

/// Where functions stand in the source: by the file with names, or else by the module itself.
fn sources(
    info: &ModuleInfo<'_>,
    own_map: Option<&SourceMap>,
    identity: &ModuleIdentity,
    options: &Options,
    warnings: &mut Vec<Warning>,
) -> Result<Sources, Error> {
    let mut own = || {
        let sources = Sources::of(info, warnings);
        match own_map {
            Some(map) if sources.files.is_empty() => Sources::of_map(map, &info.bodies),
            _ => sources,
        }
    };
    let Some(file) = &options.names else { return Ok(own()) };
    check_build(file, identity.clone())?;
    Ok(file.sources(info).unwrap_or_else(own))
}

#[cfg(feature = "validate")]
fn validate(wasm: &[u8]) -> Result<(), Error> {
    let Err(error) =
        wasmparser::Validator::new_with_features(wasmparser::WasmFeatures::all()).validate_all(wasm)
    else {
        return Ok(());
    };
    let context = crate::instrument::invalid::around(wasm, error.offset());
    Err(ErrorKind::Invalid { message: error.to_string(), context }.into())
}
