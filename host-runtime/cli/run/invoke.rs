//! The functions of a module to call, and their arguments.

use super::guest::{Guest, Kind};
use crate::shared::output;
use crate::shared::table::plural;
use anyhow::{Context, anyhow, bail};
use kperf_abi::names;
use std::fmt::Write as _;
use wasmtime::{AsContextMut, ExternType, Instance, Module, Result, Val, ValType};

/// The function that runs a WASI command.
const START: &str = "_start";
/// The function of a WASI reactor that must be called before any other.
const INITIALIZE: &str = "_initialize";

/// The calls after the instantiation, in order.
#[derive(Default)]
pub struct Entry {
    initialize: bool,
    /// The exported function, its arguments, and how many results it has.
    call: Option<(String, Vec<Val>, usize)>,
    print: bool,
}

impl Entry {
    /// Finds the function to call: `invoke`, or `_start`. A module that has neither must have a start section.
    pub fn find(
        guest: &Guest,
        module: &Module,
        invoke: Option<&str>,
        args: &[String],
    ) -> anyhow::Result<Entry> {
        let path = &guest.path;
        let exports = |name: &str| functions(module).any(|export| export == name);
        let Some(name) = invoke else {
            if exports(START) {
                return Ok(Entry { call: Some((START.to_owned(), Vec::new(), 0)), ..Entry::default() });
            }
            if matches!(guest.kind, Kind::Module { has_start: true, .. }) {
                return Ok(Entry { initialize: exports(INITIALIZE), ..Entry::default() });
            }
            match list(module) {
                Some(names) => bail!(
                    "`{}` is not a WASI command: it exports no `{START}`. Name a function with --invoke: {names}",
                    path.display()
                ),
                None => bail!(
                    "`{}` has nothing to run: it exports no functions and has no start function",
                    path.display()
                ),
            }
        };
        let Some(ExternType::Func(ty)) = module.get_export(name) else {
            let names = list(module).unwrap_or_else(|| "no functions".to_owned());
            bail!("`{}` exports no function `{name}`; it exports {names}", path.display());
        };
        if ty.params().len() != args.len() {
            bail!("`{name}` takes {}; given: {}", plural(ty.params().len() as u64, "argument"), args.len());
        }
        let values = ty.params().zip(args).map(|(ty, arg)| parse(&ty, arg));
        let values =
            values.collect::<anyhow::Result<_>>().with_context(|| format!("in the arguments of `{name}`"))?;
        Ok(Entry {
            initialize: name != INITIALIZE && exports(INITIALIZE),
            call: Some((name.to_owned(), values, ty.results().len())),
            print: true,
        })
    }

    /// The same without printing.
    pub fn silent(self) -> Entry {
        Entry { print: false, ..self }
    }

    /// Calls it, and prints the results if the user named the function.
    pub fn call(&self, store: &mut impl AsContextMut, instance: Instance) -> Result<()> {
        if self.initialize {
            instance.get_typed_func::<(), ()>(&mut *store, INITIALIZE)?.call(&mut *store, ())?;
        }
        let Some((name, args, results)) = &self.call else { return Ok(()) };
        let Some(func) = instance.get_func(&mut *store, name) else {
            return Err(wasmtime::Error::msg(format!("the module exports no function `{name}`")));
        };
        let mut results = vec![Val::I32(0); *results];
        func.call(store.as_context_mut(), args, &mut results)?;
        if self.print {
            let mut text = String::new();
            for result in &results {
                let _ = writeln!(text, "{}", display(result));
            }
            output::print(&text).map_err(wasmtime::Error::from_anyhow)?;
        }
        Ok(())
    }
}

/// The names of the functions that a module exports, without the recorder's.
fn functions(module: &Module) -> impl Iterator<Item = &str> {
    module
        .exports()
        .filter(|export| matches!(export.ty(), ExternType::Func(_)))
        .map(|export| export.name())
        .filter(|name| !name.starts_with(names::EXPORT_PREFIX))
}

/// The names of the exported functions for an error, if there are any.
fn list(module: &Module) -> Option<String> {
    let names: Vec<String> = functions(module).map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => None,
        count if count > 20 => Some(format!("{} and {} more", names[..20].join(", "), count - 20)),
        _ => Some(names.join(", ")),
    }
}

fn parse(ty: &ValType, text: &str) -> anyhow::Result<Val> {
    let bad = || anyhow!("`{text}` is not a number of type {ty}");
    Ok(match ty {
        ValType::I32 => Val::I32(integer(text, i32::MIN.into(), u32::MAX.into()).ok_or_else(bad)? as i32),
        ValType::I64 => Val::I64(integer(text, i64::MIN.into(), u64::MAX.into()).ok_or_else(bad)? as i64),
        ValType::F32 => Val::F32(text.parse::<f32>().map_err(|_| bad())?.to_bits()),
        ValType::F64 => Val::F64(text.parse::<f64>().map_err(|_| bad())?.to_bits()),
        _ => bail!("a value of type {ty} can't be given on a command line"),
    })
}

/// A signed or unsigned integer, decimal or hexadecimal.
fn integer(text: &str, min: i128, max: i128) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None if digits.starts_with('+') => return None,
        None => digits.parse::<u64>().ok()?,
    };
    let value = if negative { -i128::from(value) } else { value.into() };
    (min..=max).contains(&value).then_some(value)
}

fn display(value: &Val) -> String {
    match value {
        Val::I32(value) => value.to_string(),
        Val::I64(value) => value.to_string(),
        Val::F32(bits) => f32::from_bits(*bits).to_string(),
        Val::F64(bits) => f64::from_bits(*bits).to_string(),
        Val::V128(value) => format!("{:#034x}", value.as_u128()),
        _ => "a reference".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_numbers_of_their_types() {
        let text = |ty: ValType, text: &str| {
            parse(&ty, text).map_or_else(|error| error.to_string(), |v| display(&v))
        };
        assert_eq!(text(ValType::I32, "-2147483648"), "-2147483648");
        assert_eq!(text(ValType::I32, "4294967295"), "-1");
        assert_eq!(text(ValType::I32, "4294967296"), "`4294967296` is not a number of type i32");
        assert_eq!(text(ValType::I64, "0xffffffffffffffff"), "-1");
        assert_eq!(text(ValType::I64, "--1"), "`--1` is not a number of type i64");
        assert_eq!(text(ValType::F64, "2.5e3"), "2500");
        assert_eq!(text(ValType::F32, "x"), "`x` is not a number of type f32");
        assert_eq!(
            text(ValType::EXTERNREF, "1"),
            "a value of type (ref null extern) can't be given on a command line"
        );
    }
}
