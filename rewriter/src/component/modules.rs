//! Chooses the core modules that get probes, names them, and rewrites each.

use super::CoreModule;
use super::exports::{Export, definitions};
use super::scan::{Nested, ROOT, Scan};
use super::wit::Names;
use crate::error::{Error, ErrorKind};
use crate::instrument::pass;
use crate::instrument::pass::Rewritten;
use crate::options::Options;
use crate::plan::choose::Plan;
use crate::skipped::Left;
use crate::surroundings::Surroundings;
use crate::warning::Warning;
use kperf_abi::SymbolTable;
use kperf_abi::symbols::ModuleIdentity;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use wasmparser::{ExternalKind, FunctionBody, Operator, Parser, Payload};

/// The longest path to a module, in bytes. It precedes the name of each function, so its length is limited.
const LONGEST: usize = 200;

/// A core module after the pass.
pub(super) struct Module {
    /// Its bytes, if it has probes.
    pub(super) wasm: Option<Vec<u8>>,
    pub(super) described: CoreModule,
}

/// Puts probes into the modules that can have them.
pub(super) fn rewrite(
    wasm: &[u8],
    scan: &Scan<'_>,
    exports: &[Vec<Export>],
    options: &Options,
) -> Result<(Vec<Module>, Vec<Warning>), Error> {
    let left = left(wasm, scan);
    let mut linked =
        scan.links.probed(|module| left[module].is_none(), |module| left[module] == Some(Left::Trampolines));
    let mut called = called(scan, |module| left[module] == Some(Left::Trampolines));
    let taken: HashSet<String> =
        exports.iter().flatten().flat_map(Export::names).map(str::to_owned).collect();
    let taken = Arc::new(taken);
    let names = names(scan, options);
    let largest = (0..scan.modules.len())
        .filter(|&n| left[n].is_none())
        .max_by_key(|&n| (scan.modules[n].functions, usize::MAX - n));
    let mut modules = Vec::with_capacity(scan.modules.len());
    let mut warnings = Vec::new();
    let mut next_id = options.id_base;
    for (n, (module, (name, short))) in scan.modules.iter().zip(names).enumerate() {
        if let Some(left) = left[n] {
            if left != Left::Trampolines {
                warnings.push(Warning::LeftModule { name: name.clone(), left });
            }
            let identity = ModuleIdentity { name: name.clone(), ..ModuleIdentity::default() };
            let symbols = SymbolTable { module: identity, id_base: next_id, ..SymbolTable::default() };
            modules.push(Module {
                wasm: None,
                described: CoreModule { name, symbols, plan: None, left: Some(left) },
            });
            continue;
        }
        let surroundings = Surroundings {
            name: name.clone(),
            prefix: if largest == Some(n) { String::new() } else { format!("{short}::") },
            own_prefix: format!("{short}::"),
            taken: taken.clone(),
            linked: linked.remove(&n).unwrap_or_default(),
            called: called.remove(&n).unwrap_or_default(),
        };
        let options = Options { id_base: next_id, ..options.clone() };
        let original = &wasm[module.bytes.clone()];
        let rewritten = pass::rewrite_in(original, &options, Some(&surroundings));
        let in_module = |error| ErrorKind::InModule { name: name.clone(), error: Box::new(error) };
        let Rewritten { wasm, symbols, plan, warnings: more, .. } = rewritten.map_err(in_module)?;
        warnings.extend(more);
        next_id = symbols.id_end();
        // A module without probes may change too: it records what it catches, and counts instructions.
        let wasm = (wasm != original).then_some(wasm);
        modules.push(Module { wasm, described: CoreModule { name, symbols, plan: Some(plan), left: None } });
    }
    let tells = modules.iter().any(|module| !module.described.symbols.symbols.is_empty())
        || exports.iter().flatten().any(Export::is_recorded);
    check_filter(&modules, exports, options, tells)?;
    let plans = modules.iter().filter_map(|module| module.described.plan.as_ref());
    warnings.extend(Plan::not_there(plans, &options.filter));
    if !tells {
        modules.iter_mut().for_each(|module| module.wasm = None);
    }
    Ok((modules, warnings))
}

/// The names of host functions: by number of the module, and by import (module and name).
fn called(
    scan: &Scan<'_>,
    are_trampolines: impl Fn(usize) -> bool,
) -> HashMap<usize, HashMap<(String, String), String>> {
    let all = definitions(scan);
    let mut finders: HashMap<usize, Names<'_, '_>> = HashMap::new();
    let lowered = scan.links.lowered(are_trampolines).into_iter();
    let named = lowered.map(|(module, imports)| {
        let imports = imports.into_iter().filter_map(|((from, name), (component, function))| {
            let finder = finders.entry(component).or_insert_with(|| Names::of(&all, component));
            Some(((from.to_owned(), name.to_owned()), finder.import(function)?))
        });
        (module, imports.collect())
    });
    named.collect()
}

/// Fails if a pattern matches nothing in any module, or if the filter matches nothing.
fn check_filter(
    modules: &[Module],
    exports: &[Vec<Export>],
    options: &Options,
    tells: bool,
) -> Result<(), Error> {
    let plans = modules.iter().filter_map(|module| module.described.plan.as_ref());
    let functions = plans.flat_map(|plan| &plan.functions);
    let exports = exports.iter().flatten();
    let names = functions.clone().map(|function| function.display_name());
    let names = names.chain(exports.clone().flat_map(|export| export.names()));
    if let Some(pattern) = options.filter.unmatched(names.clone()) {
        let (pattern, hint) = (pattern.as_str().to_owned(), pattern.hint(names));
        return Err(ErrorKind::PatternMatchesNothing { pattern, hint }.into());
    }
    let functions = functions.count();
    if options.chooses() && functions > 0 && !tells {
        return Err(ErrorKind::NothingMatched { functions }.into());
    }
    Ok(())
}

/// For each module, why it stays unchanged, if it does.
fn left(wasm: &[u8], scan: &Scan<'_>) -> Vec<Option<Left>> {
    // A component that is passed on takes along what it contains and what it aliases.
    let mut passed: Vec<usize> =
        (0..scan.components.len()).filter(|&n| scan.components[n].is_passed).collect();
    let mut is_passed: HashSet<usize> = passed.iter().copied().collect();
    let mut children = vec![Vec::new(); scan.components.len()];
    for (n, component) in scan.components.iter().enumerate() {
        if let Some(parent) = component.parent {
            children[parent].push(n);
        }
    }
    let mut outer_modules = HashSet::new();
    while let Some(n) = passed.pop() {
        let component = &scan.components[n];
        outer_modules.extend(component.outer_modules.iter().copied());
        let others = children[n].iter().chain(&component.outer_components);
        passed.extend(others.filter(|&&other| is_passed.insert(other)));
    }
    let modules = scan.modules.iter().enumerate();
    modules
        .map(|(n, module)| {
            if module.is_passed {
                Some(Left::Passed)
            } else if is_passed.contains(&module.component) || outer_modules.contains(&n) {
                Some(Left::InPassed)
            } else {
                is_trampolines(&wasm[module.bytes.clone()]).then_some(Left::Trampolines)
            }
        })
        .collect()
}

/// Whether a module has no functions, or is a trampoline: it exports a table that others fill, and its functions only
/// pass their parameters on to functions in that table.
fn is_trampolines(wasm: &[u8]) -> bool {
    let (mut has_functions, mut is_whole, mut exports_table) = (false, false, false);
    for payload in Parser::new(0).parse_all(wasm) {
        match payload {
            Ok(Payload::ImportSection(section)) => is_whole |= section.count() > 0,
            Ok(Payload::ElementSection(section)) => is_whole |= section.count() > 0,
            Ok(Payload::ExportSection(section)) => {
                let mut exports = section.into_iter().map_while(Result::ok);
                exports_table |= exports.any(|export| export.kind == ExternalKind::Table);
            }
            Ok(Payload::CodeSectionEntry(body)) => {
                has_functions = true;
                if !is_trampoline(&body) {
                    return false;
                }
            }
            _ => {}
        }
    }
    !has_functions || exports_table && !is_whole
}

fn is_trampoline(body: &FunctionBody<'_>) -> bool {
    let Ok(operators) = body.get_operators_reader() else { return false };
    let mut calls = 0;
    for operator in operators {
        match operator {
            Ok(Operator::CallIndirect { .. }) => calls += 1,
            Ok(Operator::LocalGet { .. } | Operator::I32Const { .. } | Operator::End) => {}
            _ => return false,
        }
    }
    calls == 1
}

/// The prefix of names in each component: `shop/`. Empty for the outermost.
pub(super) fn paths(scan: &Scan<'_>) -> Vec<String> {
    let mut paths: Vec<String> = Vec::with_capacity(scan.components.len());
    let mut taken = HashSet::new();
    for (n, component) in scan.components.iter().enumerate() {
        let path = component.parent.map(|parent| {
            let own = component.name.clone().filter(|name| name.len() <= LONGEST);
            let own = own.unwrap_or_else(|| format!("component[{n}]"));
            let path = format!("{}{own}/", paths[parent]);
            if taken.insert(path.clone()) { path } else { format!("{}{own}[{n}]/", paths[parent]) }
        });
        paths.push(path.unwrap_or_default());
    }
    paths
}

/// The component's name.
pub(super) fn root<'a>(scan: &'a Scan<'_>, options: &'a Options) -> &'a str {
    match (options.module_name.as_str(), scan.components.get(ROOT)) {
        ("", Some(Nested { name: Some(name), .. })) => name,
        ("", _) => "component",
        (name, _) => name,
    }
}

/// Each module's full name (`app/shop/main`), and the name below the component (`shop/main`). Full names are unique.
pub(super) fn names(scan: &Scan<'_>, options: &Options) -> Vec<(String, String)> {
    let (paths, root) = (paths(scan), root(scan, options));
    let mut taken = HashSet::new();
    let modules = scan.modules.iter().enumerate();
    modules
        .map(|(n, module)| {
            let given = scan.components[module.component].module_names.get(&module.index);
            let mut short = match module.name.as_ref().or(given) {
                Some(name) => alone(name).to_owned(),
                None => format!("module[{n}]"),
            };
            let mut path = paths[module.component].as_str();
            if path.len() + short.len() > LONGEST {
                (path, short) = ("", format!("module[{n}]"));
            }
            if !taken.insert(format!("{path}{short}")) {
                short = format!("{short}[{n}]");
                taken.insert(format!("{path}{short}"));
            }
            (format!("{root}/{path}{short}"), format!("{path}{short}"))
        })
        .collect()
}

/// A module's name without the additions of tools: `wit-component:adapter:wasi_snapshot_preview1`, `app.wasm`.
fn alone(name: &str) -> &str {
    let name = name.strip_prefix("wit-component:").unwrap_or(name);
    let name = name.strip_prefix("adapter:").unwrap_or(name);
    let name = name.strip_prefix("main:").unwrap_or(name);
    name.strip_suffix(".wasm").unwrap_or(name)
}
