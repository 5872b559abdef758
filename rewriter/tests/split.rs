//! Split DWARF: a module and its package (`split/`) say what the same module says that has all of it.

#![allow(clippy::unwrap_used)]

use kperf_abi::{FunctionCode, InlinedFunction, SymbolTable};
use kperf_rewriter::{Options, Probe, SymbolFile, Twin, Warning, rewrite, split_ids, split_units};

fn read(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/split/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn twin(wasm: &[u8], parts: &[&[u8]]) -> Twin {
    Twin::parse_split(wasm, parts, &|_| ()).unwrap()
}

/// What the compiler wrote for each unit.
fn files(version: u32) -> [Vec<u8>; 2] {
    ["first", "second"].map(|unit| read(&format!("{version}/{unit}.dwo")))
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

        let with = twin(&split, &[&package]);
        assert_eq!(with.problems, Vec::<String>::new());
        let found = table(&split, Some(with));
        assert_eq!((said(&found), inlined(&found)), (said(&expected), inlined(&expected)), "DWARF {version}");

        // Lines are in the module itself. That the rest is missing is said.
        let without = twin(&split, &[]);
        assert!(without.problems[0].contains("split DWARF"), "{:?}", without.problems);
        let found = table(&split, Some(without));
        assert!(inlined(&found).is_empty());
        let rows = |table| said(table).into_iter().map(|(_, _, code)| code.rows).collect::<Vec<_>>();
        assert_eq!(rows(&found), rows(&expected));

        // A trace of the stripped module gets them later.
        let mut later = table(&split, None);
        later.inlined.clear();
        let mut file = SymbolFile::Module(Box::new(twin(&split, &[&package])));
        assert!(file.give(&mut later) > 0);
        assert_eq!(inlined(&later), ["inner", "outer", "twice"]);
    }
}

#[test]
fn files_of_the_compiler_say_it_too() {
    for version in [4, 5] {
        let split = read(&format!("split{version}.wasm"));
        let [first, second] = files(version);
        let units = split_units(&split);
        let told: Vec<_> = units.iter().map(|unit| (&*unit.file, &*unit.folder)).collect();
        assert_eq!(told, [("first.dwo", "/src"), ("second.dwo", "/src")]);
        let ids: Vec<u64> = units.iter().map(|unit| unit.id).collect();
        assert_eq!([split_ids(&first), split_ids(&second)].concat(), ids);
        let mut in_package = split_ids(&read(&format!("split{version}.wasm.dwp")));
        in_package.sort_by_key(|id| ids.iter().position(|known| known == id));
        assert_eq!(in_package, ids);

        let expected = table(&read(&format!("whole{version}.wasm")), None);
        for parts in [[&*first, &*second], [&*second, &*first]] {
            let with = twin(&split, &parts);
            assert_eq!(with.problems, Vec::<String>::new());
            let found = table(&split, Some(with));
            assert_eq!((said(&found), inlined(&found)), (said(&expected), inlined(&expected)));
        }
        // What there is of it is used.
        let some = twin(&split, &[&second]);
        assert!(some.problems[0].contains("split DWARF"), "{:?}", some.problems);
        assert_eq!(inlined(&table(&split, Some(some))), ["twice"]);
    }
    // Units that were optimized together have one file, and share the abbreviations in it.
    let (merged, file) = (read("merged.wasm"), read("5/merged.dwo"));
    let ids: Vec<u64> = split_units(&merged).iter().map(|unit| unit.id).collect();
    let mut in_file = split_ids(&file);
    in_file.sort_by_key(|id| ids.iter().position(|known| known == id));
    assert_eq!((in_file.len(), &in_file), (2, &ids));
    let with = twin(&merged, &[&file]);
    assert_eq!(with.problems, Vec::<String>::new());
    assert_eq!(inlined(&table(&merged, Some(with))), ["inner", "other", "outer"]);
    assert!(split_units(&read("whole5.wasm")).is_empty() && split_units(b"").is_empty());
    assert!(split_ids(&read("whole5.wasm")).is_empty() && split_ids(b"").is_empty());
}

#[test]
fn packages_of_other_builds_and_other_files_are_told() {
    let split = read("split5.wasm");
    for (package, said) in [
        (read("split4.wasm.dwp"), "may be of another build"),
        (read("whole5.wasm"), "may be of another build"),
        (
            b"\0asm".to_vec(),
            "a file of its split DWARF (`.dwp`, `.dwo`) can't be read: it is no WebAssembly file",
        ),
        (Vec::new(), "a file of its split DWARF (`.dwp`, `.dwo`) can't be read: it is no WebAssembly file"),
    ] {
        let twin = twin(&split, &[&package]);
        assert!(twin.problems.iter().any(|problem| problem.contains(said)), "{:?}", twin.problems);
        assert!(table(&split, Some(twin)).inlined.is_empty());
    }
    for part in ["split5.wasm.dwp", "5/first.dwo", "4/second.dwo"] {
        let error = SymbolFile::parse(&read(part)).unwrap_err().to_string();
        assert!(error.contains("name the module"), "{error}");
    }
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
        for part in files(version) {
            for at in 0..part.len() {
                for byte in [0, 1, 0x7f, 0x80, 0xff] {
                    let mut broken = part.clone();
                    broken[at] = byte;
                    twin(&split, &[&broken]).name(&mut bare.clone());
                }
                twin(&split, &[&part[..at]]).name(&mut bare.clone());
            }
        }
        for at in 0..package.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut broken = package.clone();
                broken[at] = byte;
                twin(&split, &[&broken]).name(&mut bare.clone());
            }
            twin(&split, &[&package[..at]]).name(&mut bare.clone());
        }
    }
}
