//! Runs `tests/filetests/**/*.wat`: text modules with the expected result of their rewriting.
//!
//! ```text
//! ;; --only 'a*' --imports             options, as for `kperf-wasm rewrite`; this line may be missing
//! (module ..)
//! (; EXPECTED
//! warning: ..
//! (module ..)                          or: error: ..
//! ;)
//! ```
//!
//! Modules in `invalid/` are invalid, and must stay so. `BLESS=1 cargo test -p kperf-rewriter --test main filetests`
//! writes the results into the files. Sections with bytes that change in each version (`producers`, `kperf.symbols`)
//! are not shown; neither are the functions of a recorder inside the module, except with `--whole`.

use kperf_rewriter::{
    Allocations, Clock, Filter, Imported, Inline, Leaf, Options, Pattern, Recording, rewrite,
};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

const EXPECTED: &str = "(; EXPECTED\n";

#[test]
fn filetests() {
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests"), &mut files);
    assert!(files.len() > 20, "only {} filetests were found", files.len());
    let failures: Vec<String> = files.iter().filter_map(|file| run(file).err()).collect();
    assert!(failures.is_empty(), "{} of {} failed\n{}", failures.len(), files.len(), failures.join("\n"));
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn run(file: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(file).unwrap();
    let (source, expected) = text.split_once(EXPECTED).unwrap_or((&text, ""));
    let wasm = wat::parse_str(source).map_err(|error| format!("{}: {error}", file.display()))?;
    let valid = Validator::new_with_features(WasmFeatures::all()).validate_all(&wasm);
    let should_be_valid = file.parent().is_none_or(|folder| !folder.ends_with("invalid"));
    match valid {
        Err(error) if should_be_valid => {
            return Err(format!("{}: the input is invalid: {error}", file.display()));
        }
        Ok(_) if !should_be_valid => return Err(format!("{}: the input is valid", file.display())),
        _ => {}
    }
    let options = Options { validate: should_be_valid, ..options(source) };
    let mut actual = outcome(&wasm, &options);
    if !is_whole(source) {
        actual = without_recorder(&actual);
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(file, format!("{source}{EXPECTED}{actual};)\n")).unwrap();
        return Ok(());
    }
    if expected.strip_suffix(";)\n") == Some(&actual) {
        return Ok(());
    }
    Err(format!("{}: expected\n{expected}\ngot\n{actual}", file.display()))
}

fn outcome(wasm: &[u8], options: &Options) -> String {
    let rewritten = match rewrite(wasm, options) {
        Ok(rewritten) => rewritten,
        Err(error) => return format!("error: {error}\n"),
    };
    let mut text = String::new();
    for warning in &rewritten.warnings {
        writeln!(text, "warning: {warning}").unwrap();
    }
    for symbol in &rewritten.symbols.symbols {
        let counted = if symbol.counted { ", counted only" } else { "" };
        let (id, index, name) = (symbol.id.0, symbol.func_index.0, symbol.display_name());
        writeln!(text, "{id} = func[{index}] {name}{counted}").unwrap();
    }
    text + &wasmprinter::print_bytes(without_own_sections(&rewritten.wasm)).unwrap() + "\n"
}

/// Whether the file shows the recorder's functions too.
fn is_whole(source: &str) -> bool {
    source.lines().next().is_some_and(|line| line.split_whitespace().any(|word| word == "--whole"))
}

/// The text without the functions `$kperf.*`, and without the data of a recorder in the program's memory.
fn without_recorder(text: &str) -> String {
    let mut left_out = false;
    let mut kept = String::new();
    for line in text.lines() {
        left_out |= line.starts_with("  (func $kperf.");
        let is_data = line.starts_with("  (data ") && (line.contains("KPERF") || line.contains("outcome"));
        if !left_out && !is_data {
            kept.push_str(line);
            kept.push('\n');
        }
        left_out &= line != "  )";
    }
    kept
}

fn without_own_sections(wasm: &[u8]) -> Vec<u8> {
    let mut out = wasm_encoder::Module::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.unwrap();
        let own = matches!(&payload, Payload::CustomSection(s) if ["producers", "kperf.symbols"].contains(&s.name()));
        if let (false, Some((id, range))) = (own, payload.as_section()) {
            out.section(&wasm_encoder::RawSection {
                id,
                data: &wasm[range.start as usize..range.end as usize],
            });
        }
    }
    out.finish()
}

fn options(source: &str) -> Options {
    let mut options = Options::default();
    let Some(line) = source.lines().next().and_then(|line| line.strip_prefix(";; --")) else {
        return options;
    };
    let line = format!("--{line}");
    let mut words = line.split_whitespace();
    let mut filter = Filter::default();
    while let Some(word) = words.next() {
        match word {
            "--imports" => options.imports = true,
            "--whole" => {}
            "--probe" => {
                options.recording = match words.next().unwrap() {
                    "inline" => Recording::inline(),
                    "profile" => Recording::Profile { spans: false },
                    "profile-spans" => Recording::Profile { spans: true },
                    "count" => Recording::Count,
                    "own-profile" => Recording::OwnProfile,
                    "own-count" => Recording::OwnCount,
                    "sample" => Recording::Sample,
                    "self" => Recording::CallTree,
                    other => panic!("unknown probe {other}"),
                }
            }
            "--no-callbacks" => {
                options.host.harmless.push(Pattern::glob(words.next().unwrap()).unwrap());
            }
            "--closed" => options.host.closed = true,
            "--clock-instructions" => match &mut options.recording {
                Recording::Imported(Imported { clock, .. }) | Recording::Inline(Inline { clock, .. }) => {
                    *clock = Clock::Instructions;
                }
                other => panic!("{other:?} has no such clock"),
            },
            "--allocations" => match &mut options.recording {
                Recording::Imported(imported) => imported.allocations = true,
                Recording::Inline(inline) => inline.allocations = Allocations::All,
                other => panic!("{other:?} has no allocations"),
            },
            "--leaf-count" => options.recording = Recording::inline_with(Leaf::Count),
            "--exports" => options.exports_only = true,
            "--min-instructions" => options.min_instructions = words.next().unwrap().parse().unwrap(),
            "--id-base" => options.id_base = words.next().unwrap().parse().unwrap(),
            "--only" => filter.only.push(Pattern::parse(words.next().unwrap()).unwrap()),
            "--skip" => filter.skip.push(Pattern::parse(words.next().unwrap()).unwrap()),
            word => panic!("unknown option {word}"),
        }
    }
    options.filter = filter;
    options
}
