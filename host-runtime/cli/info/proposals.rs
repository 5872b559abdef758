//! Finds the proposals that a module uses: those without which it doesn't validate.

use wasmparser::{Validator, WasmFeatures};

/// The names of the proposals, in the order in which the parser lists them. Fails where the module is invalid even with
/// all of them.
pub fn used(module: &[u8]) -> Result<Vec<String>, wasmparser::BinaryReaderError> {
    let all = WasmFeatures::all();
    Validator::new_with_features(all).validate_all(module)?;
    let names: Vec<(&str, WasmFeatures)> =
        all.iter_names().filter(|(name, _)| !name.starts_with("CM") && !PARTS.contains(name)).collect();
    let mut used = Vec::new();
    narrow(module, &names, &mut used);
    Ok(used)
}

/// Flags that are no proposals of core modules.
const PARTS: [&str; 3] = ["FLOATS", "GC_TYPES", "COMPONENT_MODEL"];

/// Finds the proposals in `names` that the module needs. All are switched off at once, and only if that fails each half of them:
/// most modules use few proposals, and a validation that fails mostly fails early.
fn narrow(module: &[u8], names: &[(&str, WasmFeatures)], used: &mut Vec<String>) {
    let dropped = names.iter().fold(WasmFeatures::empty(), |all, &(_, flag)| all | own_bits(flag));
    let rest = WasmFeatures::all().difference(dropped);
    if names.is_empty() || Validator::new_with_features(rest).validate_all(module).is_ok() {
        return;
    }
    match names {
        [(name, _)] => used.push(name.to_ascii_lowercase().replace('_', "-")),
        _ => {
            let (first, second) = names.split_at(names.len() / 2);
            narrow(module, first, used);
            narrow(module, second, used);
        }
    }
}

/// A table index in more bytes than it needs, which every module of LLVM's has, makes no use of reference types.
fn own_bits(flag: WasmFeatures) -> WasmFeatures {
    if flag == WasmFeatures::CALL_INDIRECT_OVERLONG {
        flag
    } else {
        flag.difference(WasmFeatures::CALL_INDIRECT_OVERLONG)
    }
}

#[cfg(test)]
mod tests {
    use super::used;

    fn check(wat: &str, expected: &[&str]) {
        let module = wat::parse_str(wat).expect("a module");
        assert_eq!(used(&module).expect("valid"), expected, "{wat}");
    }

    #[test]
    fn proposals_are_those_that_a_module_cannot_do_without() {
        check("(module (func (param i32) (result i32) local.get 0))", &[]);
        check("(module (func (result i32 i32) i32.const 1 i32.const 2))", &["multi-value"]);
        check(
            "(module (memory 1) (func (memory.fill (i32.const 0) (i32.const 0) (i32.const 0))))",
            &["bulk-memory"],
        );
        check("(module (func $f (return_call $f)))", &["tail-call"]);
        check("(module (tag) (func (throw 0)))", &["exceptions"]);
        check("(module (func try nop catch_all nop end))", &["legacy-exceptions"]);
        check("(module (memory i64 1) (memory 1))", &["multi-memory", "memory64"]);
        check("(module (func (param externref)))", &["reference-types"]);
        check("(module (memory 1 1 shared) (func (param v128)))", &["simd", "threads"]);
    }

    #[test]
    fn an_invalid_module_is_an_error_with_its_offset() {
        let module = wat::parse_str("(module (func (result i32)))").expect("well-formed");
        assert!(used(&module).expect_err("invalid").offset() > 0);
    }
}
