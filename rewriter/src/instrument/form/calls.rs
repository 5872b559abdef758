//! Events that call the recorder's functions.

use crate::instrument::events::ByEffect;
use crate::instrument::template::Template;
use wasm_encoder::Instruction;

/// The first constants of every template: the function's id, and the address of its count.
pub(super) const ID: usize = 0;
pub(super) const COUNT: usize = 1;

/// `(local.set $token (call $enter (i32.const id) ..))`
pub(super) fn enter(function: u32, constants: &[usize]) -> ByEffect<Template> {
    let template = constants.iter().fold(Template::default(), |template, &n| template.constant(n));
    ByEffect::same(template.code(&[Instruction::Call(function)]).local(Instruction::LocalSet, 0))
}

/// `(call $function (local.get $token))`: a leave, or an unwind.
pub(super) fn with_token(function: u32) -> Template {
    Template::default().local(Instruction::LocalGet, 0).code(&[Instruction::Call(function)])
}

/// `(call $leaf (i32.const id))`
pub(super) fn leaf(function: u32) -> Template {
    Template::default().constant(ID).code(&[Instruction::Call(function)])
}
