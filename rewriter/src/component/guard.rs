//! Writes guards: functions around core functions that the canonical ABI calls.
//!
//! - `realloc` and `post-return` run while their component may not be left. The host can't be called then, so the
//!   guard increases the recorder's `hold` meanwhile.
//! - A lifted function is called from outside, and its guard records that call. The call begins when the arguments
//!   are ready. It ends with `post-return` if there is one, because the host lifts the result before that.
//!
//! ```wat
//! (func $lifted (param i32) (result i32) (local $token i32)
//!   (if (global.get $returned) (then (call $leave (global.get $returned)) (global.set $returned (i32.const 0))))
//!   (local.set $token (call $enter (i32.const ID)))
//!   (call $f (local.get 0))
//!   (global.set $returned (local.get $token))    ;; or (call $leave (local.get $token))
//!   (call $look))
//! (func $post_return (param i32)
//!   (global.set $hold (i32.add (global.get $hold) (i32.const 1)))
//!   (call $g (local.get 0))
//!   (if (global.get $returned) (then (call $leave (global.get $returned)) (global.set $returned (i32.const 0))))
//!   (global.set $hold (i32.sub (global.get $hold) (i32.const 1))))
//! ```
//!
//! A host may skip `post-return`. Then the call ends where the next one begins.

use super::prelude;
use super::scope::{Scope, Wrapped};
use kperf_abi::names::{ENTER, HOLD, LEAVE, LOOK, MODULE, RETURNED, SYMBOLS_SECTION};
use kperf_abi::{FuncIndex, Symbol, SymbolTable};
use std::borrow::Cow;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{
    Alias, BlockType, CodeSection, Component, ComponentAliasSection, CustomSection, EntityType, ExportKind,
    ExportSection, Function, FunctionSection, GlobalType, ImportSection, InstanceSection, Instruction,
    Module, ModuleArg, NameMap, NameSection, TypeSection, ValType,
};
use wasmparser::FuncType;

/// The import module of the guarded functions.
const GUARDED: &str = "guarded";
/// The guard module's other imports: globals by index, and functions.
const HOLDS: u32 = 0;
const RETURNS: u32 = 1;
const ENTERS: u32 = 0;
const LEAVES: u32 = 1;
const LOOKS: u32 = 2;
const OURS: u32 = 3;

/// A core function with a guard.
pub(super) struct Guarded<'a> {
    pub(super) what: Wrapped,
    pub(super) from: From<'a>,
    pub(super) ty: FuncType,
    /// How its calls are recorded.
    pub(super) record: Option<CallRecord<'a>>,
}

/// The recording of a call from outside.
pub(super) struct CallRecord<'a> {
    pub(super) name: &'a str,
    pub(super) unnamed: bool,
    /// Whether `post-return` ends it.
    pub(super) has_post_return: bool,
}

/// Where to find it, by new indices.
pub(super) enum From<'a> {
    Function(u32),
    /// A core instance exports it, and no alias is written yet.
    Export(u32, &'a str),
}

/// Writes a module with a guard for each of these functions, and its instance. The table gets the symbols of recorded
/// calls.
pub(super) fn add(
    scope: &mut Scope,
    recorder: u32,
    functions: &[Guarded<'_>],
    table: &mut SymbolTable,
    out: &mut Component,
) {
    let module = prelude::module(scope, &module(functions, table), out);
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
        scope.guards.insert(function.what, guard);
    }
    out.section(&aliases);
}

fn module(functions: &[Guarded<'_>], table: &mut SymbolTable) -> Vec<u8> {
    let (mut types, mut imports) = (TypeSection::new(), ImportSection::new());
    let (mut defined, mut exports, mut code) =
        (FunctionSection::new(), ExportSection::new(), CodeSection::new());
    let mut names = NameMap::new();
    types.ty().function([ValType::I32], [ValType::I32]);
    types.ty().function([ValType::I32], []);
    types.ty().function([], []);
    imports.import(MODULE, ENTER, EntityType::Function(ENTERS));
    imports.import(MODULE, LEAVE, EntityType::Function(LEAVES));
    imports.import(MODULE, LOOK, EntityType::Function(LOOKS));
    for (n, Guarded { ty, .. }) in functions.iter().enumerate() {
        types.ty().function(core_types(ty.params()), core_types(ty.results()));
        imports.import(GUARDED, &n.to_string(), EntityType::Function(OURS + n as u32));
    }
    for name in [HOLD, RETURNED] {
        let ty = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
        imports.import(MODULE, name, EntityType::Global(ty));
    }
    for (n, Guarded { ty, record, .. }) in functions.iter().enumerate() {
        let n = n as u32;
        let index = OURS + functions.len() as u32 + n;
        defined.function(OURS + n);
        exports.export(&n.to_string(), ExportKind::Func, index);
        code.function(&match record {
            Some(record) => {
                let symbol = Symbol {
                    id: kperf_abi::FuncId(table.id_end()),
                    func_index: FuncIndex(index),
                    name: record.name.into(),
                    exported: true,
                    unnamed: record.unnamed,
                    ..Symbol::default()
                };
                names.append(index, record.name);
                let call = lifted(OURS + n, ty, symbol.id.0, record.has_post_return);
                table.symbols.push(symbol);
                call
            }
            None => held(OURS + n, ty),
        });
    }
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&defined).section(&exports).section(&code);
    if !table.symbols.is_empty() {
        let mut section = NameSection::new();
        section.functions(&names);
        module.section(&section);
        let data = Cow::Owned(table.to_bytes());
        module.section(&CustomSection { name: SYMBOLS_SECTION.into(), data });
    }
    module.finish()
}

/// Writes the guard of a lifted function.
fn lifted(function: u32, ty: &FuncType, id: u32, has_post_return: bool) -> Function {
    let token = ty.params().len() as u32;
    let mut code = settle();
    code.extend([Instruction::I32Const(id as i32), Instruction::Call(ENTERS), Instruction::LocalSet(token)]);
    code.extend(call(function, ty));
    code.push(Instruction::LocalGet(token));
    code.extend(if has_post_return {
        vec![Instruction::GlobalSet(RETURNS), Instruction::Call(LOOKS)]
    } else {
        vec![Instruction::Call(LEAVES)]
    });
    body([(1, ValType::I32)], code)
}

/// Writes the guard of a function that runs while its component may not be left.
fn held(function: u32, ty: &FuncType) -> Function {
    let add = |step: Instruction<'static>| {
        [Instruction::GlobalGet(HOLDS), Instruction::I32Const(1), step, Instruction::GlobalSet(HOLDS)]
    };
    // A `post-return` ends a call. An allocation belongs to a later call than one with a lifted result.
    let is_last = ty.results().is_empty();
    let mut code = Vec::from(add(Instruction::I32Add));
    code.extend(settle().into_iter().filter(|_| !is_last));
    code.extend(call(function, ty));
    code.extend(settle().into_iter().filter(|_| is_last));
    code.extend(add(Instruction::I32Sub));
    body([], code)
}

/// Ends the call with a lifted result, if there is one.
fn settle() -> Vec<Instruction<'static>> {
    vec![
        Instruction::GlobalGet(RETURNS),
        Instruction::If(BlockType::Empty),
        Instruction::GlobalGet(RETURNS),
        Instruction::Call(LEAVES),
        Instruction::I32Const(0),
        Instruction::GlobalSet(RETURNS),
        Instruction::End,
    ]
}

fn call(function: u32, ty: &FuncType) -> impl Iterator<Item = Instruction<'static>> {
    let gets = (0..ty.params().len() as u32).map(Instruction::LocalGet);
    gets.chain([Instruction::Call(function)])
}

fn body<const N: usize>(locals: [(u32, ValType); N], code: Vec<Instruction<'static>>) -> Function {
    let mut body = Function::new(locals);
    code.iter().chain([&Instruction::End]).for_each(|instruction| _ = body.instruction(instruction));
    body
}

/// Only numbers: functions that the canonical ABI calls take and return no references.
fn core_types(types: &[wasmparser::ValType]) -> Vec<ValType> {
    types.iter().filter_map(|&ty| RoundtripReencoder.val_type(ty).ok()).collect()
}
