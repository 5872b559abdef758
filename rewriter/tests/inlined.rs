//! Compares inlined calls by the DWARF of several compilers (`source/build.sh`, `debug/build.sh`) with those of
//! LLVM's own tool, if it is installed.

use kperf_abi::SymbolTable;
use kperf_rewriter::{DebugCompanion, Options, Recording, SymbolFile, rewrite};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn table(wasm: &[u8], recording: Recording) -> SymbolTable {
    let rewritten = rewrite(wasm, &Options { recording, ..Options::default() }).unwrap();
    let own = kperf_rewriter::probed(&rewritten.wasm).unwrap().unwrap();
    assert_eq!(own, rewritten.symbols);
    own
}

/// The frames at an offset of a symbol's function, innermost first: names without their folders, and lines.
fn frames(table: &SymbolTable, n: usize, offset: u32) -> Vec<(String, u32)> {
    let code = table.codes.get(n);
    let mut line = code.source(offset).map_or(0, |source| source.line);
    let mut frames = Vec::new();
    for call in code.inlined.at(offset) {
        frames.push((table.inlined[call.function as usize].name.to_string(), line));
        line = call.source.map_or(0, |source| source.line);
    }
    frames.push((table.symbols[n].display_name().to_owned(), line));
    frames
}

fn named(frames: &[(&str, u32)]) -> Vec<(String, u32)> {
    frames.iter().map(|&(name, line)| (name.to_owned(), line)).collect()
}

#[test]
fn calls_are_known_that_are_inlined_in_each_other() {
    for file in ["source/inlined.wasm", "source/inlined5.wasm"] {
        let wasm = std::fs::read(path(file)).unwrap();
        for recording in [Recording::default(), Recording::Count] {
            let table = table(&wasm, recording);
            let find = |name: &str| table.symbols.iter().position(|symbol| &*symbol.name == name).unwrap();
            let (start, leaf, hot) = (find("_start"), find("leaf"), find("hot"));
            let code = table.codes.get(start);
            let sites = code.sites_of(table.symbols[leaf].func_index, table.codes.get(leaf).class);
            let told: Vec<_> = sites.iter().map(|&offset| frames(&table, start, offset)).collect();
            assert_eq!(
                told,
                [
                    named(&[("inner", 9), ("outer", 14), ("_start", 32)]),
                    named(&[("outer", 15), ("_start", 32)])
                ],
                "{file}"
            );
            let sites = code.sites_of(table.symbols[hot].func_index, table.codes.get(hot).class);
            assert_eq!(frames(&table, start, sites[0]), named(&[("_start", 33)]));
            let places: Vec<_> = table
                .inlined
                .iter()
                .map(|function| (&*function.name, function.source.unwrap().line))
                .collect();
            // A trace knows of no instruction of `term`: it calls nothing.
            let all = [("inner", 8), ("outer", 13), ("term", 18)];
            let expected = if recording == Recording::Count { &all[..] } else { &all[..2] };
            let mut sorted = places;
            sorted.sort_unstable();
            assert_eq!(sorted, expected, "{file}");
        }
    }
}

#[test]
fn a_module_of_the_same_build_tells_them_later() {
    let wasm = std::fs::read(path("source/inlined.wasm")).unwrap();
    let whole = table(&wasm, Recording::Count);
    let options = Options { drops_debug: true, recording: Recording::Count, ..Options::default() };
    let mut bare = wasm_encoder::Module::new();
    for payload in wasmparser::Parser::new(0).parse_all(&wasm) {
        if let Some((id, range)) = payload.unwrap().as_section().filter(|(id, _)| *id != 0) {
            let data = &wasm[range.start as usize..range.end as usize];
            bare.section(&wasm_encoder::RawSection { id, data });
        }
    }
    let mut named = rewrite(&bare.finish(), &options).unwrap().symbols;
    assert!(named.inlined.is_empty());
    let twin = SymbolFile::Module(Box::new(DebugCompanion::parse(&wasm).unwrap()));
    for _ in 0..2 {
        // A second time says nothing new.
        twin.name(&mut named);
        named.tidy_files();
        for n in 0..whole.symbols.len() {
            for offset in 0..200 {
                assert_eq!(frames(&named, n, offset), frames(&whole, n, offset));
            }
        }
        assert_eq!((named.inlined.len(), named.files.len()), (whole.inlined.len(), whole.files.len()));
    }
}

/// The frames of all instructions in a module's functions equal those of LLVM's symbolizer.
#[test]
fn they_are_those_of_llvm() {
    if Command::new("llvm-symbolizer").arg("--version").output().is_err() {
        return;
    }
    let files = [
        "source/inlined.wasm",
        "source/inlined5.wasm",
        "debug/c-dwarf4-O2.wasm",
        "debug/c-dwarf5-O2.wasm",
        "debug/cpp-dwarf4-O2.wasm",
        "debug/cpp-dwarf5-O2.wasm",
        "debug/mixed.wasm",
        "debug/zig.wasm",
        "debug/d-O0.wasm",
        "debug/d-O2.wasm",
        "debug/nim.wasm",
        "debug/rust-O1.wasm",
        "debug/rust-O3.wasm",
    ];
    let mut files: Vec<PathBuf> = files.iter().map(|file| path(file)).collect();
    // See `all_lines.rs`.
    if let Some(folder) = std::env::var_os("KPERF_LINES") {
        let more = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        files.extend(more.filter(|file| file.extension().is_some_and(|end| end == "wasm")));
        // Binaryen ends sequences some bytes in front of a function's end. There LLVM knows no line, and we say the last one.
        files.retain(|file| !file.ends_with("tree-sitter-debug.wasm"));
        // It is loaded beside others, and can have no counts inside; it has no DWARF.
        files.retain(|file| !file.ends_with("tree-sitter.wasm"));
    }
    for path in files {
        let file = path.display();
        let wasm = std::fs::read(&path).unwrap();
        let table = table(&wasm, Recording::Count);
        let code = table.module.code.as_ref().unwrap().offset;
        let mut places = Vec::new();
        for payload in wasmparser::Parser::new(0).parse_all(&wasm) {
            let wasmparser::Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
            let start = body.range().start;
            let n = table.symbols.iter().position(|symbol| symbol.code_offset == start).unwrap();
            for operator in body.get_operators_reader().unwrap().into_iter_with_offsets() {
                let (_, at) = operator.unwrap();
                places.push((n, (at - start) as u32, at - code));
            }
        }
        let expected = symbolized(&path, places.iter().map(|&(.., address)| address));
        assert_eq!(expected.len(), places.len());
        let mut inlined = 0;
        for ((n, offset, address), expected) in places.into_iter().zip(expected) {
            let found = frames(&table, n, offset);
            inlined += usize::from(found.len() > 1);
            // Lines of 0 are in no row of ours; LLVM takes the file's of a row that has one.
            let lines = |frames: &[(String, u32)]| frames.iter().map(|frame| frame.1).collect::<Vec<_>>();
            assert_eq!(lines(&found), lines(&expected), "{file} at {address:#x}: {found:?} {expected:?}");
            let mangled = |name: &str| name.starts_with("_Z") || name.starts_with("_R");
            let names = found.iter().zip(&expected).rev().skip(1);
            for (found, expected) in names.filter(|(_, expected)| !mangled(&expected.0)) {
                // Rust's say their types, which mangled names don't; closures have none.
                let short = expected.0.split(['<', '{']).next().unwrap();
                assert!(found.0.contains(short), "{file} at {address:#x}: {found:?} {expected:?}");
            }
        }
        println!("{file}: {inlined} instructions are of inlined calls");
    }
}

/// LLVM's frames of addresses: names without parameters, lines.
fn symbolized(path: &Path, addresses: impl Iterator<Item = u64>) -> Vec<Vec<(String, u32)>> {
    let mut child = Command::new("llvm-symbolizer")
        .args(["--inlines", "--functions=short", "--no-demangle", "--output-style=LLVM", "--obj"])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let asked: String = addresses.map(|address| format!("{address:#x}\n")).collect();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(asked.as_bytes()).unwrap());
    let text = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    writer.join().unwrap();
    let mut told = Vec::new();
    for block in text.split("\n\n").filter(|block| !block.trim().is_empty()) {
        let lines: Vec<&str> = block.trim_matches('\n').lines().collect();
        let frames = lines.chunks(2).map(|pair| {
            let line = pair[1].rsplit(':').nth(1).unwrap();
            (pair[0].to_owned(), line.parse().unwrap())
        });
        told.push(frames.collect());
    }
    told
}
