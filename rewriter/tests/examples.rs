//! Rewrites real modules of six compilers: the results validate, and nothing is lost.

use kperf_rewriter::{ErrorKind, Filter, NameMap, Options, Pattern, Recording, SymbolFile, probed, rewrite};
use wasmparser::{KnownCustom, Name, Operator, Parser, Payload, TypeRef, Validator, WasmFeatures};

const LANGUAGES: [&str; 6] = ["rust", "c", "assemblyscript", "kotlin", "go", "wat"];

fn example(language: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/game-of-life");
    std::fs::read(format!("{folder}/{language}/life.wasm")).unwrap()
}

#[test]
fn every_function_gets_a_probe_and_the_result_is_valid() {
    for language in LANGUAGES {
        let wasm = example(language);
        for imports in [false, true] {
            let options = Options { imports, ..Options::default() };
            let rewritten = rewrite(&wasm, &options).unwrap();
            Validator::new_with_features(WasmFeatures::all()).validate_all(&rewritten.wasm).unwrap();
            let plan = &rewritten.plan;
            let probes = rewritten.symbols.symbols.len();
            let defined = plan.functions.iter().filter(|function| !function.imported).count();
            assert_eq!(probes, if imports { plan.functions.len() } else { defined }, "{language}");
            assert_eq!(rewritten.warnings, [], "{language}");
            assert_eq!(probed(&rewritten.wasm).unwrap().unwrap(), rewritten.symbols, "{language}");
        }
    }
}

#[test]
fn every_function_calls_enter_once_and_has_a_name() {
    for language in LANGUAGES {
        let rewritten = rewrite(&example(language), &Options::default()).unwrap();
        let (mut imported, mut enters, mut named) = (Vec::new(), Vec::new(), 0);
        for payload in Parser::new(0).parse_all(&rewritten.wasm) {
            match payload.unwrap() {
                Payload::ImportSection(imports) => {
                    let imports = imports.into_imports().map(Result::unwrap);
                    imported = imports
                        .filter(|import| matches!(import.ty, TypeRef::Func(_) | TypeRef::FuncExact(_)))
                        .map(|import| (import.module, import.name))
                        .collect();
                }
                Payload::CodeSectionEntry(body) => {
                    let operators = body.get_operators_reader().unwrap().into_iter().map(Result::unwrap);
                    let calls = operators.filter_map(|operator| match operator {
                        Operator::Call { function_index } => imported.get(function_index as usize),
                        _ => None,
                    });
                    enters.push(calls.filter(|&&callee| callee == ("kperf", "enter")).count());
                }
                Payload::CustomSection(section) => {
                    if let KnownCustom::Name(names) = section.as_known() {
                        for names in names {
                            if let Name::Function(functions) = names.unwrap() {
                                named += functions.count();
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        let symbols = &rewritten.symbols.symbols;
        assert_eq!(enters.iter().sum::<usize>(), symbols.len(), "{language}");
        assert!(enters.iter().all(|&enters| enters <= 1), "{language}: {enters:?}");
        assert!(named >= symbols.len(), "{language}: {named} functions have names");
        assert!((0..).zip(symbols).all(|(id, symbol)| symbol.id.0 == id), "{language}");
    }
}

/// Each probe has hints for its branches, in the order that engines want.
#[test]
fn branch_hints_of_probes_stand_at_their_branches() {
    for language in LANGUAGES {
        for (recording, wants_hints) in [(Recording::inline(), true), (Recording::imported(), false)] {
            let options = Options { recording, imports: true, ..Options::default() };
            let rewritten = rewrite(&example(language), &options).unwrap();
            let hinted = check_hints(&rewritten.wasm);
            // Imports have thunks, which call the host between two events.
            let probes = rewritten.symbols.symbols.len();
            assert_eq!(hinted, if wants_hints { probes } else { 0 }, "{language}");
        }
    }
}

/// How many functions have hints.
fn check_hints(wasm: &[u8]) -> usize {
    let (mut imported, mut bodies, mut hints) = (0, Vec::new(), Vec::new());
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.unwrap() {
            Payload::ImportSection(imports) => {
                let functions = imports
                    .into_imports()
                    .filter(|import| matches!(import.as_ref().unwrap().ty, wasmparser::TypeRef::Func(_)));
                imported = functions.count();
            }
            Payload::CustomSection(section) => {
                if let KnownCustom::BranchHints(functions) = section.as_known() {
                    assert!(bodies.is_empty() && hints.is_empty(), "one section, in front of the code");
                    for function in functions {
                        let function = function.unwrap();
                        let of_function: Vec<_> = function.hints.into_iter().map(Result::unwrap).collect();
                        hints.push((function.func as usize, of_function));
                    }
                }
            }
            Payload::CodeSectionEntry(body) => bodies.push(body),
            _ => {}
        }
    }
    assert!(hints.is_sorted_by(|(a, _), (b, _)| a < b));
    for (function, of_function) in &hints {
        let body = &bodies[function - imported];
        assert!(of_function.is_sorted_by(|a, b| a.func_offset < b.func_offset));
        let mut operators = body.get_operators_reader().unwrap();
        let mut branches = Vec::new();
        while !operators.eof() {
            let at = operators.original_position() - body.range().start;
            if matches!(operators.read().unwrap(), Operator::If { .. } | Operator::BrIf { .. }) {
                branches.push(at as u32);
            }
        }
        assert!(of_function.iter().all(|hint| branches.contains(&hint.func_offset)), "function {function}");
    }
    hints.len()
}

#[test]
fn names_are_those_of_the_source() {
    let cases = [
        ("rust", "life::should_become_live"),
        ("c", "shouldBecomeLive"),
        ("assemblyscript", "life/shouldBecomeLive"),
        ("kotlin", "shouldBecomeLive"),
        ("go", "main.shouldBecomeLive"),
        ("wat", "shouldBecomeLive"),
    ];
    for (language, name) in cases {
        let rewritten = rewrite(&example(language), &Options::default()).unwrap();
        let found = rewritten.symbols.symbols.iter().filter(|symbol| symbol.display_name() == name).count();
        assert_eq!(found, 1, "{language}: {name}");
    }
}

#[test]
fn an_empty_plan_gives_identical_bytes() {
    let empty =
        wat::parse_str("(module (import \"env\" \"f\" (func)) (memory 1) (data (i32.const 0) \"abc\"))")
            .unwrap();
    let rewritten = rewrite(&empty, &Options::default()).unwrap();
    assert_eq!(rewritten.wasm, empty);
    assert_eq!(rewritten.symbols.symbols, []);
}

#[test]
fn rewriting_is_deterministic() {
    let go = example("go");
    assert!(
        rewrite(&go, &Options::default()).unwrap().wasm == rewrite(&go, &Options::default()).unwrap().wasm
    );
}

#[test]
fn a_rewritten_module_is_refused() {
    let rewritten = rewrite(&example("wat"), &Options::default()).unwrap();
    let error = rewrite(&rewritten.wasm, &Options::default()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ReservedName { .. } | ErrorKind::AlreadyProbed), "{error}");
}

#[test]
fn a_filter_that_matches_nothing_is_an_error_with_a_hint() {
    let only = vec![Pattern::parse("step").unwrap()];
    let options = Options { filter: Filter { only, ..Filter::default() }, ..Options::default() };
    let error = rewrite(&example("rust"), &options).unwrap_err().to_string();
    assert_eq!(error, "no function's name matches `step`; did you mean `*step*`?");
}

#[test]
fn a_symbol_map_names_the_functions_of_a_stripped_module() {
    let stripped = wat::parse_str("(module (func) (func (export \"run\")))").unwrap();
    let names = Some(NameMap::parse("0:step\n1:main\n").unwrap());
    let names = names.map(SymbolFile::Map);
    let rewritten = rewrite(&stripped, &Options { names, ..Options::default() }).unwrap();
    let names: Vec<_> = rewritten.symbols.symbols.iter().map(|symbol| symbol.display_name()).collect();
    assert_eq!(names, ["step", "main"]);
    let text = wasmprinter::print_bytes(&rewritten.wasm).unwrap();
    assert!(text.contains("(func $step ") && text.contains("(func $main "), "{text}");
}
