//! What stands at the front of a component: the import of the host's functions, and the recorder where one is needed.

use super::scope::Scope;
use kperf_abi::block::MEMORY_PAGES;
use kperf_abi::names::{COMPONENT_HOST, HOST_ATTACH, HOST_FLUSH, HOST_MEMORY, HOST_MODULE, HOST_NOW};
use kperf_abi::recorder::Form;
use wasm_encoder::{
    Alias, CanonicalFunctionSection, CanonicalOption, Component, ComponentAliasSection, ComponentExportKind,
    ComponentImportSection, ComponentTypeRef, ComponentTypeSection, ComponentValType, ExportKind,
    ExportSection, InstanceSection, InstanceType, MemorySection, MemoryType, Module, ModuleArg,
    PrimitiveValType,
};

/// The id of a section with a core module.
pub(super) const MODULE_SECTION: u8 = 1;
/// The host's functions, in the order in which they are lowered.
const FUNCTIONS: [&str; 3] = [HOST_NOW, HOST_ATTACH, HOST_FLUSH];

/// Imports the instance of the host's functions.
pub(super) fn import_host(scope: &mut Scope, out: &mut Component) {
    use PrimitiveValType::{U8, U32, U64};
    let primitive = ComponentValType::Primitive;
    let mut instance = InstanceType::new();
    instance.ty().function().params([] as [(&str, ComponentValType); 0]).result(Some(primitive(U64)));
    instance.ty().defined_type().list(U8);
    let bytes = ComponentValType::Type(1);
    instance.ty().function().params([("memory", bytes)]).result(Some(primitive(U32)));
    let flushed = [
        ("lane", primitive(U32)),
        ("depth", primitive(U32)),
        ("last", primitive(U64)),
        ("lost", primitive(U64)),
        ("block", bytes),
    ];
    instance.ty().function().params(flushed).result(None);
    for (name, ty) in [(HOST_NOW, 0), (HOST_ATTACH, 2), (HOST_FLUSH, 3)] {
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

/// The recorder's memory, the host's functions lowered for it, and the recorder. `host`: the instance of these functions.
pub(super) fn add_recorder(scope: &mut Scope, host: u32, out: &mut Component) {
    let memory_module = module(scope, &memory_module(), out);
    let mut instances = InstanceSection::new();
    instances.instantiate(memory_module, [] as [(&str, ModuleArg); 0]);
    out.section(&instances);
    let mut aliases = ComponentAliasSection::new();
    let instance = scope.core_instances.add();
    aliases.alias(Alias::CoreInstanceExport { instance, kind: ExportKind::Memory, name: HOST_MEMORY });
    let memory = scope.core_memories.add();
    let functions = FUNCTIONS.map(|name| {
        aliases.alias(Alias::InstanceExport { instance: host, kind: ComponentExportKind::Func, name });
        scope.functions.add()
    });
    out.section(&aliases);
    let mut lowered = CanonicalFunctionSection::new();
    let exports = FUNCTIONS.iter().zip(functions).map(|(&name, function)| {
        let takes_bytes = name != HOST_NOW;
        lowered.lower(function, takes_bytes.then_some(CanonicalOption::Memory(memory)));
        (name, ExportKind::Func, scope.core_functions.add())
    });
    let exports: Vec<_> = exports.chain([(HOST_MEMORY, ExportKind::Memory, memory)]).collect();
    out.section(&lowered);
    let recorder = module(scope, Form::Component.wasm(), out);
    let mut instances = InstanceSection::new();
    instances.export_items(exports);
    let bag = scope.core_instances.add();
    instances.instantiate(recorder, [(HOST_MODULE, ModuleArg::Instance(bag))]);
    out.section(&instances);
    scope.recorder = Some(scope.core_instances.add());
}

/// A module that has and exports the recorder's memory. (The recorder can't: its imports are lowered with that memory.)
fn memory_module() -> Vec<u8> {
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: MEMORY_PAGES.into(),
        maximum: Some(MEMORY_PAGES.into()),
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut exports = ExportSection::new();
    exports.export(HOST_MEMORY, ExportKind::Memory, 0);
    let mut module = Module::new();
    module.section(&memories).section(&exports);
    module.finish()
}

/// Writes a core module of ours; answers its index.
pub(super) fn module(scope: &mut Scope, wasm: &[u8], out: &mut Component) -> u32 {
    out.section(&wasm_encoder::RawSection { id: MODULE_SECTION, data: wasm });
    scope.core_modules.add()
}
