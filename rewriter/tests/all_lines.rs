//! Compares debug information of ten compilers' modules before and after rewriting.
//!
//! - The reports of LLVM's tools, the first line of each function, and the line of every instruction, by DWARF or by
//!   the source map inside the module.
//! - `all_lines/README.md` has the results of the long set, which `all_lines/build.sh` makes: `KPERF_LINES=FOLDER
//!   cargo test --release -p kperf-rewriter --test main all_lines -- --nocapture`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gimli::{Dwarf, EndianSlice, LittleEndian};
use kperf_rewriter::{Options, Recording, Warning, rewrite};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use wasmparser::{Parser, Payload};

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

#[test]
fn lines_are_those_of_the_original() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut folders = vec![own.join("debug"), own.join("source")];
    folders.extend(std::env::var_os("KPERF_LINES").map(PathBuf::from));
    let mut wrong = Vec::new();
    let mut modules = 0;
    for folder in folders {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        for file in files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "wasm")) {
            modules += 1;
            match check(&file) {
                Ok(told) => println!("| {} | {told} |", file.file_name().unwrap().to_string_lossy()),
                Err(error) => wrong.push(format!("{}: {error}", file.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(modules > 20);
}

/// A module with its source map put inside.
fn with_map_inside(wasm: &[u8], map: &[u8]) -> Vec<u8> {
    const SECTION: &str = "sourceMappingURL";
    // Byte for byte: numbers of the map are offsets in the file, and sizes may have been written with more bytes than needed.
    let mut whole = wasm[..8].to_vec();
    let mut start = 8;
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.unwrap();
        let is_old = matches!(&payload, Payload::CustomSection(section) if section.name() == SECTION);
        if let Some((_, range)) = payload.as_section() {
            if !is_old {
                whole.extend(&wasm[start..range.end as usize]);
            }
            start = range.end as usize;
        }
    }
    // Maps have the sources in them too, and so more than 100,000 bytes.
    let mut map: serde_json::Value = serde_json::from_slice(map).unwrap();
    map["sourcesContent"] = vec!["// a long file\n".repeat(10_000)].into();
    let url = format!("data:application/json;base64,{}", STANDARD.encode(map.to_string()));
    let mut data = Vec::new();
    wasm_encoder::Encode::encode(url.as_str(), &mut data);
    let mut module = wasm_encoder::Module::new();
    module.section(&wasm_encoder::CustomSection { name: SECTION.into(), data: data.into() });
    whole.extend(&module.finish()[8..]);
    whole
}

/// Prints the numbers of compared functions, instructions, lines and inlined calls.
fn check(path: &Path) -> Result<String, String> {
    let mut wasm = std::fs::read(path).unwrap();
    if let Ok(map) = std::fs::read(format!("{}.map", path.display())) {
        wasm = with_map_inside(&wasm, &map);
    }
    // A module that is loaded beside others can have no counts inside, which is what tells here where instructions have come to.
    const LOADED: &[u8] = b"\x08dylink.0";
    if let Some(at) = wasm.windows(LOADED.len()).take(1 << 8).position(|bytes| bytes == LOADED) {
        wasm[at + 1] = b'-';
    }
    let options = Options { recording: Recording::Count, ..Options::default() };
    let rewritten = rewrite(&wasm, &options).map_err(|error| error.to_string())?;
    let is_elsewhere = |warning: &Warning| {
        matches!(warning, Warning::DroppedSection { name } if name == SOURCE_MAP) && !Lines::has_map(&wasm)
    };
    if !rewritten.warnings.iter().all(is_elsewhere) {
        return Err(format!("{:?}", rewritten.warnings));
    }
    let verified = match Lines::has_map(&wasm) {
        true => "source map".to_owned(),
        false => verify(&wasm, &rewritten.wasm)?,
    };

    let (before, after) = (Lines::of(&wasm), Lines::of(&rewritten.wasm));
    let (old, new) = (instructions(&wasm), instructions(&rewritten.wasm));
    let (mut functions, mut compared, mut inlined) = (0, 0, 0);
    for (n, symbol) in rewritten.symbols.symbols.iter().enumerate() {
        let code = rewritten.symbols.codes.get(n);
        inlined += code.inlined.calls.len();
        let body =
            old.iter().find(|body| body.start == symbol.code_offset).ok_or("a function has no body")?;
        let moved = &new[body.number];
        functions += 1;
        for &(at, ref text) in &body.operators {
            let offset = (at - body.start) as u32;
            // Where it is now: what was put in front of it is of it too.
            let is_it =
                |(place, now): &&(u64, String)| code.original(*place as u32) == Some(offset) && now == text;
            let from = moved.operators.partition_point(|(place, _)| {
                code.original(*place as u32).is_none_or(|original| original < offset)
            });
            // Calls and branches say another index or depth now.
            let Some((place, _)) = moved.operators[from..].iter().take(40).find(is_it) else { continue };
            let (then, now) = (before.line(at, body.start), after.line(*place, moved.start));
            if then != now {
                return Err(format!(
                    "{text} at {at:#x} of {} was of {then:?}, and is of {now:?}",
                    symbol.name
                ));
            }
            // The symbol table says the same.
            let told = code.source(offset).map(|source| u64::from(source.line)).filter(|line| *line > 0);
            let expected = then.filter(|line| *line > 0);
            if told != expected && expected.is_some() {
                return Err(format!("{text} at {at:#x} of {} is of {expected:?}, not {told:?}", symbol.name));
            }
            compared += usize::from(then.is_some());
        }
    }
    if before.rows.is_empty() || compared == 0 {
        return Err("nothing was compared".to_owned());
    }
    Ok(format!("{functions} | {compared} | {inlined} | {verified}"))
}

/// The errors of `llvm-dwarfdump --verify`, if it is installed: as many as before.
fn verify(old: &[u8], new: &[u8]) -> Result<String, String> {
    let errors = |wasm: &[u8]| -> Option<usize> {
        // LLVM 14 doesn't know the types of Kotlin's modules, and needs none of the code.
        let mut bare = wasm_encoder::Module::new();
        for payload in Parser::new(0).parse_all(wasm) {
            if let Payload::CustomSection(section) = payload.unwrap()
                && section.name().starts_with(".debug_")
            {
                let (name, data) = (section.name().into(), section.data().into());
                bare.section(&wasm_encoder::CustomSection { name, data });
            }
        }
        let path = std::env::temp_dir().join(format!("kperf-lines-{}.wasm", std::process::id()));
        std::fs::write(&path, bare.finish()).unwrap();
        let output = Command::new("llvm-dwarfdump").args(["--verify", "--quiet"]).arg(&path).output();
        std::fs::remove_file(&path).unwrap();
        let output = output.ok()?;
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        Some(text.lines().filter(|line| line.starts_with("error:")).count())
    };
    let (Some(before), Some(after)) = (errors(old), errors(new)) else {
        return Ok("not installed".to_owned());
    };
    match (before, after) {
        (0, 0) => Ok("passes".to_owned()),
        _ if before == after => Ok(format!("{before} errors before and after")),
        _ => Err(format!("llvm-dwarfdump --verify says {after} errors, and {before} of the original")),
    }
}

struct Body {
    number: usize,
    start: u64,
    operators: Vec<(u64, String)>,
}

/// The instructions that probes don't change.
fn instructions(wasm: &[u8]) -> Vec<Body> {
    let mut bodies = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
        let operators = body.get_operators_reader().unwrap().into_iter_with_offsets();
        let operators = operators.map(|operator| operator.unwrap()).filter(|(operator, _)| {
            let text = format!("{operator:?}");
            ["I32", "I64", "F32", "F64", "Local"].iter().any(|kind| text.starts_with(kind))
        });
        let operators = operators.map(|(operator, at)| (at, format!("{operator:?}"))).collect();
        bodies.push(Body { number: bodies.len(), start: body.range().start, operators });
    }
    bodies
}

/// The rows of all line programs, by address; `None` at the end of a sequence.
struct Lines {
    code: u64,
    is_map: bool,
    rows: BTreeMap<u64, Option<u64>>,
}

impl Lines {
    fn of(wasm: &[u8]) -> Lines {
        let mut sections = BTreeMap::new();
        let mut code = 0;
        for payload in Parser::new(0).parse_all(wasm) {
            let payload = payload.unwrap();
            if let Some((10, range)) = payload.as_section() {
                code = range.start;
            }
            if let Payload::CustomSection(section) = payload {
                sections.insert(section.name(), section.data());
            }
        }
        if let Some(url) = sections.get(SOURCE_MAP).filter(|url| is_inside(url)) {
            return Lines { code, is_map: true, rows: map_rows(url, code) };
        }
        let section = |id: gimli::SectionId| {
            Ok::<_, gimli::Error>(Bytes::new(
                sections.get(id.name()).copied().unwrap_or_default(),
                LittleEndian,
            ))
        };
        let dwarf = Dwarf::load(section).unwrap();
        let mut lines = BTreeMap::new();
        let mut units = dwarf.units();
        while let Some(header) = units.next().unwrap() {
            let unit = dwarf.unit(header).unwrap();
            let Some(program) = unit.line_program.clone() else { continue };
            let mut rows = program.rows();
            let mut sequence: Vec<(u64, Option<u64>)> = Vec::new();
            while let Some((_, row)) = rows.next_row().unwrap() {
                if !row.end_sequence() {
                    sequence.push((row.address(), Some(row.line().map_or(0, |line| line.get()))));
                    continue;
                }
                let sequence = std::mem::take(&mut sequence);
                // Linkers leave 0 or all ones where a function was removed.
                if sequence.first().is_none_or(|(first, _)| *first == 0 || *first > u64::from(u32::MAX) - 8) {
                    continue;
                }
                lines.entry(row.address()).or_insert(None);
                lines.extend(sequence);
            }
        }
        Lines { code, is_map: false, rows: lines }
    }

    fn has_map(wasm: &[u8]) -> bool {
        Parser::new(0).parse_all(wasm).any(|payload| {
            matches!(payload.unwrap(), Payload::CustomSection(section)
                if section.name() == SOURCE_MAP && is_inside(section.data()))
        })
    }

    /// The line of an instruction in a body. A mapping before the body doesn't count.
    fn line(&self, at: u64, body: u64) -> Option<u64> {
        let from = if self.is_map { body - self.code } else { 0 };
        self.rows.range(from..=at - self.code).next_back().and_then(|(_, line)| *line)
    }
}

const SOURCE_MAP: &str = "sourceMappingURL";

/// Whether a map is inside the module. A module with DWARF may name a map that is elsewhere.
fn is_inside(url: &[u8]) -> bool {
    url.windows(7).any(|part| part == b"base64,")
}

/// The mappings of a source map inside a module, by another decoder than the rewriter's.
fn map_rows(section: &[u8], code: u64) -> BTreeMap<u64, Option<u64>> {
    let url = String::from_utf8_lossy(section);
    let json = STANDARD.decode(url.split_once("base64,").unwrap().1).unwrap();
    let map: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let mut rows = BTreeMap::new();
    let files = map["sources"].as_array().unwrap().len() as i64;
    let (mut column, mut file, mut line) = (0, 0, 0);
    for segment in map["mappings"].as_str().unwrap().split(',').filter(|segment| !segment.is_empty()) {
        let mut bytes = segment.bytes();
        let numbers: Vec<i64> = std::iter::from_fn(|| vlq::decode(&mut bytes).ok()).collect();
        column += numbers[0];
        file += numbers.get(1).unwrap_or(&0);
        line += numbers.get(2).unwrap_or(&0);
        if let Some(at) = (column as u64).checked_sub(code) {
            rows.insert(at, (numbers.len() > 1 && file < files).then_some(line as u64 + 1));
        }
    }
    rows
}
