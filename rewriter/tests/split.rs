//! Split DWARF: a module and its package (`split/`) say what the same module says that has all of it.

#![allow(clippy::unwrap_used)]

use kperf_abi::{FunctionCode, InlinedFunction, SymbolTable};
use kperf_rewriter::{Options, Probe, SymbolFile, Twin, Warning, rewrite};

fn read(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/split/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn twin(wasm: &[u8], package: Option<&[u8]>) -> Twin {
    Twin::parse_split(wasm, package, &|_| ()).unwrap()
}

/// The table of a module that was rewritten with the names of a file.
fn table(wasm: &[u8], names: Option<Twin>) -> SymbolTable {
    let names = names.map(|twin| SymbolFile::Module(Box::new(twin)));
    let options = Options { probe: Probe::Count, names, ..Options::default() };
    rewrite(wasm, &options).unwrap().symbols
}

/// A function's name, the line that it begins on, and the lines of its code.
type Said<'a> = (String, Option<(&'a str, u32)>, FunctionCode);

/// What a table says of lines and of inlined functions, which has to be of something.
fn said(table: &SymbolTable) -> Vec<Said<'_>> {
    let said = table.symbols.iter().zip(table.codes.iter()).map(|(symbol, mut code)| {
        // What the rewritten module has in front of the code is another size.
        code.moves.clear();
        (symbol.name.to_string(), table.source(symbol), code)
    });
    said.collect()
}

fn inlined(table: &SymbolTable) -> Vec<&str> {
    let mut names: Vec<&str> = table.inlined.iter().map(|InlinedFunction { name, .. }| &**name).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_package_says_what_the_module_lacks() {
    for version in [4, 5] {
        let (split, whole) = (read(&format!("split{version}.wasm")), read(&format!("whole{version}.wasm")));
        let package = read(&format!("split{version}.wasm.dwp"));
        let expected = table(&whole, None);
        assert_eq!(inlined(&expected), ["inner", "outer", "twice"]);

        let with = twin(&split, Some(&package));
        assert_eq!(with.problems, Vec::<String>::new());
        let found = table(&split, Some(with));
        assert_eq!((said(&found), inlined(&found)), (said(&expected), inlined(&expected)), "DWARF {version}");

        // Lines are in the module itself. That the rest is missing is said.
        let without = twin(&split, None);
        assert!(without.problems[0].contains("split DWARF"), "{:?}", without.problems);
        let found = table(&split, Some(without));
        assert!(inlined(&found).is_empty());
        let rows = |table| said(table).into_iter().map(|(_, _, code)| code.rows).collect::<Vec<_>>();
        assert_eq!(rows(&found), rows(&expected));

        // A trace of the stripped module gets them later.
        let mut later = table(&split, None);
        later.inlined.clear();
        let mut file = SymbolFile::Module(Box::new(twin(&split, Some(&package))));
        assert!(file.give(&mut later) > 0);
        assert_eq!(inlined(&later), ["inner", "outer", "twice"]);
    }
}

#[test]
fn packages_of_other_builds_and_other_files_are_told() {
    let split = read("split5.wasm");
    for (package, said) in [
        (read("split4.wasm.dwp"), "it is of another build"),
        (read("whole5.wasm"), "it is of another build"),
        (b"\0asm".to_vec(), "its package (`.dwp`) can't be read: it is no WebAssembly file"),
        (Vec::new(), "its package (`.dwp`) can't be read: it is no WebAssembly file"),
    ] {
        let twin = twin(&split, Some(&package));
        assert!(twin.problems.iter().any(|problem| problem.contains(said)), "{:?}", twin.problems);
        assert!(table(&split, Some(twin)).inlined.is_empty());
    }
    let error = SymbolFile::parse(&read("split5.wasm.dwp")).unwrap_err().to_string();
    assert!(error.contains("name the module"), "{error}");
}

/// The lengths in a package would be wrong once the code has moved: all debug information is dropped, and that is said.
#[test]
fn split_debug_information_is_dropped_when_the_code_moves() {
    let rewritten = rewrite(&read("split5.wasm"), &Options::default()).unwrap();
    let warnings: Vec<String> = rewritten.warnings.iter().map(Warning::to_string).collect();
    assert_eq!(warnings.iter().filter(|warning| warning.contains("split DWARF")).count(), 1, "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.contains("dropped the custom section `.debug_info`")));
}

/// Whatever bytes are broken, nothing panics and all ends.
#[test]
fn broken_packages_say_less() {
    for version in [4, 5] {
        let (split, package) =
            (read(&format!("split{version}.wasm")), read(&format!("split{version}.wasm.dwp")));
        let bare = table(&split, None);
        for at in 0..package.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut broken = package.clone();
                broken[at] = byte;
                twin(&split, Some(&broken)).name(&mut bare.clone());
            }
            twin(&split, Some(&package[..at])).name(&mut bare.clone());
        }
    }
}
