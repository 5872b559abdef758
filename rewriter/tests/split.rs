//! Split DWARF: lines are in the module, and what is missing is reported.

use kperf_rewriter::{DebugCompanion, Options, Recording, SymbolFile, rewrite};

fn read(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/split/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn the_module_has_lines_and_a_problem_says_what_is_missing() {
    for name in ["split4.wasm", "split5.wasm"] {
        let split = read(name);
        let twin = DebugCompanion::parse(&split).unwrap();
        assert!(twin.problems[0].contains("split DWARF), which are not read"), "{:?}", twin.problems);
        let names = Some(SymbolFile::Module(Box::new(twin)));
        let options = Options { recording: Recording::Count, names, ..Options::default() };
        let table = rewrite(&split, &options).unwrap().symbols;
        assert!(table.inlined.is_empty(), "{name}");
        let lines = table.codes.iter().map(|code| code.rows.len()).sum::<usize>();
        assert!(lines > 0 && table.symbols.iter().any(|symbol| table.source(symbol).is_some()), "{name}");
    }
}

#[test]
fn split_debug_information_is_dropped_when_the_code_moves() {
    let rewritten = rewrite(&read("split5.wasm"), &Options::default()).unwrap();
    let warnings: Vec<String> = rewritten.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.iter().filter(|warning| warning.contains("split DWARF")).count(), 1, "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.contains("dropped the custom section `.debug_info`")));
}
