//! Writes the start of a component: the import of the host's functions, and the recorder.

use super::scope::Scope;
use kperf_abi::block::MEMORY_PAGES;
use kperf_abi::names::{
    COMPONENT_HOST, HOST_ATTACH, HOST_ATTACH_COUNTING, HOST_ATTACH_PROFILE, HOST_FLUSH, HOST_MEMORY,
    HOST_MODULE, HOST_NOW, STATE_FUNCTIONS, STATE_ID_BASE,
};
use kperf_abi::recorder::Form;
use kperf_abi::shadow;
use std::ops::Range;
use wasm_encoder::{
    Alias, CanonicalFunctionSection, CanonicalOption, Component, ComponentAliasSection, ComponentExportKind,
    ComponentImportSection, ComponentTypeRef, ComponentTypeSection, ComponentValType, ConstExpr, ExportKind,
    ExportSection, GlobalSection, GlobalType, InstanceSection, InstanceType, MemorySection, MemoryType,
    Module, ModuleArg, PrimitiveValType, ValType,
};

/// The id of a section with a core module.
pub(super) const MODULE_SECTION: u8 = 1;

/// What a recorder in a component records.
#[derive(Clone, Debug)]
pub(super) enum Recorder {
    /// Events, with the host's time.
    Trace,
    /// Events, with the number of instructions as their time.
    Counting,
    /// Counts of calls and a stack, for the functions with these ids.
    Profile(Range<u32>),
}

impl Recorder {
    fn form(&self) -> Form {
        match self {
            Recorder::Trace => Form::Component,
            Recorder::Counting => Form::ComponentInstructions,
            Recorder::Profile(_) => Form::ComponentProfile,
        }
    }

    /// The host's functions, in the order of their lowering.
    fn functions(&self) -> &'static [&'static str] {
        match self {
            Recorder::Trace => &[HOST_NOW, HOST_ATTACH, HOST_FLUSH],
            Recorder::Counting => &[HOST_ATTACH_COUNTING, HOST_FLUSH],
            Recorder::Profile(_) => &[HOST_ATTACH_PROFILE],
        }
    }

    /// The size of its memory in pages.
    fn pages(&self) -> u32 {
        match self {
            Recorder::Trace | Recorder::Counting => MEMORY_PAGES,
            Recorder::Profile(ids) => shadow::pages(ids.end - ids.start),
        }
    }
}

/// Imports the instance of the host's functions.
pub(super) fn import_host(scope: &mut Scope, recorder: &Recorder, out: &mut Component) {
    use PrimitiveValType::{U8, U32, U64};
    let primitive = ComponentValType::Primitive;
    let (u32, u64) = (primitive(U32), primitive(U64));
    let mut instance = InstanceType::new();
    instance.ty().defined_type().list(U8);
    let bytes = ComponentValType::Type(0);
    for (&name, ty) in recorder.functions().iter().zip(1..) {
        let mut function = instance.ty().function();
        match name {
            HOST_NOW => function.params([] as [(&str, ComponentValType); 0]).result(Some(u64)),
            HOST_FLUSH => function
                .params([("lane", u32), ("depth", u32), ("last", u64), ("lost", u64), ("block", bytes)])
                .result(None),
            HOST_ATTACH_PROFILE => {
                function.params([("memory", bytes), ("first", u32), ("functions", u32)]).result(None)
            }
            _ => function.params([("memory", bytes)]).result(Some(u32)),
        };
        instance.export(name, ComponentTypeRef::Func(ty));
    }
    let mut types = ComponentTypeSection::new();
    types.instance(&instance);
    out.section(&types);
    let ty = scope.types.add();
    let mut imports = ComponentImportSection::new();
    imports.import(COMPONENT_HOST, ComponentTypeRef::Instance(ty));
    out.section(&imports);
    scope.host = Some(scope.instances.add());
}

/// Writes the recorder's memory, the lowered host functions, and the recorder. `host`: the instance of these
/// functions.
pub(super) fn add_recorder(scope: &mut Scope, host: u32, recorder: &Recorder, out: &mut Component) {
    let memory_module = module(scope, &memory_module(recorder), out);
    let mut instances = InstanceSection::new();
    instances.instantiate(memory_module, [] as [(&str, ModuleArg); 0]);
    out.section(&instances);
    let mut aliases = ComponentAliasSection::new();
    let instance = scope.core_instances.add();
    aliases.alias(Alias::CoreInstanceExport { instance, kind: ExportKind::Memory, name: HOST_MEMORY });
    let mut exports = vec![(HOST_MEMORY, ExportKind::Memory, scope.core_memories.add())];
    let memory = exports[0].2;
    if let Recorder::Profile(_) = recorder {
        for name in [STATE_ID_BASE, STATE_FUNCTIONS] {
            aliases.alias(Alias::CoreInstanceExport { instance, kind: ExportKind::Global, name });
            exports.push((name, ExportKind::Global, scope.core_globals.add()));
        }
    }
    let functions = recorder.functions().iter().map(|&name| {
        aliases.alias(Alias::InstanceExport { instance: host, kind: ComponentExportKind::Func, name });
        (name, scope.functions.add())
    });
    let functions: Vec<_> = functions.collect();
    out.section(&aliases);
    let mut lowered = CanonicalFunctionSection::new();
    for (name, function) in functions {
        let takes_bytes = name != HOST_NOW;
        lowered.lower(function, takes_bytes.then_some(CanonicalOption::Memory(memory)));
        exports.push((name, ExportKind::Func, scope.core_functions.add()));
    }
    out.section(&lowered);
    let recorder = module(scope, recorder.form().wasm(), out);
    let mut instances = InstanceSection::new();
    instances.export_items(exports);
    let bag = scope.core_instances.add();
    instances.instantiate(recorder, [(HOST_MODULE, ModuleArg::Instance(bag))]);
    out.section(&instances);
    scope.recorder = Some(scope.core_instances.add());
}

/// A module that defines the recorder's memory and settings. The recorder can't define the memory, since its imports
/// are lowered with it.
fn memory_module(recorder: &Recorder) -> Vec<u8> {
    let pages = recorder.pages();
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: pages.into(),
        maximum: Some(pages.into()),
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut exports = ExportSection::new();
    exports.export(HOST_MEMORY, ExportKind::Memory, 0);
    let mut globals = GlobalSection::new();
    if let Recorder::Profile(ids) = recorder {
        for (name, value) in [(STATE_ID_BASE, ids.start), (STATE_FUNCTIONS, ids.end - ids.start)] {
            let ty = GlobalType { val_type: ValType::I32, mutable: false, shared: false };
            exports.export(name, ExportKind::Global, globals.len());
            globals.global(ty, &ConstExpr::i32_const(value as i32));
        }
    }
    let mut module = Module::new();
    module.section(&memories).section(&globals).section(&exports);
    module.finish()
}

/// Writes a core module; returns its index.
pub(super) fn module(scope: &mut Scope, wasm: &[u8], out: &mut Component) -> u32 {
    out.section(&wasm_encoder::RawSection { id: MODULE_SECTION, data: wasm });
    scope.core_modules.add()
}
