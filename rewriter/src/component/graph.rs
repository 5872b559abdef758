//! Writes a component anew, with the modules that have probes and what these need.

use super::scan::{ROOT, Scan};
use super::scope::Scope;
use super::{canonical, guard, prelude};
use crate::{Error, ErrorKind, Warning};
use kperf_abi::names::{COMPONENT_HOST, MODULE};
use wasm_encoder::reencode::{self, Reencode, ReencodeComponent, component_utils};
use wasm_encoder::{self as encoder, ComponentExportKind, ModuleArg};
use wasmparser::{
    CanonicalFunction, CanonicalOption, ComponentAlias, ComponentExternalKind, ComponentOuterAliasKind,
};

type Result<T> = std::result::Result<T, reencode::Error<Error>>;

/// How many recorders a component has at most: each takes 3 kB, and 128 KiB when it runs.
const MAX_RECORDERS: usize = 1000;
/// How many instances, of modules and of components, engines take in a component.
const MAX_INSTANCES: usize = 1000;

/// What each component (by its number in the scan) needs.
pub(super) struct Needs {
    /// A recorder, for modules with probes that it instantiates.
    recorder: Vec<bool>,
    /// The host's functions, for its own recorder or for components that it instantiates.
    host: Vec<bool>,
}

impl Needs {
    /// `modules`: the bytes of those that have probes.
    pub(super) fn find(scan: &Scan<'_>, modules: &[Option<&[u8]>]) -> std::result::Result<Needs, Error> {
        let has_probes = |&module: &usize| modules.get(module).is_some_and(Option::is_some);
        let recorder: Vec<bool> = scan
            .components
            .iter()
            .map(|component| component.core_instantiates.iter().any(has_probes))
            .collect();
        let stacks = scan.components.iter().zip(&recorder).filter(|(_, has)| **has);
        if let Some((what, offset)) = stacks.filter_map(|(component, _)| component.stacks).next() {
            let what = format!("{what}, whose calls would be nested in those of others,");
            return Err(ErrorKind::Unsupported { what, offset }.into());
        }
        let recorders = recorder.iter().filter(|needed| **needed).count();
        if recorders > MAX_RECORDERS {
            let (count, limit) = (recorders, MAX_RECORDERS);
            return Err(ErrorKind::TooMany { what: "components with a recorder", count, limit }.into());
        }
        let mut users = vec![Vec::new(); scan.components.len()];
        for (user, component) in scan.components.iter().enumerate() {
            component.instantiates.iter().for_each(|&used| users[used].push(user));
        }
        let mut host = recorder.clone();
        let mut new: Vec<usize> = (0..host.len()).filter(|&n| host[n]).collect();
        while let Some(used) = new.pop() {
            for &user in &users[used] {
                if !std::mem::replace(&mut host[user], true) {
                    new.push(user);
                }
            }
        }
        Ok(Needs { recorder, host })
    }
}

/// The component with these modules in the place of its own.
pub(super) fn write(
    wasm: &[u8],
    scan: &Scan<'_>,
    modules: &[Option<&[u8]>],
    needs: &Needs,
    warnings: &mut Vec<Warning>,
) -> std::result::Result<Vec<u8>, Error> {
    let mut graph =
        Graph { scan, modules, needs, scopes: Vec::new(), next_component: 0, next_module: 0, warnings };
    let mut out = encoder::Component::new();
    graph.begin(&mut out);
    let written = graph.parse_component(&mut out, wasmparser::Parser::new(0), wasm);
    written.and_then(|()| graph.end()).map_err(|error| match error {
        reencode::Error::UserError(error) => error,
        reencode::Error::ParseError(error) => error.into(),
        other => Error::malformed(0, other.to_string()),
    })?;
    Ok(out.finish())
}

struct Graph<'a> {
    scan: &'a Scan<'a>,
    modules: &'a [Option<&'a [u8]>],
    needs: &'a Needs,
    /// The component that is written, inside those around it.
    scopes: Vec<Scope>,
    next_component: usize,
    next_module: usize,
    warnings: &'a mut Vec<Warning>,
}

impl Graph<'_> {
    /// The next component begins.
    fn begin(&mut self, out: &mut encoder::Component) {
        let n = self.next_component;
        self.next_component += 1;
        let mut scope = Scope::of(n);
        if self.needs.host[n] {
            prelude::import_host(&mut scope, out);
        }
        if let Some(host) = scope.host.filter(|_| self.needs.recorder[n]) {
            prelude::add_recorder(&mut scope, host, out);
        }
        self.scopes.push(scope);
    }

    /// The scope that is written. There always is one: what calls this is inside of a component.
    fn top(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::of(ROOT));
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// The scope so many levels around the one that is written.
    fn outer(&mut self, count: u32) -> &mut Scope {
        match (self.scopes.len() - 1).checked_sub(count as usize) {
            Some(n) => &mut self.scopes[n],
            None => self.top(),
        }
    }

    /// Writes guards, if this canonical function wants one that isn't there: those of all functions of the component that want one
    /// and can be had by now. `before`: the functions that are to be written in front.
    fn guard(
        &mut self,
        function: &CanonicalFunction,
        before: &mut encoder::CanonicalFunctionSection,
        out: &mut encoder::Component,
    ) {
        let scan = self.scan;
        let scope = self.top();
        let Some((recorder, component)) = scope.recorder.zip(scope.component) else { return };
        if canonical::guarded(function).all(|wanted| scope.guards.contains_key(&wanted)) {
            return;
        }
        let component = &scan.components[component];
        let mut guarded = Vec::new();
        for &wanted in component.guarded.iter().filter(|wanted| !scope.guards.contains_key(wanted)) {
            let place =
                component.places.get(&wanted).filter(|(instance, _)| scope.core_instances.has(*instance));
            let from = match place {
                _ if scope.core_functions.has(wanted) => {
                    guard::From::Function(scope.core_functions.get(wanted))
                }
                Some((instance, name)) => guard::From::Export(scope.core_instances.get(*instance), name),
                None => continue,
            };
            let ty = component.core_functions.get(wanted as usize).cloned().flatten();
            guarded.extend(ty.map(|ty| guard::Guarded { old: wanted, from, ty }));
        }
        if !guarded.is_empty() {
            // They may be defined in this very section.
            out.section(&std::mem::take(before));
            guard::add(scope, recorder, &guarded, out);
        }
    }

    /// The component that was written last has ended.
    fn end(&mut self) -> Result<()> {
        let scope = self.scopes.pop().unwrap_or_default();
        let count = scope.core_instances.len() + scope.instances.len();
        if count > MAX_INSTANCES && scope.recorder.is_some() {
            let (what, limit) = ("instances in a component", MAX_INSTANCES);
            return Err(reencode::Error::UserError(ErrorKind::TooMany { what, count, limit }.into()));
        }
        Ok(())
    }

    /// A function that is called while the component may not be left.
    fn guarded(&mut self, function: u32) -> u32 {
        let scope = self.top();
        match scope.guards.get(&function) {
            Some(&guard) => guard,
            None => scope.index(|scope| &scope.core_functions, function),
        }
    }
}

macro_rules! core_indices {
    ($($method:ident: $space:ident),*) => {
        $(fn $method(&mut self, index: u32) -> Result<u32> {
            Ok(self.top().index(|scope| &scope.$space, index))
        })*
    };
}

macro_rules! indices {
    ($($method:ident: $space:ident),*) => {
        $(fn $method(&mut self, index: u32) -> u32 {
            self.top().index(|scope| &scope.$space, index)
        })*
    };
}

macro_rules! outer_indices {
    ($($method:ident: $space:ident),*) => {
        $(fn $method(&mut self, count: u32, index: u32) -> u32 {
            self.outer(count).index(|scope| &scope.$space, index)
        })*
    };
}

impl Reencode for Graph<'_> {
    type Error = Error;

    core_indices! {
        function_index: core_functions, memory_index: core_memories, table_index: core_tables,
        global_index: core_globals, tag_index: core_tags, type_index: core_types
    }
}

impl ReencodeComponent for Graph<'_> {
    indices! {
        component_type_index: types, component_instance_index: instances, component_func_index: functions,
        component_index: components, module_index: core_modules, instance_index: core_instances,
        component_value_index: values
    }

    outer_indices! {
        outer_component_type_index: types, outer_component_index: components, outer_module_index: core_modules
    }

    fn outer_type_index(&mut self, count: u32, index: u32) -> Result<u32> {
        Ok(self.outer(count).index(|scope| &scope.core_types, index))
    }

    // Scopes of types. Those of components are below.
    fn push_depth(&mut self) {
        self.scopes.push(Scope::default());
    }

    fn pop_depth(&mut self) {
        self.scopes.pop();
    }

    fn parse_component_submodule(
        &mut self,
        out: &mut encoder::Component,
        _: wasmparser::Parser,
        module: &[u8],
    ) -> Result<()> {
        let n = self.next_module;
        self.next_module += 1;
        let data = self.modules.get(n).copied().flatten().unwrap_or(module);
        out.section(&encoder::RawSection { id: prelude::MODULE_SECTION, data });
        self.top().keep_module(Some(n));
        Ok(())
    }

    fn parse_component_subcomponent(
        &mut self,
        out: &mut encoder::Component,
        parser: wasmparser::Parser,
        nested: &[u8],
        whole: &[u8],
    ) -> Result<()> {
        let n = self.next_component;
        let mut component = encoder::Component::new();
        self.begin(&mut component);
        component_utils::parse_component(self, &mut component, parser, nested, whole)?;
        self.end()?;
        out.section(&encoder::NestedComponentSection(&component));
        self.top().keep_component(Some(n));
        Ok(())
    }

    fn parse_component_type_section(
        &mut self,
        out: &mut encoder::ComponentTypeSection,
        section: wasmparser::ComponentTypeSectionReader<'_>,
    ) -> Result<()> {
        for ty in section {
            self.parse_component_type(out.ty(), ty?)?;
            self.top().types.keep();
        }
        Ok(())
    }

    fn parse_core_type_section(
        &mut self,
        out: &mut encoder::CoreTypeSection,
        section: wasmparser::CoreTypeSectionReader<'_>,
    ) -> Result<()> {
        for ty in section {
            let ty = ty?;
            let count = match &ty {
                wasmparser::CoreType::Rec(group) => group.types().len(),
                wasmparser::CoreType::Module(_) => 1,
            };
            // Before they are written: types of a group may name each other.
            (0..count).for_each(|_| self.top().core_types.keep());
            self.parse_component_core_type(out.ty(), ty)?;
        }
        Ok(())
    }

    fn parse_component_import_section(
        &mut self,
        out: &mut encoder::ComponentImportSection,
        section: wasmparser::ComponentImportSectionReader<'_>,
    ) -> Result<()> {
        for import in section {
            let import = import?;
            out.import(import.name, self.component_type_ref(import.ty)?);
            self.top().keep(import.ty.kind());
        }
        Ok(())
    }

    fn parse_component_export(
        &mut self,
        out: &mut encoder::ComponentExportSection,
        export: wasmparser::ComponentExport<'_>,
    ) -> Result<()> {
        let (kind, index) = (export.kind, export.index);
        component_utils::parse_component_export(self, out, export)?;
        let scope = self.top();
        match kind {
            ComponentExternalKind::Module => scope.keep_module(scope.module(index)),
            ComponentExternalKind::Component => scope.keep_component(scope.component(index)),
            kind => scope.keep(kind),
        }
        Ok(())
    }

    fn parse_component_alias_section(
        &mut self,
        out: &mut encoder::ComponentAliasSection,
        section: wasmparser::ComponentAliasSectionReader<'_>,
    ) -> Result<()> {
        for alias in section {
            let alias = alias?;
            let defines = match &alias {
                ComponentAlias::InstanceExport { kind, .. } => Defines::Unknown(*kind),
                ComponentAlias::CoreInstanceExport { kind, .. } => Defines::Core(*kind),
                ComponentAlias::Outer { kind, count, index } => match kind {
                    ComponentOuterAliasKind::CoreModule => Defines::Module(self.outer(*count).module(*index)),
                    ComponentOuterAliasKind::Component => {
                        Defines::Component(self.outer(*count).component(*index))
                    }
                    ComponentOuterAliasKind::CoreType => Defines::CoreType,
                    ComponentOuterAliasKind::Type => Defines::Unknown(ComponentExternalKind::Type),
                },
            };
            out.alias(self.component_alias(alias)?);
            let scope = self.top();
            match defines {
                Defines::Unknown(kind) => scope.keep(kind),
                Defines::Core(kind) => scope.keep_core(kind),
                Defines::Module(known) => scope.keep_module(known),
                Defines::Component(known) => scope.keep_component(known),
                Defines::CoreType => scope.core_types.keep(),
            }
        }
        Ok(())
    }

    fn parse_instance(
        &mut self,
        out: &mut encoder::InstanceSection,
        instance: wasmparser::Instance<'_>,
    ) -> Result<()> {
        match instance {
            wasmparser::Instance::Instantiate { module_index, args } => {
                let modules = self.modules;
                let scope = self.top();
                let has_probes = scope.module(module_index).and_then(|n| *modules.get(n)?).is_some();
                if has_probes && args.iter().any(|arg| arg.name == MODULE) {
                    let name = format!("{MODULE}.*");
                    return Err(reencode::Error::UserError(ErrorKind::ReservedName { name }.into()));
                }
                let recorder = scope.recorder.filter(|_| has_probes);
                let own = args.iter().map(|arg| (arg.name, scope.core_instances.get(arg.index)));
                let all = own.chain(recorder.map(|recorder| (MODULE, recorder)));
                let all: Vec<_> = all.map(|(name, instance)| (name, ModuleArg::Instance(instance))).collect();
                out.instantiate(scope.core_modules.get(module_index), all);
            }
            instance => component_utils::parse_instance(self, out, instance)?,
        }
        self.top().core_instances.keep();
        Ok(())
    }

    fn parse_component_instance(
        &mut self,
        out: &mut encoder::ComponentInstanceSection,
        instance: wasmparser::ComponentInstance<'_>,
    ) -> Result<()> {
        match instance {
            wasmparser::ComponentInstance::Instantiate { component_index, args } => {
                let component = self.top().component(component_index);
                let needs_host = component.is_some_and(|n| self.needs.host[n]);
                let host = self.top().host.filter(|_| needs_host);
                let mut all: Vec<(&str, ComponentExportKind, u32)> = Vec::with_capacity(args.len() + 1);
                for arg in args.iter() {
                    all.push((arg.name, arg.kind.into(), self.component_external_index(arg.kind, arg.index)));
                }
                all.extend(host.map(|host| (COMPONENT_HOST, ComponentExportKind::Instance, host)));
                out.instantiate(self.component_index(component_index), all);
            }
            instance => component_utils::parse_component_instance(self, out, instance)?,
        }
        self.top().instances.keep();
        Ok(())
    }

    fn parse_component_payload(
        &mut self,
        out: &mut encoder::Component,
        payload: wasmparser::Payload<'_>,
        whole: &[u8],
    ) -> Result<()> {
        let wasmparser::Payload::ComponentCanonicalSection(section) = payload else {
            return component_utils::parse_component_payload(self, out, payload, whole);
        };
        let mut functions = encoder::CanonicalFunctionSection::new();
        for function in section {
            let function = function?;
            self.guard(&function, &mut functions, out);
            self.parse_component_canonical(&mut functions, function)?;
        }
        out.section(&functions);
        Ok(())
    }

    fn parse_component_canonical(
        &mut self,
        out: &mut encoder::CanonicalFunctionSection,
        function: CanonicalFunction,
    ) -> Result<()> {
        let lifts = matches!(function, CanonicalFunction::Lift { .. });
        component_utils::parse_component_canonical(self, out, function)?;
        let scope = self.top();
        if lifts {
            scope.functions.keep()
        } else {
            scope.core_functions.keep()
        }
        Ok(())
    }

    fn canonical_option(&mut self, option: CanonicalOption) -> Result<encoder::CanonicalOption> {
        Ok(match option {
            CanonicalOption::Realloc(function) => encoder::CanonicalOption::Realloc(self.guarded(function)),
            CanonicalOption::PostReturn(function) => {
                encoder::CanonicalOption::PostReturn(self.guarded(function))
            }
            option => component_utils::canonical_option(self, option)?,
        })
    }

    fn parse_component_start_section(
        &mut self,
        out: &mut encoder::Component,
        function: wasmparser::ComponentStartFunction,
    ) -> Result<()> {
        let results = function.results;
        component_utils::parse_component_start_section(self, out, function)?;
        (0..results).for_each(|_| self.top().values.keep());
        Ok(())
    }

    fn parse_component_custom_section(
        &mut self,
        out: &mut encoder::Component,
        section: wasmparser::CustomSectionReader<'_>,
    ) -> Result<()> {
        let name = section.name();
        match section.as_known() {
            wasmparser::KnownCustom::ComponentName(names) => {
                match self.custom_component_name_section(names) {
                    Ok(names) => _ = out.section(&names),
                    Err(_) => self.warnings.push(Warning::DroppedSection { name: name.to_owned() }),
                }
            }
            _ => _ = out.section(&self.custom_section(section)?),
        }
        Ok(())
    }
}

/// What an alias defines.
enum Defines {
    Unknown(ComponentExternalKind),
    Core(wasmparser::ExternalKind),
    Module(Option<usize>),
    Component(Option<usize>),
    CoreType,
}
