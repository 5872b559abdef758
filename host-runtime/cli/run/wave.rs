//! Values of components as text (WAVE): `point(1, "two")`, `{x: 1, tags: ["a"]}`, `some(ok(3))`.

use anyhow::{anyhow, bail};
use std::fmt::Write as _;
use wasm_wave::ast::{Node, NodeType};
use wasm_wave::parser::ParserError;
use wasm_wave::untyped::UntypedFuncCall;
use wasmtime::component::{Type, Val, types::ComponentFunc};

/// The arguments for a function, from `(1, "two")`.
pub fn arguments(ty: &ComponentFunc, text: &str) -> anyhow::Result<Vec<Val>> {
    let call = format!("f{text}");
    let bad = |error: ParserError| anyhow!("the arguments `{text}` can't be read: {error}");
    let parsed = UntypedFuncCall::parse(&call).map_err(bad)?;
    let nodes: Vec<&Node> = match parsed.params_node() {
        Some(node) => node.as_tuple().map_err(bad)?.collect(),
        None => Vec::new(),
    };
    let params: Vec<(&str, Type)> = ty.params().collect();
    // The last ones may be left out where that means `none`.
    let left_out = params.get(nodes.len()..).unwrap_or_default();
    if nodes.len() > params.len() || !left_out.iter().all(|(_, ty)| matches!(ty, Type::Option(_))) {
        bail!("the function takes {} arguments; given: {}", params.len(), nodes.len());
    }
    let values = params.iter().zip(nodes).map(|((name, ty), node)| {
        value(ty, node, &call).map_err(|error| anyhow!("the argument `{name}`: {error}"))
    });
    values.chain(left_out.iter().map(|_| Ok(Val::Option(None)))).collect()
}

fn value(ty: &Type, node: &Node, text: &str) -> anyhow::Result<Val> {
    Ok(match ty {
        Type::Bool => Val::Bool(node.as_bool()?),
        Type::S8 => Val::S8(node.as_number(text)?),
        Type::U8 => Val::U8(node.as_number(text)?),
        Type::S16 => Val::S16(node.as_number(text)?),
        Type::U16 => Val::U16(node.as_number(text)?),
        Type::S32 => Val::S32(node.as_number(text)?),
        Type::U32 => Val::U32(node.as_number(text)?),
        Type::S64 => Val::S64(node.as_number(text)?),
        Type::U64 => Val::U64(node.as_number(text)?),
        Type::Float32 => Val::Float32(node.as_number(text)?),
        Type::Float64 => Val::Float64(node.as_number(text)?),
        Type::Char => Val::Char(node.as_char(text)?),
        Type::String => Val::String(node.as_str(text)?.into_owned()),
        Type::List(list) => {
            let ty = list.ty();
            Val::List(node.as_list()?.map(|node| value(&ty, node, text)).collect::<anyhow::Result<_>>()?)
        }
        Type::Tuple(tuple) => {
            let (types, nodes) = (tuple.types(), node.as_tuple()?);
            if types.len() != nodes.len() {
                bail!("expected a tuple of {}", types.len());
            }
            Val::Tuple(
                types.zip(nodes).map(|(ty, node)| value(&ty, node, text)).collect::<anyhow::Result<_>>()?,
            )
        }
        Type::Record(record) => {
            let given: Vec<(&str, &Node)> = node.as_record(text)?.collect();
            if let Some((name, _)) =
                given.iter().find(|(name, _)| record.fields().all(|field| field.name != *name))
            {
                bail!("there is no field `{name}`");
            }
            let fields = record.fields().map(|field| {
                let node = given.iter().find(|(name, _)| *name == field.name);
                match (node, &field.ty) {
                    (Some((_, node)), ty) => Ok((field.name.to_owned(), value(ty, node, text)?)),
                    (None, Type::Option(_)) => Ok((field.name.to_owned(), Val::Option(None))),
                    (None, _) => Err(anyhow!("the field `{}` is missing", field.name)),
                }
            });
            Val::Record(fields.collect::<anyhow::Result<_>>()?)
        }
        Type::Variant(variant) => {
            let (name, payload) = node.as_variant(text)?;
            let Some(case) = variant.cases().find(|case| case.name == name) else {
                bail!("there is no case `{name}`");
            };
            Val::Variant(name.to_owned(), optional(case.ty.as_ref(), payload, text)?)
        }
        Type::Enum(cases) => {
            let name = node.as_enum(text)?;
            if cases.names().all(|case| case != name) {
                bail!("there is no case `{name}`");
            }
            Val::Enum(name.to_owned())
        }
        Type::Option(option) => match node.ty() {
            NodeType::OptionNone => Val::Option(None),
            NodeType::OptionSome => {
                let node = node.as_option()?.unwrap_or(node);
                Val::Option(Some(Box::new(value(&option.ty(), node, text)?)))
            }
            // `some` may be left out.
            _ if is_flat(&option.ty()) => Val::Option(Some(Box::new(value(&option.ty(), node, text)?))),
            _ => bail!("expected `some(..)` or `none`"),
        },
        Type::Result(result) => match (node.ty(), result.ok()) {
            (NodeType::ResultOk | NodeType::ResultErr, _) => Val::Result(match node.as_result()? {
                Ok(node) => Ok(optional(result.ok().as_ref(), node, text)?),
                Err(node) => Err(optional(result.err().as_ref(), node, text)?),
            }),
            // And so may `ok`.
            (_, Some(ok)) if is_flat(&ok) => Val::Result(Ok(Some(Box::new(value(&ok, node, text)?)))),
            _ => bail!("expected `ok(..)` or `err(..)`"),
        },
        Type::Flags(flags) => {
            let given = node.as_flags(text)?.map(|name| name.strip_prefix('%').unwrap_or(name));
            let given: Vec<&str> = given.collect();
            if let Some(name) = given.iter().find(|name| flags.names().all(|flag| flag != **name)) {
                bail!("there is no flag `{name}`");
            }
            Val::Flags(given.into_iter().map(str::to_owned).collect())
        }
        _ => bail!("a value of this type can't be given on a command line"),
    })
}

/// Whether `some(..)` or `ok(..)` around a value of this type may be omitted.
fn is_flat(ty: &Type) -> bool {
    !matches!(ty, Type::Option(_) | Type::Result(_))
}

fn optional(ty: Option<&Type>, node: Option<&Node>, text: &str) -> anyhow::Result<Option<Box<Val>>> {
    match (ty, node) {
        (Some(ty), Some(node)) => Ok(Some(Box::new(value(ty, node, text)?))),
        (None, None) => Ok(None),
        (Some(_), None) => bail!("a value is missing"),
        (None, Some(_)) => bail!("there is a value too many"),
    }
}

/// A value as text.
pub fn display(value: &Val) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Val, out: &mut String) {
    // Writing to a string can't fail.
    let _ = match value {
        Val::Bool(value) => write!(out, "{value}"),
        Val::S8(value) => write!(out, "{value}"),
        Val::U8(value) => write!(out, "{value}"),
        Val::S16(value) => write!(out, "{value}"),
        Val::U16(value) => write!(out, "{value}"),
        Val::S32(value) => write!(out, "{value}"),
        Val::U32(value) => write!(out, "{value}"),
        Val::S64(value) => write!(out, "{value}"),
        Val::U64(value) => write!(out, "{value}"),
        Val::Float32(value) => float(f64::from(*value), value.to_string(), out),
        Val::Float64(value) => float(*value, value.to_string(), out),
        Val::Char(value) => write!(out, "'{}'", value.escape_debug()),
        Val::String(value) => write!(out, "\"{}\"", value.escape_debug()),
        Val::List(values) => {
            all(values.iter().map(|value| (None, Some(value))), ['[', ']'], out);
            Ok(())
        }
        Val::Tuple(values) => {
            all(values.iter().map(|value| (None, Some(value))), ['(', ')'], out);
            Ok(())
        }
        Val::Record(fields) => {
            all(fields.iter().map(|(name, value)| (Some(name.as_str()), Some(value))), ['{', '}'], out);
            Ok(())
        }
        Val::Flags(flags) => {
            all(flags.iter().map(|flag| (Some(flag.as_str()), None)), ['{', '}'], out);
            Ok(())
        }
        Val::Enum(name) => write!(out, "{}{name}", escape(name)),
        Val::Variant(name, payload) => {
            out.push_str(escape(name));
            case(name, payload.as_deref(), out)
        }
        Val::Option(None) => write!(out, "none"),
        Val::Option(payload) => case("some", payload.as_deref(), out),
        Val::Result(Ok(payload)) => case("ok", payload.as_deref(), out),
        Val::Result(Err(payload)) => case("err", payload.as_deref(), out),
        _ => write!(out, "a resource"),
    };
}

/// The prefix of a case name that would be a keyword of WAVE.
fn escape(name: &str) -> &'static str {
    if ["true", "false", "inf", "nan", "some", "none", "ok", "err"].contains(&name) { "%" } else { "" }
}

fn float(value: f64, text: String, out: &mut String) -> std::fmt::Result {
    match value {
        _ if value.is_nan() => write!(out, "nan"),
        f64::INFINITY => write!(out, "inf"),
        f64::NEG_INFINITY => write!(out, "-inf"),
        _ => write!(out, "{text}"),
    }
}

fn case(name: &str, payload: Option<&Val>, out: &mut String) -> std::fmt::Result {
    out.push_str(name);
    if let Some(payload) = payload {
        out.push('(');
        write(payload, out);
        out.push(')');
    }
    Ok(())
}

fn all<'v>(
    items: impl Iterator<Item = (Option<&'v str>, Option<&'v Val>)>,
    [open, close]: [char; 2],
    out: &mut String,
) {
    out.push(open);
    for (n, (name, value)) in items.enumerate() {
        if n > 0 {
            out.push_str(", ");
        }
        out.push_str(name.unwrap_or_default());
        if name.is_some() && value.is_some() {
            out.push_str(": ");
        }
        if let Some(value) = value {
            write(value, out);
        }
    }
    out.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_wave() {
        let text = |text: &str| Val::String(text.to_owned());
        let record = Val::Record(vec![
            ("x".into(), Val::S32(-1)),
            ("tags".into(), Val::List(vec![text("a\"b"), text("ü\n")])),
        ]);
        assert_eq!(display(&record), r#"{x: -1, tags: ["a\"b", "ü\n"]}"#);
        let result = Val::Result(Ok(Some(Box::new(Val::Option(None)))));
        assert_eq!(display(&Val::Tuple(vec![result, Val::Float64(f64::NAN)])), "(ok(none), nan)");
        assert_eq!(display(&Val::Variant("one".into(), None)), "one");
        assert_eq!(display(&Val::Flags(vec!["read".into(), "write".into()])), "{read, write}");
        assert_eq!(display(&Val::Enum("ok".into())), "%ok");
        assert_eq!(display(&Val::Variant("none".into(), Some(Box::new(Val::U8(1))))), "%none(1)");
    }
}
