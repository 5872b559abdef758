//! Files that name the functions of stripped modules, as users have them: `--symbols`.

use kperf_abi::symbols::ModuleIdentity;
use kperf_abi::{FuncId, FuncIndex, Symbol, SymbolTable};
use kperf_trace::block::BlockHeader;
use kperf_trace::{Header, Summary, TraceWriter, word};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const SPLIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rewriter/tests/split");

fn output(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kperf-wasm")).args(args).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a command says on stdout and stderr.
fn kperf(folder: &Path, args: &[&str]) -> (String, String) {
    let output = output(folder, args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

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
fn a_package_of_split_debug_information_is_read_with_its_module() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for version in ["4", "5"] {
        let (wasm, package) = (format!("split{version}.wasm"), format!("split{version}.wasm.dwp"));
        let read = |file: &str| fs::read(format!("{SPLIT}/{file}")).unwrap();
        fs::write(folder.join("app.wasm"), read(&wasm)).unwrap();
        kperf(folder, &["run", "-q", "--clock", "test", "app.wasm"]);
        let lines = ["report", "app.kperf", "--by", "line", "--format", "csv"];
        let (before, _) = kperf(folder, &lines);
        assert!(before.contains("/src/first.c:2,hot") && !before.contains("inner"), "{before}");

        // Without it, that it is missing is said.
        let with = |symbols| [&lines[..], &["--symbols", symbols]].concat();
        let (_, said) = kperf(folder, &with("app.wasm"));
        assert!(said.contains("split DWARF") && said.contains(".dwp"), "{said}");
        fs::write(folder.join("app.wasm.dwp"), read(&package)).unwrap();
        for symbols in ["app.wasm", "app.wasm.dwp"] {
            let _ = fs::remove_file(folder.join("app.kperf.symbols"));
            let (after, said) = kperf(folder, &with(symbols));
            assert!(after.contains("/src/first.c:2,hot,outer > inner"), "{after}");
            assert!(!said.contains("warning"), "{said}");
        }
        fs::remove_file(folder.join("app.kperf.symbols")).unwrap();
        // `run` finds it too.
        let (_, said) = kperf(folder, &["run", "-q", "--clock", "test", "app.wasm"]);
        assert!(said.contains("app.wasm.dwp"), "{said}");
        assert!(kperf(folder, &lines).0.contains("outer > inner"));
        let wrong = output(folder, &["annotate", "inner", "app.kperf"]);
        assert!(text(&wrong.stderr).contains("it is inlined in `hot`; annotate that"), "{wrong:?}");
        fs::rename(folder.join("app.wasm.dwp"), folder.join("alone.dwp")).unwrap();
        let alone = output(folder, &with("alone.dwp"));
        assert!(text(&alone.stderr).contains("doesn't lie beside it"), "{alone:?}");
    }
}

/// Where the compiler wrote them isn't on this machine: beside the module by their path or their name, or in a folder that is searched.
#[test]
fn files_of_split_debug_information_are_found() {
    for version in ["4", "5"] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::copy(format!("{SPLIT}/split{version}.wasm"), folder.join("app.wasm")).unwrap();
        kperf(folder, &["run", "-q", "--clock", "test", "app.wasm"]);
        let lines = ["report", "app.kperf", "--by", "line", "--format", "csv", "--symbols", "app.wasm"];
        let put = |unit: &str, to: &str| {
            fs::create_dir_all(folder.join(to)).unwrap();
            let to = folder.join(to).join(format!("{unit}.dwo"));
            fs::copy(format!("{SPLIT}/{version}/{unit}.dwo"), to).unwrap();
        };
        // One is missing, and another is broken.
        put("second", ".");
        fs::write(folder.join("first.dwo"), b"\0asm\x01").unwrap();
        let (before, said) = kperf(folder, &lines);
        assert!(
            !before.contains("inner") && said.contains("are not among the split DWARF"),
            "{before} {said}"
        );
        put("first", "elsewhere");
        let searched = || {
            let _ = fs::remove_file(folder.join("app.kperf.symbols"));
            let mut command = Command::new(env!("CARGO_BIN_EXE_kperf-wasm"));
            let command = command.args(lines).current_dir(folder).env("KPERF_SYMBOLS", "elsewhere");
            let output = command.output().unwrap();
            assert!(output.status.success(), "{output:?}");
            (text(&output.stdout), text(&output.stderr))
        };
        let (after, said) = searched();
        assert!(after.contains("/src/first.c:2,hot,outer > inner"), "{after}");
        assert!(!said.contains("warning"), "{said}");
        put("first", ".");
        fs::remove_file(folder.join("app.kperf.symbols")).unwrap();
        let (_, said) = kperf(folder, &["run", "-q", "--clock", "test", "app.wasm"]);
        assert!(
            said.contains("inlined functions are from") && said.contains("first.dwo` and 1 other"),
            "{said}"
        );
        assert!(kperf(folder, &lines[..6]).0.contains("outer > inner"));
        let alone = output(folder, &["report", "app.kperf", "--symbols", "first.dwo"]);
        assert!(text(&alone.stderr).contains("name the module that it belongs to"), "{alone:?}");
    }
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
    fs::remove_file(folder.join("app.kperf.symbols")).unwrap();
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
        // What was remembered is another test's.
        let _ = fs::remove_file(folder.join(format!("{trace}.symbols")));
        let (text, _) =
            kperf(folder, &[&["flame", trace, "--folded", "--by", "calls", "-o", "-"], flags].concat());
        text
    };
    // A map that is for no module is an error, as any other such file is.
    assert_eq!(folded("before.kperf", &["--symbols", "before.symbols"]), "digest 1\ndigest;hash 1\n");
    let refused = output(folder, &[&["report", "after.kperf"], &BOTH[..]].concat());
    let why = "`before.symbols` is for no module of the trace: another map is for `after`";
    assert!(!refused.status.success() && text(&refused.stderr).contains(why), "{refused:?}");
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
