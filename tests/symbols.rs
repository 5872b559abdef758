//! Files that name the functions of stripped modules, as users have them: `--symbols`.

use crate::common::command::{kperf, output};
use kperf_abi::symbols::ModuleIdentity;
use kperf_abi::{FuncId, FuncIndex, Symbol, SymbolTable};
use kperf_trace::block::BlockHeader;
use kperf_trace::{Header, Summary, TraceWriter, word};
use std::fs;
use std::path::Path;

const SPLIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rewriter/tests/split");

/// Records a module in the text format, as `app.kperf`.
fn recorded(wat: &str, args: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("app.wat"), wat).unwrap();
    let mut all = vec!["run", "-q", "--clock", "test", "app.wat"];
    all.extend(args);
    kperf(folder.path(), &all);
    folder
}

#[test]
fn the_files_of_split_dwarf_are_not_read_and_a_warning_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::copy(format!("{SPLIT}/split5.wasm"), folder.join("app.wasm")).unwrap();
    kperf(folder, &["run", "-q", "--clock", "test", "app.wasm"]);
    let lines = ["report", "app.kperf", "--by", "line", "--format", "csv", "--symbols", "app.wasm"];
    let (report, said) = kperf(folder, &lines);
    assert!(report.contains("/src/first.c:2,hot") && !report.contains("inner"), "{report}");
    assert!(said.contains("split DWARF), which are not read"), "{said}");
}

#[test]
fn an_unstripped_component_names_the_functions_of_its_modules() {
    let component = |leaf: &str, middle: &str| {
        format!(
            r#"(component
                (core module $m (func {leaf}) (func {middle} (call 0)) (func (export "run") (call 1)))
                (core module $other (func (export "f")))
                (core instance $i (instantiate $m))
                (core instance $j (instantiate $other))
                (func (export "run") (canon lift (core func $i "run"))))"#
        )
    };
    let folder = recorded(&component("", ""), &["--invoke", "run()"]);
    let folder = folder.path();
    let (before, _) = kperf(folder, &["report", "app.kperf"]);
    assert!(before.contains("func[0]") && !before.contains("leaf"), "{before}");
    fs::write(folder.join("whole.wat"), component("$leaf", "$middle")).unwrap();
    let (after, said) = kperf(folder, &["report", "app.kperf", "--symbols", "whole.wat"]);
    assert!(
        after.contains("leaf") && after.contains("middle") && !after.contains("func[0]"),
        "{after} {said}"
    );
    // What stands in front of names stays.
    assert!(after.contains("m::run") && !after.contains(" #2"), "{after}");
    fs::write(folder.join("else.wat"), component("$leaf (nop)", "$middle")).unwrap();
    let (_, said) = kperf(folder, &["report", "app.kperf", "--symbols", "else.wat"]);
    assert!(said.contains("no module of `else.wat` is of the build of `app/m`"), "{said}");
}

/// A trace of stripped modules with two functions each, of these names.
fn of_stripped(folder: &Path, trace: &str, modules: &[&str]) {
    let mut writer = TraceWriter::new(Vec::new(), &Header::default()).unwrap();
    let mut words = Vec::new();
    for (n, name) in (0u32..).zip(modules) {
        let symbol = |index| Symbol {
            id: FuncId(2 * n + index),
            func_index: FuncIndex(index),
            name: format!("func[{index}]").into(),
            unnamed: true,
            ..Symbol::default()
        };
        let sha256 = format!("{name}'s");
        let module =
            ModuleIdentity { name: (*name).into(), sha256, functions: 2, ..ModuleIdentity::default() };
        let symbols = vec![symbol(0), symbol(1)];
        let table = SymbolTable { module, id_base: 2 * n, symbols, ..SymbolTable::default() };
        writer.symbols(&table.to_bytes()).unwrap();
        words.extend([2 * n + 1, 2 * n, word::LEAVE, word::LEAVE]);
    }
    let mut block = BlockHeader::default().to_bytes().to_vec();
    words.iter().for_each(|word| block.extend(word.to_le_bytes()));
    writer.block(0, &block).unwrap();
    let summary = Summary { outcome: "completed".into(), ..Summary::default() };
    fs::write(folder.join(trace), writer.finish(&summary).unwrap()).unwrap();
}

#[test]
fn a_map_names_the_module_that_it_is_of() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (map, names) in [("before", "0:hash\n1:digest\n"), ("after", "0:blur\n1:render\n")] {
        fs::write(folder.join(format!("{map}.symbols")), names).unwrap();
        of_stripped(folder, &format!("{map}.kperf"), &[map]);
    }
    const BOTH: [&str; 4] = ["--symbols", "after.symbols", "--symbols", "before.symbols"];
    let folded = |trace: &str, flags: &[&str]| {
        let (text, _) =
            kperf(folder, &[&["flame", trace, "--folded", "--by", "calls", "-o", "-"], flags].concat());
        text
    };
    // A map that is for no module is an error, as any other such file is.
    assert_eq!(folded("before.kperf", &["--symbols", "before.symbols"]), "digest 1\ndigest;hash 1\n");
    let refused = output(folder, &[&["report", "after.kperf"], &BOTH[..]].concat());
    let why = "`before.symbols` is for no module of the trace: another map is for `after`";
    assert!(
        !refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains(why),
        "{refused:?}"
    );
    // Two modules of a trace: a map of the second one alone, and both.
    of_stripped(folder, "two.kperf", &["before", "after"]);
    let alone = folded("two.kperf", &["--symbols", "after.symbols"]);
    assert_eq!(alone, "func[1] 1\nfunc[1];func[0] 1\nrender 1\nrender;blur 1\n");
    assert_eq!(folded("two.kperf", &BOTH), "digest 1\ndigest;hash 1\nrender 1\nrender;blur 1\n");
    // Modules that no map is called like have them in the order in which they are given.
    of_stripped(folder, "others.kperf", &["wasm-1", "wasm-2"]);
    assert_eq!(folded("others.kperf", &BOTH), "render 1\nrender;blur 1\ndigest 1\ndigest;hash 1\n");
    // Two traces at once.
    let (diff, _) =
        kperf(folder, &[&["diff", "before.kperf", "after.kperf", "--metric", "calls"], &BOTH[..]].concat());
    assert!(["hash", "digest", "blur", "render"].iter().all(|name| diff.contains(name)), "{diff}");
}
