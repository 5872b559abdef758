//! Rewrites malformed and truncated input: an error with its offset or a module, never a panic. `hostile` has huge
//! modules, `invalid` has invalid ones.

use kperf_rewriter::{Options, SkipReason, Warning, rewrite};
use wasm_encoder::{
    CodeSection, Function, FunctionSection, Instruction, Module, NameMap, NameSection, TypeSection, ValType,
};
use wasmparser::{Validator, WasmFeatures};

fn example() -> Vec<u8> {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/game-of-life/wat/life.wasm")).unwrap()
}

fn validate(wasm: &[u8]) {
    Validator::new_with_features(WasmFeatures::all()).validate_all(wasm).unwrap();
}

#[test]
fn truncated_anywhere() {
    let wasm = example();
    for length in 0..wasm.len() {
        // Cut between two sections a module may still be one.
        if let Err(error) = rewrite(&wasm[..length], &Options::default()) {
            let text = error.to_string();
            assert!(
                text.starts_with("not a well-formed module: ") && text.contains("(at offset 0x"),
                "{text}"
            );
        }
    }
}

#[test]
fn every_bit_flipped() {
    let wasm = example();
    for at in 0..wasm.len() {
        for bit in 0..8 {
            let mut broken = wasm.clone();
            broken[at] ^= 1 << bit;
            let was_valid = Validator::new_with_features(WasmFeatures::all()).validate_all(&broken).is_ok();
            // What isn't a module may be refused or not; what is one is rewritten into one.
            let options = Options { validate: was_valid, imports: at % 2 == 0, ..Options::default() };
            match rewrite(&broken, &options) {
                Ok(_) => {}
                Err(error) => {
                    assert!(!was_valid || refusal(&error.to_string()), "byte {at} bit {bit}: {error}")
                }
            }
        }
    }
}

/// The only reasons to refuse a valid module.
fn refusal(error: &str) -> bool {
    error.contains("is not supported")
        || error.contains("is reserved for probes")
        || error.contains("already has probes")
}

#[test]
fn what_is_no_module_says_so() {
    let cases: [(&[u8], &str); 4] = [
        (b"", "not a well-formed module: unexpected end"),
        (b"hello, world", "not a well-formed module: magic header not detected"),
        (b"\0asm\x02\0\0\0", "not a well-formed module: unknown binary version"),
        (b"\0asm\x0d\0\x01\0", "this is a component, not a core module"),
    ];
    for (bytes, expected) in cases {
        let error = rewrite(bytes, &Options::default()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

/// A module of functions without params and results.
fn module(functions: Vec<Function>) -> Module {
    let mut types = TypeSection::new();
    types.ty().function([], []);
    let mut declared = FunctionSection::new();
    let mut code = CodeSection::new();
    for function in &functions {
        declared.function(0);
        code.function(function);
    }
    let mut module = Module::new();
    module.section(&types).section(&declared).section(&code);
    module
}

fn function(locals: &[(u32, ValType)], body: &[Instruction<'_>]) -> Function {
    let mut function = Function::new(locals.iter().copied());
    body.iter().for_each(|instruction| {
        function.instruction(instruction);
    });
    function.instruction(&Instruction::End);
    function
}

#[test]
fn functions_without_room_for_a_probe_are_left_alone_with_a_warning() {
    let body = [Instruction::I32Const(1), Instruction::Drop, Instruction::Call(2)];
    let largest = 7_654_321 - 2;
    let functions = vec![
        function(&[(49_999, ValType::I64)], &body),
        function(&[(50_000, ValType::I64)], &body),
        function(&[], &vec![Instruction::Nop; largest]),
    ];
    let rewritten = rewrite(&module(functions).finish(), &Options::default()).unwrap();
    validate(&rewritten.wasm);
    let reasons: Vec<_> = rewritten
        .warnings
        .iter()
        .map(|warning| match warning {
            Warning::NotProbed { index, reason, .. } => (index.0, *reason),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(reasons, [(1, SkipReason::TooManyLocals), (2, SkipReason::TooLarge)]);
    assert_eq!(rewritten.symbols.symbols.len(), 1);
}

#[test]
fn names_that_are_long_duplicate_or_broken() {
    let functions = || vec![function(&[], &[]), function(&[], &[]), function(&[], &[])];
    let long = "x".repeat(10 << 20);
    let mut names = NameSection::new();
    let mut map = NameMap::new();
    map.append(0, &long);
    map.append(1, "same");
    map.append(2, "same");
    names.functions(&map);
    let mut wasm = module(functions());
    wasm.section(&names);
    let rewritten = rewrite(&wasm.finish(), &Options::default()).unwrap();
    validate(&rewritten.wasm);
    let symbols = &rewritten.symbols.symbols;
    assert_eq!(symbols[0].name.len(), 10 << 20);
    assert_eq!([&*symbols[1].name, &*symbols[2].name], ["same", "same"]);

    // A name that is no UTF-8 costs the names, not the module.
    let mut wasm = module(functions()).finish();
    wasm.extend(b"\0\x0d\x04name\x01\x06\x01\x00\x03a\xff\xfe".iter());
    let rewritten = rewrite(&wasm, &Options::default()).unwrap();
    validate(&rewritten.wasm);
    assert!(matches!(&rewritten.warnings[..], [Warning::BadNameSection { .. }]), "{:?}", rewritten.warnings);
    assert_eq!(&*rewritten.symbols.symbols[0].name, "func[0]");
}
