//! Scans a component: its components and core modules in order, their instances, and the origins of core functions.

use super::canonical;
use super::links::{Bag, Links, Origin, Source};
use super::wit::{Definitions, Lift};
use crate::error::{Error, ErrorKind};
use kperf_abi::names::COMPONENT_HOST;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use wasmparser::{
    CanonicalFunction, ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentName,
    ComponentOuterAliasKind, ExternalKind, FuncType, Instance, InstantiationArg, KnownCustom, Parser,
    Payload, TypeRef, Validator, WasmFeatures,
};

/// The deepest nesting of components.
const MAX_NESTING: usize = 100;
/// The number of the scanned component itself.
pub(super) const ROOT: usize = 0;

/// The contents of a component.
#[derive(Default)]
pub(super) struct Scan<'a> {
    /// The component itself, and those nested in it.
    pub(super) components: Vec<Nested<'a>>,
    pub(super) modules: Vec<Module>,
    /// The origins of functions that modules import.
    pub(super) links: Links<'a>,
    /// Whether it imports a recorder's host.
    pub(super) has_probes: bool,
}

/// The scanned component, or one nested in it.
#[derive(Debug, Default)]
pub(super) struct Nested<'a> {
    pub(super) parent: Option<usize>,
    /// Its name, and its core modules' names by index, from its name section.
    pub(super) name: Option<String>,
    pub(super) module_names: HashMap<u32, String>,
    /// Whether it is exported or given to another component.
    pub(super) is_passed: bool,
    /// Modules and components that it aliases from a component around it.
    pub(super) outer_modules: Vec<usize>,
    pub(super) outer_components: Vec<usize>,
    /// The modules and components that it instantiates.
    pub(super) instantiates: Vec<usize>,
    pub(super) core_instantiates: Vec<usize>,
    /// Type of each core function.
    pub(super) core_functions: Vec<Option<FuncType>>,
    /// The core functions that run while it may not be left, each once, in order.
    pub(super) guarded: Vec<u32>,
    /// The core functions that are lifted, in order.
    pub(super) lifts: Vec<Lift>,
    /// Core functions of both kinds that a core instance exports: the instance, and the name.
    pub(super) places: HashMap<u32, (u32, &'a str)>,
    /// The definitions that functions get their names from.
    pub(super) definitions: Definitions<'a>,
    /// The feature by which its calls run on several stacks at once, and the offset.
    pub(super) stacks: Option<(&'static str, u64)>,
}

/// A core module.
#[derive(Debug)]
pub(super) struct Module {
    /// The component that contains it, and its index there.
    pub(super) component: usize,
    pub(super) index: u32,
    pub(super) bytes: Range<usize>,
    /// Number of functions that it defines.
    pub(super) functions: u32,
    pub(super) is_passed: bool,
    /// Its own name.
    pub(super) name: Option<String>,
    imports_table: bool,
}

/// A core instance.
enum CoreInstance<'a> {
    Of(Option<usize>),
    Bag(Bag<'a>),
}

/// The index spaces of a component while it is read.
#[derive(Default)]
struct Scope<'a> {
    component: usize,
    modules: Vec<Option<usize>>,
    components: Vec<Option<usize>>,
    core_instances: Vec<CoreInstance<'a>>,
    core_functions: Vec<CoreFunction<'a>>,
    /// For each core table the module that defines it, if known.
    core_tables: Vec<Option<usize>>,
    /// The links: a module, the name of an argument, and the core instance.
    linked: HashSet<(usize, &'a str, u32)>,
    guarded: HashSet<u32>,
}

/// A core function.
#[derive(Clone, Copy, Default)]
struct CoreFunction<'a> {
    /// The core instance that exports it, and its name there, if it is an alias.
    place: Option<(u32, &'a str)>,
    origin: Option<Origin<'a>>,
}

enum Level<'a> {
    Component(Box<Scope<'a>>),
    Module(usize),
}

/// Validates a component, and scans it.
pub(super) fn scan(wasm: &[u8]) -> Result<Scan<'_>, Error> {
    let mut scan = Scan::default();
    let mut levels: Vec<Level<'_>> = Vec::new();
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let mut next = None;
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        match &payload {
            Payload::Version { encoding, range, .. } => {
                let level = match (encoding, next.take()) {
                    (wasmparser::Encoding::Component, parent) => {
                        let parent: Option<usize> = parent;
                        scan.components.push(Nested { parent, ..Nested::default() });
                        if levels.len() >= MAX_NESTING {
                            let what = format!("a component nested {MAX_NESTING} times");
                            return Err(ErrorKind::Unsupported { what, offset: range.start }.into());
                        }
                        let component = scan.components.len() - 1;
                        Level::Component(Box::new(Scope { component, ..Scope::default() }))
                    }
                    (wasmparser::Encoding::Module, Some(_)) => Level::Module(scan.modules.len() - 1),
                    (wasmparser::Encoding::Module, None) => return Err(ErrorKind::NotAComponent.into()),
                };
                levels.push(level);
            }
            Payload::End(_) => {
                if let Some(Level::Component(scope)) = levels.pop()
                    && let Some(types) = validator.types(0)
                {
                    let functions = (0..types.function_count()).map(|index| {
                        types.get(types.core_function_at(index)).map(|ty| ty.unwrap_func().clone())
                    });
                    scan.components[scope.component].core_functions = functions.collect();
                }
            }
            Payload::CustomSection(section) => match (levels.last(), section.as_known()) {
                (Some(Level::Module(module)), KnownCustom::Name(names)) => {
                    let name = names.into_iter().map_while(Result::ok).find_map(|name| match name {
                        wasmparser::Name::Module { name, .. } if !name.is_empty() => Some(name.to_owned()),
                        _ => None,
                    });
                    scan.modules[*module].name = name;
                }
                (Some(Level::Component(scope)), KnownCustom::ComponentName(names)) => {
                    let nested = &mut scan.components[scope.component];
                    names.into_iter().map_while(Result::ok).for_each(|name| nested.name_by(name));
                }
                _ => {}
            },
            Payload::ModuleSection { unchecked_range, .. } => {
                if let Some(Level::Component(scope)) = levels.last_mut() {
                    let bytes = unchecked_range.start as usize..unchecked_range.end as usize;
                    let index = scope.modules.len() as u32;
                    let component = scope.component;
                    scope.modules.push(Some(scan.modules.len()));
                    scan.modules.push(Module {
                        component,
                        index,
                        bytes,
                        functions: 0,
                        is_passed: false,
                        name: None,
                        imports_table: false,
                    });
                    next = Some(component);
                }
            }
            Payload::ComponentSection { .. } => {
                if let Some(Level::Component(scope)) = levels.last_mut() {
                    scope.components.push(Some(scan.components.len()));
                    next = Some(scope.component);
                }
            }
            Payload::ImportSection(section) => {
                if let Some(Level::Module(module)) = levels.last() {
                    for import in section.clone().into_imports() {
                        let import = import?;
                        match import.ty {
                            TypeRef::Func(_) | TypeRef::FuncExact(_) => {
                                scan.links.imports(*module, import.module, import.name);
                            }
                            TypeRef::Table(_) => scan.modules[*module].imports_table = true,
                            _ => {}
                        }
                    }
                }
            }
            Payload::ElementSection(_) => {
                if let Some(Level::Module(module)) = levels.last()
                    && scan.modules[*module].imports_table
                {
                    scan.links.fills(*module);
                }
            }
            Payload::CodeSectionStart { count, .. } => {
                if let Some(Level::Module(module)) = levels.last() {
                    scan.modules[*module].functions = *count;
                }
            }
            payload => scan.section(&mut levels, payload)?,
        }
        // Bodies are left to the engine's compiler.
        let _ = validator.payload(&payload)?;
    }
    Ok(scan)
}

impl<'a> Scan<'a> {
    fn section(&mut self, levels: &mut [Level<'a>], payload: &Payload<'a>) -> Result<(), Error> {
        let Some((Level::Component(scope), outer)) = levels.split_last_mut() else { return Ok(()) };
        match payload {
            Payload::ComponentImportSection(section) => {
                for import in section.clone() {
                    let import = import?;
                    self.has_probes |= import.name.name == COMPONENT_HOST;
                    scope.unknown(import.ty.kind());
                    self.components[scope.component].definitions.import(import.name.name, import.ty.kind());
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section.clone() {
                    self.alias(scope, outer, alias?);
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section.clone() {
                    let export = export?;
                    self.pass(scope, export.kind, export.index);
                    self.components[scope.component].definitions.export(&export);
                    match export.kind {
                        ComponentExternalKind::Module => {
                            let module = at(&scope.modules, export.index);
                            scope.modules.push(module);
                        }
                        ComponentExternalKind::Component => {
                            let component = at(&scope.components, export.index);
                            scope.components.push(component);
                        }
                        _ => {}
                    }
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section.clone() {
                    self.instance(scope, instance?);
                }
            }
            Payload::InstanceSection(section) => {
                for instance in section.clone() {
                    self.core_instance(scope, instance?);
                }
            }
            Payload::ComponentCanonicalSection(section) => {
                for function in section.clone().into_iter_with_offsets() {
                    let (offset, function) = function?;
                    let component = &mut self.components[scope.component];
                    for guarded in canonical::guarded(&function) {
                        if scope.guarded.insert(guarded) {
                            component.guarded.push(guarded);
                            let place = scope.core_functions.get(guarded as usize).and_then(|it| it.place);
                            component.places.extend(place.map(|place| (guarded, place)));
                        }
                    }
                    if component.stacks.is_none() {
                        component.stacks = canonical::stacks(&function).map(|what| (what, offset));
                    }
                    match (&function, Lift::of(&function)) {
                        (_, Some(lift)) => {
                            for core in std::iter::once(lift.core).chain(lift.callback) {
                                let place = scope.core_functions.get(core as usize).and_then(|it| it.place);
                                component.places.extend(place.map(|place| (core, place)));
                            }
                            component.lifts.push(lift);
                            component.definitions.lift();
                        }
                        (CanonicalFunction::Lower { func_index, .. }, None) => {
                            let origin = Some(Origin::Lowered(scope.component, *func_index));
                            scope.core_functions.push(CoreFunction { place: None, origin });
                        }
                        (_, None) => scope.core_functions.push(CoreFunction::default()),
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn alias(&mut self, scope: &mut Scope<'a>, outer: &[Level<'a>], alias: ComponentAlias<'a>) {
        self.components[scope.component].definitions.alias(&alias);
        match alias {
            ComponentAlias::InstanceExport { kind, .. } => scope.unknown(kind),
            ComponentAlias::CoreInstanceExport { kind, instance_index, name } => {
                let instance = scope.core_instances.get(instance_index as usize);
                match (kind, instance) {
                    (ExternalKind::Func | ExternalKind::FuncExact, instance) => {
                        let origin = match instance {
                            Some(CoreInstance::Of(module)) => {
                                module.map(|module| Origin::Module(module, name))
                            }
                            Some(CoreInstance::Bag(bag)) => bag.functions.get(name).copied().flatten(),
                            None => None,
                        };
                        let place = Some((instance_index, name));
                        scope.core_functions.push(CoreFunction { place, origin });
                    }
                    (ExternalKind::Table, Some(CoreInstance::Of(module))) => {
                        let module = *module;
                        scope.core_tables.push(module);
                    }
                    (ExternalKind::Table, _) => scope.core_tables.push(None),
                    _ => {}
                }
            }
            ComponentAlias::Outer { kind, count, index } => {
                // Level 0 is the scope itself.
                let around = (count as usize).checked_sub(1).and_then(|n| outer.iter().rev().nth(n));
                let around = match around {
                    Some(Level::Component(around)) => Some(&**around),
                    _ => None,
                };
                match kind {
                    ComponentOuterAliasKind::CoreModule => {
                        let module = at(&around.unwrap_or(scope).modules, index);
                        self.components[scope.component].outer_modules.extend(module);
                        scope.modules.push(module);
                    }
                    ComponentOuterAliasKind::Component => {
                        let component = at(&around.unwrap_or(scope).components, index);
                        self.components[scope.component].outer_components.extend(component);
                        scope.components.push(component);
                    }
                    ComponentOuterAliasKind::CoreType | ComponentOuterAliasKind::Type => {}
                }
            }
        }
    }

    fn instance(&mut self, scope: &Scope<'a>, instance: ComponentInstance<'a>) {
        let of = match &instance {
            ComponentInstance::Instantiate { component_index, .. } => at(&scope.components, *component_index),
            ComponentInstance::FromExports(_) => None,
        };
        self.components[scope.component].definitions.instance(&instance, of);
        match instance {
            ComponentInstance::Instantiate { args, .. } => {
                self.components[scope.component].instantiates.extend(of);
                args.iter().for_each(|arg| self.pass(scope, arg.kind, arg.index));
            }
            ComponentInstance::FromExports(exports) => {
                exports.iter().for_each(|export| self.pass(scope, export.kind, export.index));
            }
        }
    }

    fn core_instance(&mut self, scope: &mut Scope<'a>, instance: Instance<'a>) {
        let instance = match instance {
            Instance::Instantiate { module_index, args } => {
                let module = at(&scope.modules, module_index);
                if let Some(module) = module {
                    self.components[scope.component].core_instantiates.push(module);
                    self.link(scope, module, &args);
                }
                CoreInstance::Of(module)
            }
            Instance::FromExports(exports) => {
                let mut bag = Bag::default();
                for export in exports.iter() {
                    match export.kind {
                        ExternalKind::Func | ExternalKind::FuncExact => {
                            let function = scope.core_functions.get(export.index as usize);
                            bag.functions.insert(export.name, function.and_then(|it| it.origin));
                        }
                        ExternalKind::Table => bag.tables.push(at(&scope.core_tables, export.index)),
                        _ => {}
                    }
                }
                CoreInstance::Bag(bag)
            }
        };
        scope.core_instances.push(instance);
    }

    /// Notes the origins of a module's imports when it is instantiated.
    fn link(&mut self, scope: &mut Scope<'a>, module: usize, args: &[InstantiationArg<'a>]) {
        let Scope { core_instances, linked, .. } = scope;
        let mut sources = Vec::new();
        let mut is_new = false;
        for arg in args {
            let source = match core_instances.get(arg.index as usize) {
                Some(CoreInstance::Of(Some(origin))) => Source::Module(*origin),
                Some(CoreInstance::Bag(bag)) => Source::Bag(bag),
                Some(CoreInstance::Of(None)) | None => continue,
            };
            sources.push((arg.name, source));
            // The same link again would take time for each import of a large module.
            if linked.insert((module, arg.name, arg.index)) {
                is_new = true;
                self.links.link(module, arg.name, source);
            }
        }
        if is_new {
            self.links.fix(module, &sources);
        }
    }

    /// Notes that a definition leaves its component.
    fn pass(&mut self, scope: &Scope<'a>, kind: ComponentExternalKind, index: u32) {
        match kind {
            ComponentExternalKind::Module => {
                if let Some(module) = at(&scope.modules, index) {
                    self.modules[module].is_passed = true;
                }
            }
            ComponentExternalKind::Component => {
                if let Some(component) = at(&scope.components, index) {
                    self.components[component].is_passed = true;
                }
            }
            _ => {}
        }
    }
}

impl Scope<'_> {
    /// Adds a definition from elsewhere.
    fn unknown(&mut self, kind: ComponentExternalKind) {
        match kind {
            ComponentExternalKind::Module => self.modules.push(None),
            ComponentExternalKind::Component => self.components.push(None),
            _ => {}
        }
    }
}

impl Nested<'_> {
    fn name_by(&mut self, name: ComponentName<'_>) {
        match name {
            ComponentName::Component { name, .. } => self.name = Some(name.to_owned()),
            ComponentName::CoreModules(map) => {
                let namings = map.into_iter().map_while(Result::ok);
                self.module_names.extend(namings.map(|naming| (naming.index, naming.name.to_owned())));
            }
            _ => {}
        }
    }
}

/// The definition with an index, if it is known.
fn at(items: &[Option<usize>], index: u32) -> Option<usize> {
    items.get(index as usize).copied().flatten()
}
