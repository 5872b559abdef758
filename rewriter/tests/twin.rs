//! Modules that were stripped, and what tells their functions' names: an unstripped module of the same build.

use kperf_abi::{Symbol, SymbolTable};
use kperf_rewriter::{DebugCompanion, ErrorKind, Mismatch, NameMap, Options, SourceMap, SymbolFile, rewrite};
use wasm_encoder::{CustomSection, Module, RawSection};
use wasmparser::{Parser, Payload};

const LANGUAGES: [&str; 6] = ["rust", "c", "assemblyscript", "kotlin", "go", "wat"];

/// Modules of other compilers, with DWARF: Zig, clang, rustc, LDC, Nim.
const COMPILED: [&str; 6] = ["zig", "cpp-dwarf5-O2", "rust-O1", "d-O0", "d-O2", "nim"];

fn example(language: &str) -> Vec<u8> {
    if COMPILED.contains(&language) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/debug");
        return std::fs::read(format!("{folder}/{language}.wasm")).unwrap();
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/game-of-life");
    std::fs::read(format!("{folder}/{language}/life.wasm")).unwrap()
}

/// A module with only these of its custom sections, and more.
fn with_sections(wasm: &[u8], keep: impl Fn(&str) -> bool, more: &[(&str, &[u8])]) -> Vec<u8> {
    let mut module = Module::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.unwrap();
        if matches!(&payload, Payload::CustomSection(section) if !keep(section.name())) {
            continue;
        }
        if let Some((id, range)) = payload.as_section() {
            module.section(&RawSection { id, data: &wasm[range.start as usize..range.end as usize] });
        }
    }
    for &(name, data) in more {
        module.section(&CustomSection { name: name.into(), data: data.into() });
    }
    module.finish()
}

fn stripped(wasm: &[u8]) -> Vec<u8> {
    with_sections(wasm, |_| false, &[])
}

fn table(wasm: &[u8]) -> SymbolTable {
    rewrite(wasm, &Options::default()).unwrap().symbols
}

fn twin(wasm: &[u8]) -> DebugCompanion {
    DebugCompanion::parse(wasm).unwrap()
}

/// What a table says of functions: names, and places with their files' paths.
fn said(table: &SymbolTable) -> Vec<(&Symbol, Option<(&str, u32)>)> {
    table.symbols.iter().map(|symbol| (symbol, table.source(symbol))).collect()
}

/// The same without what a place is called by, which is the number of a file.
fn same(named: &SymbolTable, whole: &SymbolTable) {
    for ((a, a_place), (b, b_place)) in said(named).into_iter().zip(said(whole)) {
        let facts = |symbol: &Symbol| {
            (symbol.name.clone(), symbol.demangled.clone(), symbol.unnamed, symbol.exported)
        };
        assert_eq!(facts(a), facts(b));
        assert_eq!(a_place, b_place, "{}", a.name);
    }
    assert_eq!(named.symbols.len(), whole.symbols.len());
}

#[test]
fn a_stripped_module_gets_the_names_that_it_had() {
    for language in LANGUAGES.into_iter().chain(COMPILED) {
        let wasm = example(language);
        let whole = table(&wasm);
        let mut named = table(&stripped(&wasm));
        assert!(named.symbols.iter().any(|symbol| symbol.unnamed), "{language}");
        let twin = twin(&wasm);
        assert_eq!((twin.fits(&named), &twin.problems), (Ok(()), &Vec::new()), "{language}");
        assert!(twin.name(&mut named) > 0);
        same(&named, &whole);
        // The bytes of a table, too, which a trace would have.
        same(&SymbolTable::from_bytes(&named.to_bytes()).unwrap(), &whole);
    }
}

#[test]
fn names_are_there_when_a_stripped_module_is_rewritten() {
    for language in LANGUAGES.into_iter().chain(COMPILED) {
        let wasm = example(language);
        let options = Options { names: Some(SymbolFile::Module(twin(&wasm).into())), ..Options::default() };
        same(&rewrite(&stripped(&wasm), &options).unwrap().symbols, &table(&wasm));
    }
}

/// Traces of older versions don't say what the code is: the distances between functions do.
#[test]
fn a_table_that_says_nothing_of_the_code_is_known_by_its_functions() {
    for language in LANGUAGES.into_iter().chain(COMPILED) {
        let wasm = example(language);
        let mut old = table(&stripped(&wasm));
        (old.module.code, old.module.imports) = (None, 0);
        assert_eq!(twin(&wasm).fits(&old), Ok(()), "{language}");
        let last = old.symbols.last_mut().unwrap();
        last.code_offset += 1;
        assert_eq!(twin(&wasm).fits(&old), Err(Mismatch::Sizes), "{language}");
    }
}

/// Of each compiler's modules, D's at two levels among them, each other one is of another build, and the message says why.
#[test]
fn modules_of_other_compilers_and_flags_are_refused() {
    let all: Vec<Vec<u8>> = LANGUAGES.into_iter().chain(COMPILED).map(example).collect();
    let twins: Vec<DebugCompanion> = all.iter().map(|wasm| twin(wasm)).collect();
    for (n, wasm) in all.iter().enumerate() {
        let stripped = stripped(wasm);
        let table = table(&stripped);
        for (other, twin) in twins.iter().enumerate() {
            let fits = twin.fits(&table);
            assert_eq!(fits.is_ok(), n == other, "{n} {other}: {fits:?}");
            if n != other {
                let options =
                    Options { names: Some(SymbolFile::Module(twin.clone().into())), ..Options::default() };
                let error = rewrite(&stripped, &options).unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::OtherBuild { .. }), "{error}");
                assert!(error.to_string().contains(&fits.unwrap_err().to_string()), "{error}");
            }
        }
    }
}

#[test]
fn another_build_is_refused() {
    let wat = |text: &str| wat::parse_str(text).unwrap();
    let module = wat("(module (func $a i32.const 1 drop) (func $b))");
    let table = table(&stripped(&module));
    let fits = |other: &[u8]| twin(other).fits(&table);
    assert_eq!(fits(&module), Ok(()));
    assert_eq!(fits(&wat("(module (func $a i32.const 2 drop) (func $b))")), Err(Mismatch::Code));
    assert_eq!(fits(&wat("(module (func $a))")), Err(Mismatch::Functions { counts: (2, 1) }));
    let more = wat(r#"(module (import "m" "f" (func)) (func $a i32.const 1 drop) (func $b))"#);
    assert_eq!(fits(&more), Err(Mismatch::Imports { counts: (0, 1) }));
    assert_eq!(fits(b"\0asm\x01\0\0\0"), Err(Mismatch::NoCode));
    let other = wat("(module (func $a i32.const 2 drop) (func $b))");
    let options = Options { names: Some(SymbolFile::Module(twin(&other).into())), ..Options::default() };
    let error = rewrite(&module, &options).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::OtherBuild { mismatch: Mismatch::Code }), "{error}");
    // A tool wrote the code otherwise, and both say that they are of one build.
    let id: &[(&str, &[u8])] = &[("build_id", b"\x02\xab\xcd")];
    let table = self::table(&with_sections(&module, |_| false, id));
    assert_eq!(table.module.build_id, "abcd");
    assert_eq!(twin(&with_sections(&other, |_| true, id)).fits(&table), Ok(()));
    assert_eq!(twin(&other).fits(&table), Err(Mismatch::Code));
}

/// A source map with one place.
fn source_map(column: u64, name: &str) -> SymbolFile {
    let mut mappings = Vec::new();
    for number in [column as i64, 0, 6, 0, 0] {
        vlq::encode(number, &mut mappings).unwrap();
    }
    let mappings = String::from_utf8(mappings).unwrap();
    let json = format!(r#"{{"version":3,"sources":["a.kt"],"names":["{name}"],"mappings":"{mappings}"}}"#);
    SymbolFile::SourceMap(SourceMap::parse(json.as_bytes()).unwrap())
}

#[test]
fn maps_name_functions_and_places() {
    let module =
        wat::parse_str(r#"(module (import "m" "f" (func)) (func) (func (export "e") nop))"#).unwrap();
    let mut table = table(&module);
    let map = |text: &str| SymbolFile::Map(NameMap::parse(text).unwrap());
    assert_eq!(map("3:beyond").fits(&table), Err(Mismatch::Beyond));
    let names = map("0:imported\n1:_ZN4life4stepEv\n2:e");
    assert_eq!((names.fits(&table), names.name(&mut table)), (Ok(()), 1));
    let shown: Vec<&str> = table.symbols.iter().map(Symbol::display_name).collect();
    assert_eq!(shown, ["life::step()", "e"]);

    let start = table.symbols[1].code_offset;
    assert_eq!(source_map(10_000, "step").fits(&table), Err(Mismatch::Beyond));
    let mut unnamed = self::table(&stripped(&wat::parse_str("(module (func nop))").unwrap()));
    source_map(unnamed.symbols[0].code_offset + 1, "").name(&mut unnamed);
    assert_eq!(unnamed.symbols[0].display_name(), "func[0] a.kt:7");
    let source_map = source_map(start + 1, "step");
    assert_eq!((source_map.fits(&table), source_map.name(&mut table)), (Ok(()), 1));
    let places: Vec<_> = table.symbols.iter().map(|symbol| table.source(symbol)).collect();
    assert_eq!(places, [None, Some(("a.kt", 7))]);
    // Nobody knows where a body ends if the function behind it has no probe.
    let three = wat::parse_str("(module (func $a nop) (func $b nop) (func $c nop))").unwrap();
    let skip = vec![kperf_rewriter::Pattern::parse("b").unwrap()];
    let filter = kperf_rewriter::Filter { skip, ..Default::default() };
    let mut filtered = rewrite(&three, &Options { filter, ..Options::default() }).unwrap().symbols;
    let ends: Vec<u64> = filtered.symbols.iter().map(|symbol| symbol.code_offset).collect();
    assert_eq!(self::source_map((ends[0] + ends[1]) / 2 + 1, "b").name(&mut filtered), 0);
    assert_eq!(self::source_map(ends[1] + 1, "c").name(&mut filtered), 1);
    // It says the name of what has none.
    let options = Options { names: Some(source_map), ..Options::default() };
    let anonymous =
        wat::parse_str(r#"(module (import "m" "f" (func)) (func) (func nop) (export "e" (func 1)))"#);
    let table = rewrite(&anonymous.unwrap(), &options).unwrap().symbols;
    let shown: Vec<&str> = table.symbols.iter().map(Symbol::display_name).collect();
    assert_eq!(shown, ["e", "step"]);
}

/// Whatever is cut off or changed, nothing panics, and what is read stays within the file.
#[test]
fn broken_files_are_errors_or_say_less() {
    let wasm = example("rust");
    let mut random = fastrand::Rng::with_seed(23);
    let table = table(&wasm);
    for _ in 0..300 {
        let mut broken = wasm[..random.usize(..=wasm.len())].to_vec();
        for _ in 0..random.usize(..4) {
            if let Some(byte) = (!broken.is_empty()).then(|| random.usize(..broken.len())) {
                broken[byte] = random.u8(..);
            }
        }
        if let Ok(twin) = DebugCompanion::parse(&broken) {
            let _ = twin.fits(&table);
            twin.name(&mut table.clone());
        }
        let _ = SymbolFile::parse(&broken);
    }
}
