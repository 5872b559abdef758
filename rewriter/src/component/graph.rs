//! Writes a component with its modules' probes, the recorder and the guards.

mod around;

use super::exports::Export;
use super::needs::Needs;
use super::prelude::{self, Recorder};
use super::scan::{ROOT, Scan};
use super::scope::{Scope, Wrapped};
use crate::error::{Error, ErrorKind};
use crate::warning::Warning;
use kperf_abi::SymbolTable;
use kperf_abi::names::{COMPONENT_HOST, MODULE};
use kperf_abi::symbols::ModuleIdentity;
use wasm_encoder::reencode::{self, Reencode, ReencodeComponent, component_utils};
use wasm_encoder::{self as encoder, ComponentExportKind, ModuleArg};
use wasmparser::{
    CanonicalFunction, CanonicalOption, ComponentAlias, ComponentExternalKind, ComponentOuterAliasKind,
};

type Result<T> = std::result::Result<T, reencode::Error<Error>>;

/// The most instances of modules and of components that engines take in a component.
const MAX_INSTANCES: usize = 1000;

/// What guards need: the calls from outside that are recorded.
pub(super) struct OutsideCalls<'a> {
    /// The functions that each component lifts.
    pub(super) exports: &'a [Vec<Export>],
    /// The prefix of each component's modules: `app/shop/`.
    pub(super) paths: &'a [String],
    /// The identity for the symbol tables, except the name.
    pub(super) identity: ModuleIdentity,
    /// The first id.
    pub(super) next_id: u32,
    /// The symbol tables of the guards.
    pub(super) tables: Vec<SymbolTable>,
}

/// Writes the component with these modules in the place of its own.
pub(super) fn write(
    wasm: &[u8],
    scan: &Scan<'_>,
    modules: &[Option<&[u8]>],
    recorder: &Recorder,
    needs: &Needs,
    outside: &mut OutsideCalls<'_>,
    warnings: &mut Vec<Warning>,
) -> std::result::Result<Vec<u8>, Error> {
    let (scopes, next_component, next_module) = (Vec::new(), 0, 0);
    let mut graph =
        Graph { scan, modules, recorder, needs, outside, scopes, next_component, next_module, warnings };
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

struct Graph<'a, 't> {
    scan: &'a Scan<'a>,
    modules: &'a [Option<&'a [u8]>],
    recorder: &'a Recorder,
    needs: &'a Needs,
    outside: &'a mut OutsideCalls<'t>,
    /// The component that is written, after those around it.
    scopes: Vec<Scope>,
    next_component: usize,
    next_module: usize,
    warnings: &'a mut Vec<Warning>,
}

impl Graph<'_, '_> {
    /// Begins the next component.
    fn begin(&mut self, out: &mut encoder::Component) {
        let n = self.next_component;
        self.next_component += 1;
        let mut scope = Scope::of(n);
        if self.needs.host[n] {
            prelude::import_host(&mut scope, self.recorder, out);
        }
        if let Some(host) = scope.host.filter(|_| self.needs.recorder[n]) {
            prelude::add_recorder(&mut scope, host, self.recorder, out);
        }
        self.scopes.push(scope);
    }

    /// The scope that is written. There always is one inside a component.
    fn top(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::of(ROOT));
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// The scope this many levels out.
    fn outer(&mut self, count: u32) -> &mut Scope {
        match (self.scopes.len() - 1).checked_sub(count as usize) {
            Some(n) => &mut self.scopes[n],
            None => self.top(),
        }
    }

    /// Ends the component that was written last.
    fn end(&mut self) -> Result<()> {
        let scope = self.scopes.pop().unwrap_or_default();
        check_instances(&scope)
    }

    /// The new index of a function that the canonical ABI calls: its guard's, if it has one.
    fn guarded(&mut self, function: u32) -> u32 {
        let scope = self.top();
        match scope.guards.get(&Wrapped::Held(function)) {
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

impl Reencode for Graph<'_, '_> {
    type Error = Error;

    core_indices! {
        function_index: core_functions, memory_index: core_memories, table_index: core_tables,
        global_index: core_globals, tag_index: core_tags, type_index: core_types
    }
}

impl ReencodeComponent for Graph<'_, '_> {
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

    // Scopes of types. Scopes of components are below.
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
            // Before they are written, since types of a group may name each other.
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
            self.guard(&function, &mut functions, out)?;
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
        let CanonicalFunction::Lift { core_func_index, type_index, options } = function else {
            component_utils::parse_component_canonical(self, out, function)?;
            self.top().core_functions.keep();
            return Ok(());
        };
        let mut written = Vec::with_capacity(options.len());
        for option in &options {
            written.push(self.canonical_option(*option)?);
        }
        let (core, ty) = (self.function_index(core_func_index)?, self.component_type_index(type_index));
        let scope = self.top();
        let core = scope.guards.get(&Wrapped::Lifted(scope.lifts)).copied().unwrap_or(core);
        out.lift(core, ty, written);
        scope.functions.keep();
        scope.lifts += 1;
        Ok(())
    }

    fn canonical_option(&mut self, option: CanonicalOption) -> Result<encoder::CanonicalOption> {
        Ok(match option {
            CanonicalOption::Realloc(function) => encoder::CanonicalOption::Realloc(self.guarded(function)),
            CanonicalOption::PostReturn(function) => {
                encoder::CanonicalOption::PostReturn(self.guarded(function))
            }
            CanonicalOption::Callback(function) => {
                let index = self.function_index(function)?;
                let scope = self.top();
                let ours = scope.guards.get(&Wrapped::Callback(scope.lifts)).copied();
                encoder::CanonicalOption::Callback(ours.unwrap_or(index))
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

/// The kind of definition that an alias makes.
enum Defines {
    Unknown(ComponentExternalKind),
    Core(wasmparser::ExternalKind),
    Module(Option<usize>),
    Component(Option<usize>),
    CoreType,
}

/// Fails if a component with a recorder has more instances than engines take.
fn check_instances(scope: &Scope) -> Result<()> {
    let count = scope.core_instances.len() + scope.instances.len();
    if count > MAX_INSTANCES && scope.recorder.is_some() {
        let (what, limit) = ("instances in a component", MAX_INSTANCES);
        return Err(reencode::Error::UserError(ErrorKind::TooMany { what, count, limit }.into()));
    }
    Ok(())
}
