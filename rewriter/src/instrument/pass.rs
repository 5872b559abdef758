//! Puts probes into a module: [`rewrite`].

use crate::debug_info::codes::{Detail, codes};
use crate::debug_info::debug_companion;
use crate::debug_info::source::Sources;
use crate::debug_info::source_map;
use crate::debug_info::source_map::SourceMap;
use crate::debug_info::symbol_file;
use crate::debug_info::symbol_file::SymbolFile;
use crate::error::{Error, ErrorKind};
use crate::instrument::body::facts::BodyFacts;
use crate::instrument::form::Needs;
use crate::instrument::form::{FORMS, Kind};
use crate::instrument::inside;
use crate::instrument::section;
use crate::instrument::write::{Output, Writer};
use crate::module::functions::FunctionSet;
use crate::module::info::{ModuleInfo, Proposal};
use crate::names::func_names::FuncNames;
use crate::names::section::module_name;
use crate::options::Options;
use crate::plan::allocators::Allocators;
use crate::plan::calls::CallTargets;
use crate::plan::choose::Decision;
use crate::plan::choose::Plan;
use crate::plan::reach::HostReach;
use crate::plan::{stacks, waits};
use crate::recording::Allocations;
use crate::surroundings::Surroundings;
use crate::warning::Warning;
use kperf_abi::symbols::ModuleIdentity;
use kperf_abi::{Symbol, SymbolTable, names as abi};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashMap};
use wasmparser::{FunctionBody, Operator};

/// A module with probes.
#[derive(Debug)]
pub struct Rewritten {
    /// Its bytes; the input's own if no function gets a probe.
    pub wasm: Vec<u8>,
    /// The function of each id. The module contains this table too.
    pub symbols: SymbolTable,
    /// Whether each function has a probe, and why not.
    pub plan: Plan,
    /// Its source map, if that is a file of its own.
    pub source_map: Option<String>,
    /// What the caller should show.
    pub warnings: Vec<Warning>,
}

/// Puts probes into a module.
///
/// ```wat
/// (func $f (param i32) (result i32)        (func $f (param i32) (result i32) (local $t i32)
///   local.get 0                              (local.set $t (call $kperf.enter (i32.const 0)))
///   (if (then i32.const 1  return))          (block $body (result i32)
///   i32.const 2)                               local.get 0
///                                              (if (then i32.const 1  br $body))
///                                              i32.const 2)
///                                            (call $kperf.leave (local.get $t)))
/// ```
///
/// An invalid module stays invalid: the rewriter checks no more than it needs.
///
/// # Errors
///
/// With the offset, if the input is malformed or uses something that the rewriter doesn't support.
pub fn rewrite(wasm: &[u8], options: &Options) -> Result<Rewritten, Error> {
    rewrite_in(wasm, options, None)
}

/// [`rewrite`] for a module of a component.
pub(crate) fn rewrite_in(
    wasm: &[u8],
    options: &Options,
    surroundings: Option<&Surroundings>,
) -> Result<Rewritten, Error> {
    let info = ModuleInfo::parse(wasm)?;
    check_names(&info)?;
    let mut warnings = Vec::new();
    let names = function_names(&info, options, surroundings, &mut warnings);
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
        allocations: options.recording.has_allocations().then(|| allocators.described.clone()),
        ..identity
    };

    let trace_path = options.trace_path.clone().unwrap_or_else(|| inside::trace_path(&options.module_name));

    // A component's memories aren't shared.
    let waits = match options.recording.times_waits() && surroundings.is_none() {
        true => waits::find(&info)?,
        false => BTreeSet::new(),
    };

    // A first look finds what bodies need. It misses tail calls to the host and functions without room: then the loop
    // runs again.
    let mut refused = HashMap::new();
    let mut guessed = None;
    loop {
        let plan = Plan::make(&info, &names, options, surroundings, &refused, &allocators)?;
        check_allocators(&plan, &allocators)?;
        if refused.is_empty() && guessed.is_none() && surroundings.is_none() {
            warnings.extend(Plan::not_there(std::iter::once(&plan), &options.filter));
        }
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
            waits: &waits,
            symbols: &symbols,
            needs,
            form,
            parts: &parts,
            keeps_debug: !options.drops_debug,
            tells_moves: form.kind() == Kind::Counted,
            source_map,
            clock: options.recording.clock(),
            allocators: &allocators,
            trace_path: &trace_path,
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
            files: needs.files,
        };
        let reaches_more = form.kind() != Kind::Counted && reach.follow(&info, &met.tail_calls);
        if refused.len() == known && learnt == needs && !reaches_more {
            // A warning about the debug information may be known already.
            let new: Vec<_> = more.into_iter().filter(|warning| !warnings.contains(warning)).collect();
            warnings.extend(new);
            warnings.extend(not_probed(&plan));
            warnings.extend(depth_not_tracked(&info, &plan, &facts));
            let tells_calls = sources.has_rows() || form.kind() == Kind::Counted;
            let probed = || FunctionSet::of(plan.probed().map(|(_, function)| function.index.0));
            let calls = tells_calls.then(|| CallTargets::find(&info, &reach, probed()));
            let detail = match form.kind() {
                Kind::Counted => Detail::All(Some((&moves, code_start))),
                _ => Detail::Calls,
            };
            symbols.codes = codes(&info, &symbols, &sources, calls.as_ref(), detail);
            symbols.inlined = sources.inlined_functions().to_vec();
            symbols.tidy_inlined();
            // Both are large for large modules.
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

/// Fails if the module uses a name reserved for any form of probe: hosts recognize the form by these names.
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

/// The plan of [`rewrite`] for each function, without a rewritten module.
pub fn plan(wasm: &[u8], options: &Options) -> Result<Plan, Error> {
    let info = ModuleInfo::parse(wasm)?;
    check_names(&info)?;
    if let Some(file) = &options.names {
        check_build(file, identity_of(&info, options, None))?;
    }
    let names = function_names(&info, options, None, &mut Vec::new());
    let allocators = match options.recording.allocations() {
        Allocations::Off => Allocators::default(),
        recorded => Allocators::find(&info, &names, &options.allocators, recorded, &mut Vec::new())?,
    };
    Plan::make(&info, &names, options, None, &HashMap::new(), &allocators)
}

/// The identity of a module's build. `name` is for a module without a name of its own.
pub fn identity(wasm: &[u8], name: &str) -> Result<ModuleIdentity, Error> {
    let options = Options { module_name: name.to_owned(), ..Options::default() };
    Ok(identity_of(&ModuleInfo::parse(wasm)?, &options, None))
}

/// Whether a module without probes affects the modules that share its recorder: it catches what passes through their
/// functions, or counts its instructions.
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
        files: wants.files && inside::may_have_files(info),
    })
}

/// Whether functions with probes (or without) may catch, or may call a function that does. It stops at the first one,
/// which is usually early. Without any, this look is cheaper than writing all bodies twice.
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

/// Fails if an allocator function has no room for a probe: its allocations would be missing.
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
        || debug_companion::hexadecimal(&Sha256::digest(info.wasm)),
        || {
            content.map(|content| {
                debug_companion::code_identity(&info.wasm[content.clone()], content.start as u64)
            })
        },
    );
    let name = surroundings.map(|surroundings| surroundings.name.clone()).or_else(|| module_name(info));
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
    debug_companion::note(&mut identity, |name| info.custom_section(name).map_or(&[], |(data, _)| data));
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

/// The source map inside the module.
fn own_source_map(info: &ModuleInfo<'_>, warnings: &mut Vec<Warning>) -> Option<SourceMap> {
    let (data, _) = info.custom_section(source_map::SECTION)?;
    let map = SourceMap::inline(&debug_companion::string(data)?)?;
    map.map_err(|error| warnings.push(Warning::BadDebugInfo { message: error.to_string() })).ok()
}

/// Fails if a file with names is of another build than the module.
fn check_build(file: &SymbolFile, module: ModuleIdentity) -> Result<(), Error> {
    let table = SymbolTable { module, ..SymbolTable::default() };
    file.fits(&table).map_err(|mismatch| ErrorKind::OtherBuild { mismatch }.into())
}

/// The places of functions in the source: from the file with names, or else from the module.
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

/// The names of functions, with those of the options' file.
fn function_names<'a>(
    info: &ModuleInfo<'a>,
    options: &'a Options,
    surroundings: Option<&'a Surroundings>,
    warnings: &mut Vec<Warning>,
) -> FuncNames<'a> {
    FuncNames::collect(info, surroundings, warnings, |names| {
        options.names.iter().for_each(|file| file.add_names(info, names));
    })
}

#[cfg(feature = "validate")]
pub(crate) fn validate(wasm: &[u8]) -> Result<(), Error> {
    let validated =
        wasmparser::Validator::new_with_features(wasmparser::WasmFeatures::all()).validate_all(wasm);
    validated.map(drop).map_err(|error| ErrorKind::Invalid { message: error.to_string() }.into())
}
