//! Chooses the functions that get probes, and their ids.

use crate::error::{Error, ErrorKind};
use crate::filter::{Filter, Pattern};
use crate::module::info::ModuleInfo;
use crate::names::demangle::demangle;
use crate::names::func_names::FuncNames;
use crate::options::Options;
use crate::plan::allocators::Allocators;
use crate::plan::{growth, leaf};
use crate::skipped::SkipReason;
use crate::surroundings::Surroundings;
use crate::warning::Warning;
use kperf_abi::{FuncId, FuncIndex, printable, word};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use wasmparser::FunctionBody;

/// What happens to each function of a module, by index: imports first.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// One entry for each function.
    pub functions: Vec<PlannedFunc>,
}

/// One function of a [`Plan`].
#[derive(Clone, Debug)]
pub struct PlannedFunc {
    /// Its index in the original module.
    pub index: FuncIndex,
    /// The name in the module.
    pub name: Arc<str>,
    /// The name in the source, if it differs.
    pub demangled: Option<Arc<str>>,
    /// Whether the name is generated.
    pub unnamed: bool,
    /// Whether it is imported.
    pub imported: bool,
    /// Whether the module exports it.
    pub exported: bool,
    /// Whether it gets a probe, and why not.
    pub decision: Decision,
    /// Whether its probe only counts its calls.
    pub counted: bool,
}

impl PlannedFunc {
    /// The name to show.
    pub fn display_name(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }

    /// The name that reports show where there are several functions of this name: with the index.
    pub fn label(&self) -> String {
        format!("{} #{}", printable(self.display_name()), self.index.0)
    }

    /// The id, if the function gets a probe.
    pub fn probe(&self) -> Option<FuncId> {
        match self.decision {
            Decision::Probe(id) => Some(id),
            Decision::Skip(_) => None,
        }
    }
}

/// Whether a function gets a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It does, and calls `enter` with this id. Ids are dense, in the order of the indices.
    Probe(FuncId),
    /// It doesn't.
    Skip(SkipReason),
}

impl Plan {
    /// The functions with probes, by id.
    pub fn probed(&self) -> impl Iterator<Item = (FuncId, &PlannedFunc)> {
        self.functions.iter().filter_map(|function| Some((function.probe()?, function)))
    }

    /// Number of functions whose calls are only counted.
    pub fn counted(&self) -> usize {
        self.functions.iter().filter(|function| function.counted).count()
    }

    /// Numbers of functions without probes, by reason.
    pub fn skipped(&self) -> Vec<(SkipReason, usize)> {
        let mut counts = std::collections::BTreeMap::new();
        for function in &self.functions {
            if let Decision::Skip(reason) = function.decision {
                *counts.entry(reason).or_insert(0) += 1;
            }
        }
        counts.into_iter().collect()
    }

    /// What to warn of if `filter` leaves out functions by name that aren't there.
    pub(crate) fn not_there<'p>(plans: impl Iterator<Item = &'p Plan>, filter: &Filter) -> Option<Warning> {
        let planned = filter.planned.len();
        if planned == 0 {
            return None;
        }
        let mut missing: HashSet<&str> = filter.planned.iter().map(String::as_str).collect();
        for function in plans.flat_map(|plan| &plan.functions) {
            missing.remove(function.display_name());
            missing.remove(&*function.label());
        }
        let missing = missing.len();
        (missing > 0).then_some(Warning::OtherPlan { missing, planned })
    }

    /// Makes the plan. `refused`: functions that turned out to have no room for a probe. Allocator functions get a
    /// probe whatever is chosen.
    pub(crate) fn make(
        info: &ModuleInfo<'_>,
        names: &FuncNames<'_>,
        options: &Options,
        surroundings: Option<&Surroundings>,
        refused: &HashMap<FuncIndex, SkipReason>,
        allocators: &Allocators,
    ) -> Result<Plan, Error> {
        let count = info.imported_funcs.len() + info.bodies.len();
        // A list of results first, so that its buffer is reused for the functions.
        let functions: Vec<_> = (0..count)
            .into_par_iter()
            .map(|n| describe(info, names, options, surroundings, refused, allocators, FuncIndex(n as u32)))
            .collect();
        let mut functions = functions.into_iter().collect::<Result<Vec<_>, Error>>()?;

        let mut next = options.id_base;
        for function in &mut functions {
            if let Decision::Probe(id) = &mut function.decision {
                if next >= word::WAIT_ID {
                    return Err(ErrorKind::TooManyIds.into());
                }
                *id = FuncId(next);
                function.counted &= next <= word::MAX_LEAF_ID;
                next += 1;
            }
        }
        if surroundings.is_some() {
            // The caller checks the filter over all modules of the component.
            return Ok(Plan { functions });
        }
        let display_names = functions.iter().map(PlannedFunc::display_name);
        let matches = |pattern: &Pattern| {
            functions
                .iter()
                .any(|function| pattern.matches_function(function.display_name(), || function.label()))
        };
        if let Some(pattern) = options.filter.unmatched_by(matches) {
            let (pattern, hint) = (pattern.as_str().to_owned(), pattern.hint(display_names));
            return Err(ErrorKind::PatternMatchesNothing { pattern, hint }.into());
        }
        if next == options.id_base && options.chooses() && !functions.is_empty() {
            return Err(ErrorKind::NothingMatched { functions: functions.len() }.into());
        }
        Ok(Plan { functions })
    }
}

fn describe(
    info: &ModuleInfo<'_>,
    names: &FuncNames<'_>,
    options: &Options,
    surroundings: Option<&Surroundings>,
    refused: &HashMap<FuncIndex, SkipReason>,
    allocators: &Allocators,
    index: FuncIndex,
) -> Result<PlannedFunc, Error> {
    let name = names.get(info, index);
    let imported = (index.0 as usize) < info.imported_funcs.len();
    let prefixed = |name: String| if imported { name } else { names.prefix(&name).to_owned() + &name };
    let demangled = if imported { None } else { demangle(&name.name) };
    let mut function = PlannedFunc {
        index,
        demangled: demangled.map(|name| prefixed(name).into()),
        name: prefixed(name.name).into(),
        unnamed: name.unnamed,
        imported,
        exported: info.exported_funcs.contains_key(&index.0),
        decision: Decision::Probe(FuncId(0)),
        counted: false,
    };
    let reason = match refused.get(&index) {
        Some(&reason) => Some(reason),
        None => skip_reason(info, options, surroundings, &function)?,
    };
    let is_allocator = allocators.get(index).is_some();
    if let Some(reason) = reason.filter(|reason| reason.is_limit() || !is_allocator) {
        function.decision = Decision::Skip(reason);
    } else if !imported && options.recording.counts_leaves() {
        let body = body_of(info, index);
        let asks_for_memory = is_allocator
            || options.recording.has_allocations() && !growth::find(info, index, &body)?.is_empty();
        function.counted = !asks_for_memory && leaf::is_trapless(&body)?;
    }
    Ok(function)
}

fn skip_reason(
    info: &ModuleInfo<'_>,
    options: &Options,
    surroundings: Option<&Surroundings>,
    function: &PlannedFunc,
) -> Result<Option<SkipReason>, Error> {
    if let Some(import) = info.imported_funcs.get(function.index.0 as usize) {
        if import.module.starts_with("wasm:") {
            return Ok(Some(SkipReason::EngineBuiltin));
        }
        if !options.imports {
            return Ok(Some(SkipReason::Host));
        }
        if surroundings.is_some_and(|surroundings| surroundings.links(import.module, import.name)) {
            return Ok(Some(SkipReason::Linked));
        }
    } else if options.exports_only && !function.exported {
        return Ok(Some(SkipReason::NotExported));
    }
    if !options.filter.matches_function(function.display_name(), || function.label()) {
        return Ok(Some(SkipReason::Filtered));
    }
    if info.is_shared(function.index) {
        return Ok(Some(SkipReason::Shared));
    }
    if options.min_instructions > 0 && !function.imported {
        let mut operators = body_of(info, function.index).get_operators_reader()?;
        // The body's final `end` is not counted as an instruction.
        let mut instructions = 0;
        while !operators.is_end_then_eof() {
            operators.read()?;
            instructions += 1;
            if instructions >= options.min_instructions {
                return Ok(None);
            }
        }
        return Ok(Some(SkipReason::Small));
    }
    Ok(None)
}

/// The body of a function that the module defines.
fn body_of<'a>(info: &ModuleInfo<'a>, index: FuncIndex) -> FunctionBody<'a> {
    info.body(info.bodies[index.0 as usize - info.imported_funcs.len()])
}
