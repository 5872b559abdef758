//! Functions that run while their component may not be left: `realloc` and `post-return`. The host can't be called there, not
//! even by the recorder. So a function of ours stands around each, which tells the recorder to hold back.
//!
//! ```wat
//! (func (export "0") (param i32)
//!   (global.set $hold (i32.add (global.get $hold) (i32.const 1)))
//!   (call $f (local.get 0))
//!   (global.set $hold (i32.sub (global.get $hold) (i32.const 1))))
//! ```

use super::prelude;
use super::scope::Scope;
use kperf_abi::names::{HOLD, MODULE};
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{
    Alias, CodeSection, Component, ComponentAliasSection, EntityType, ExportKind, ExportSection, Function,
    FunctionSection, GlobalType, ImportSection, InstanceSection, Instruction, Module, ModuleArg, TypeSection,
    ValType,
};
use wasmparser::FuncType;

/// The import module of what is guarded.
const GUARDED: &str = "guarded";

/// A core function that gets a guard.
pub(super) struct Guarded<'a> {
    /// Its index in the original.
    pub(super) old: u32,
    pub(super) from: From<'a>,
    pub(super) ty: FuncType,
}

/// Where to find it, by new indices.
pub(super) enum From<'a> {
    Function(u32),
    /// A core instance exports it, and the alias for that is not yet written.
    Export(u32, &'a str),
}

/// Writes a module with a guard for each of these core functions, and an instance of it.
pub(super) fn add(scope: &mut Scope, recorder: u32, functions: &[Guarded<'_>], out: &mut Component) {
    let module = prelude::module(scope, &module(functions), out);
    let names: Vec<String> = (0..functions.len()).map(|n| n.to_string()).collect();
    let mut found = ComponentAliasSection::new();
    let mut exports = Vec::with_capacity(functions.len());
    for (function, name) in functions.iter().zip(&names) {
        let index = match function.from {
            From::Function(index) => index,
            From::Export(instance, name) => {
                found.alias(Alias::CoreInstanceExport { instance, kind: ExportKind::Func, name });
                scope.core_functions.add()
            }
        };
        exports.push((name.as_str(), ExportKind::Func, index));
    }
    if !found.is_empty() {
        out.section(&found);
    }
    let mut instances = InstanceSection::new();
    instances.export_items(exports);
    let bag = scope.core_instances.add();
    let args = [(GUARDED, ModuleArg::Instance(bag)), (MODULE, ModuleArg::Instance(recorder))];
    instances.instantiate(module, args);
    out.section(&instances);
    let instance = scope.core_instances.add();
    let mut aliases = ComponentAliasSection::new();
    for (function, name) in functions.iter().zip(&names) {
        aliases.alias(Alias::CoreInstanceExport { instance, kind: ExportKind::Func, name });
        let guard = scope.core_functions.add();
        scope.guards.insert(function.old, guard);
    }
    out.section(&aliases);
}

fn module(functions: &[Guarded<'_>]) -> Vec<u8> {
    let (mut types, mut imports) = (TypeSection::new(), ImportSection::new());
    let (mut defined, mut exports, mut code) =
        (FunctionSection::new(), ExportSection::new(), CodeSection::new());
    for (n, Guarded { ty, .. }) in functions.iter().enumerate() {
        let n = n as u32;
        types.ty().function(core_types(ty.params()), core_types(ty.results()));
        imports.import(GUARDED, &n.to_string(), EntityType::Function(n));
        defined.function(n);
        exports.export(&n.to_string(), ExportKind::Func, functions.len() as u32 + n);
        code.function(&guard(n, ty.params().len() as u32));
    }
    let hold = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
    imports.import(MODULE, HOLD, EntityType::Global(hold));
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&defined).section(&exports).section(&code);
    module.finish()
}

fn guard(function: u32, params: u32) -> Function {
    let add = |step: Instruction<'static>| {
        [Instruction::GlobalGet(0), Instruction::I32Const(1), step, Instruction::GlobalSet(0)]
    };
    let mut guard = Function::new([]);
    let gets = (0..params).map(Instruction::LocalGet);
    let call = gets.chain([Instruction::Call(function)]);
    let code = add(Instruction::I32Add).into_iter().chain(call).chain(add(Instruction::I32Sub));
    code.chain([Instruction::End]).for_each(|instruction| _ = guard.instruction(&instruction));
    guard
}

/// These are numbers: whatever the canonical ABI calls takes and returns no references.
fn core_types(types: &[wasmparser::ValType]) -> Vec<ValType> {
    types.iter().filter_map(|&ty| RoundtripReencoder.val_type(ty).ok()).collect()
}
