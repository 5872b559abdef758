//! Checks the lines of instructions, and the calls of functions, by a compiler's DWARF (`source/build.sh`).

use kperf_abi::{FuncIndex, SymbolTable, Target};
use kperf_rewriter::{DebugCompanion, Options, Recording, SymbolFile, rewrite};
use std::path::Path;

fn module(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/source").join(name)).unwrap()
}

fn table(wasm: &[u8], options: &Options) -> SymbolTable {
    let rewritten = rewrite(wasm, options).unwrap();
    // The module has it too.
    let own = kperf_rewriter::probed(&rewritten.wasm).unwrap().unwrap();
    assert_eq!(own, rewritten.symbols);
    own
}

fn counted() -> Options {
    Options { recording: Recording::Count, ..Options::default() }
}

/// The lines from which a function may call another.
fn lines(table: &SymbolTable, caller: &str, callee: &str) -> Vec<u32> {
    let find = |name: &str| table.symbols.iter().find(|symbol| &*symbol.name == name).unwrap();
    let (caller, callee) = (find(caller), find(callee));
    let code = table.code(caller.id);
    let sites = code.sites_of(callee.func_index, table.code(callee.id).class);
    sites.iter().map(|&offset| code.source(offset).map_or(0, |source| source.line)).collect()
}

#[test]
fn calls_have_their_lines() {
    let wasm = module("calls.wasm");
    for options in [Options::default(), counted()] {
        let table = table(&wasm, &options);
        assert_eq!(lines(&table, "_start", "once"), [20]);
        assert_eq!(lines(&table, "_start", "twice"), [21, 22]);
        assert_eq!(lines(&table, "_start", "through"), [23], "a table's");
        assert!(lines(&table, "once", "twice").is_empty());
        assert_eq!(table.files, ["/src/calls.c"]);
    }
}

#[test]
fn a_module_of_the_same_build_tells_them_later() {
    let wasm = module("calls.wasm");
    // Of a trace's calls, and of all instructions that a profile may find.
    for options in [Options::default(), counted()] {
        let whole = table(&wasm, &options);
        let stripped = wasm_encoder_strip(&wasm);
        let mut named = table(&stripped, &Options { drops_debug: true, ..options.clone() });
        if options.recording == Recording::default() {
            assert!(named.codes.is_empty(), "without lines nobody needs the calls");
        }
        let twin = SymbolFile::Module(Box::new(DebugCompanion::parse(&wasm).unwrap()));
        twin.fits(&named).unwrap();
        assert!(twin.name(&mut named) > 0);
        named.tidy_files();
        for n in 0..whole.symbols.len() {
            let (code, all) = (named.codes.get(n), whole.codes.get(n));
            assert_eq!((code.rows, code.sites, code.class), (all.rows, all.sites, all.class));
        }
        assert_eq!((named.files, lines(&whole, "_start", "twice").len()), (whole.files, 2));
    }
}

#[test]
fn what_was_given_is_not_there_any_more() {
    let wasm = module("calls.wasm");
    let mut twin = SymbolFile::parse(&wasm).unwrap();
    let stripped = table(&wasm_encoder_strip(&wasm), &Options::default());
    let (mut named, mut given) = (stripped.clone(), stripped.clone());
    assert_eq!((twin.name(&mut named), twin.is_spent()), (twin.clone().give(&mut given), false));
    assert_eq!(named, given);
    twin.give(&mut given);
    assert!(twin.is_spent() && twin.fits(&named).is_ok());
    assert_eq!(twin.name(&mut stripped.clone()), 0);
}

fn wasm_encoder_strip(wasm: &[u8]) -> Vec<u8> {
    let mut module = wasm_encoder::Module::new();
    for payload in wasmparser::Parser::new(0).parse_all(wasm) {
        let payload = payload.unwrap();
        if let Some((id, range)) = payload.as_section().filter(|(id, _)| *id != 0) {
            let data = &wasm[range.start as usize..range.end as usize];
            module.section(&wasm_encoder::RawSection { id, data });
        }
    }
    module.finish()
}

#[test]
fn rows_are_those_of_the_line_program() {
    for name in ["dwarf4.wasm", "dwarf5.wasm", "lines.wasm"] {
        let table = table(&module(name), &counted());
        let of = |n: usize| -> Vec<u32> {
            table.codes.get(n).rows.iter().map(|row| row.source.unwrap().line).collect()
        };
        // As `llvm-dwarfdump --debug-line` has them, without rows that repeat a line.
        assert!(of(0).len() > 2 && of(0).iter().all(|line| [0, 7].contains(line)), "{name}: {:?}", of(0));
        let files: Vec<&str> = table.files.iter().map(String::as_str).collect();
        assert!(files.contains(&"/src/sums.c") && files.contains(&"/src/square.h"), "{files:?}");
    }
}

#[test]
fn what_has_no_probe_hides_who_called() {
    let text = r#"(module
        (import "env" "host" (func $host))
        (type $t (func))
        (table 2 funcref) (elem (i32.const 0) $leaf $other)
        (func $leaf (type $t))
        (func $other (type $t) (nop))
        (func $hidden (call $leaf))
        (func $quiet (nop))
        (func $tail (return_call $other))
        (func $direct (call $leaf) (call $leaf) (call $quiet))
        (func $unprobed (call $hidden))
        (func $by_host (call $host))
        (func $by_tail (call $tail))
        (func $by_table (call_indirect (type $t) (i32.const 0))))"#;
    let wasm = wat::parse_str(text).unwrap();
    let mut options = counted();
    options.filter.skip = vec![kperf_rewriter::Pattern::parse("/hidden|quiet/").unwrap()];
    let table = table(&wasm, &options);
    let targets = |name: &str| -> Vec<Target> {
        let symbol = table.symbols.iter().find(|symbol| &*symbol.name == name).unwrap();
        table.code(symbol.id).sites.iter().map(|site| site.target).collect()
    };
    let function = |index| Target::Function(FuncIndex(index));
    assert_eq!(targets("direct"), [function(1), function(1)], "what calls nothing hides nothing");
    assert_eq!(targets("unprobed"), [Target::Anything]);
    assert_eq!(targets("by_host"), [Target::Anything]);
    assert_eq!(targets("by_tail"), [Target::Anything, function(5)]);
    assert!(targets("tail").is_empty(), "it is gone when that runs");
    assert!(matches!(targets("by_table")[..], [Target::Class(_)]), "{:?}", targets("by_table"));
    let class = |name: &str| {
        let symbol = table.symbols.iter().find(|symbol| &*symbol.name == name).unwrap();
        table.code(symbol.id).class
    };
    assert!(class("leaf").is_some() && class("leaf") == class("other") && class("direct").is_none());
}

/// The offset in the original for each instruction of the rewritten module: each of its operators is found again.
#[test]
fn moves_lead_back_to_the_original() {
    let wasm = module("calls.wasm");
    let rewritten = rewrite(&wasm, &counted()).unwrap();
    let bodies = |wasm: &[u8]| -> Vec<Vec<(u64, String)>> {
        let mut bodies = Vec::new();
        for payload in wasmparser::Parser::new(0).parse_all(wasm) {
            if let wasmparser::Payload::CodeSectionEntry(body) = payload.unwrap() {
                let operators = body.get_operators_reader().unwrap().into_iter_with_offsets();
                let told = operators
                    .map(|operator| operator.unwrap())
                    .map(|(operator, at)| (at, format!("{operator:?}")));
                bodies.push(told.collect());
            }
        }
        bodies
    };
    let (old, new) = (bodies(&wasm), bodies(&rewritten.wasm));
    let mut found = 0;
    for (n, symbol) in rewritten.symbols.symbols.iter().enumerate() {
        let code = rewritten.symbols.codes.get(n);
        let body = &old[symbol.func_index.0 as usize];
        for (at, operator) in body.iter().filter(|(_, operator)| operator.starts_with("I32")) {
            let offset = (at - symbol.code_offset) as u32;
            let here = new[symbol.func_index.0 as usize]
                .iter()
                .find(|(new, text)| code.original(*new as u32) == Some(offset) && text == operator);
            assert!(here.is_some(), "{operator} at {at:#x} of {}", symbol.name);
            found += 1;
        }
    }
    assert!(found > 20, "{found}");
}
