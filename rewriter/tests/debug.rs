//! Compares debug information of real compilers before and after rewriting: each instruction keeps its place.
//!
//! The new address of an instruction is found by counting. Probes add no arithmetic and no memory access, so the n-th
//! such instruction of a function is the same before and after.

use gimli::{AttributeValue, Dwarf, EndianSlice, LittleEndian};
use kperf_rewriter::{Clock, Imported, Inline, Options, Recording, Rewritten, Warning, rewrite};
use std::collections::BTreeMap;
use std::process::Command;
use wasmparser::{FunctionBody, Operator, Parser, Payload};

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

const MODULES: [&str; 8] =
    ["c-dwarf4-O0", "c-dwarf4-O2", "c-dwarf5-O2", "cpp-dwarf4-O2", "cpp-dwarf5-O2", "mixed", "trap", "zig"];

fn module(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/debug/{name}.wasm", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Forms of probes.
fn forms() -> [(&'static str, Options); 5] {
    let with = |recording| Options { recording, ..Options::default() };
    let clock = Clock::Instructions;
    let inside = Recording::Inline(Inline { clock, ..Inline::default() });
    let beside = Recording::Imported(Imported { clock, ..Imported::default() });
    [
        ("import", Options { imports: true, ..with(Recording::imported()) }),
        ("inline", with(Recording::inline())),
        ("count", with(Recording::Count)),
        ("instructions", with(inside)),
        ("instructions beside", with(beside)),
    ]
}

fn rewritten(wasm: &[u8], options: &Options) -> Vec<u8> {
    let Rewritten { wasm, warnings, .. } = rewrite(wasm, options).unwrap();
    assert_eq!(warnings, []);
    wasm
}

/// A function of a module: its start and end, and its arithmetic and memory instructions, as addresses of DWARF.
#[derive(Debug)]
struct Function {
    start: u64,
    end: u64,
    marks: Vec<u64>,
}

struct Read<'a> {
    functions: Vec<Function>,
    sections: BTreeMap<&'a str, &'a [u8]>,
}

impl<'a> Read<'a> {
    fn new(wasm: &'a [u8]) -> Read<'a> {
        let mut read = Read { functions: Vec::new(), sections: BTreeMap::new() };
        let mut code = 0;
        for payload in Parser::new(0).parse_all(wasm) {
            let payload = payload.unwrap();
            if let Some((10, range)) = payload.as_section() {
                code = range.start;
            }
            match payload {
                Payload::CodeSectionEntry(body) => read.functions.push(function(&body, code)),
                Payload::CustomSection(section) => {
                    read.sections.insert(section.name(), section.data());
                }
                _ => {}
            }
        }
        read
    }

    fn dwarf(&self) -> Dwarf<Bytes<'a>> {
        let section = |id: gimli::SectionId| {
            let data = self.sections.get(id.name()).copied().unwrap_or_default();
            Ok::<_, gimli::Error>(Bytes::new(data, LittleEndian))
        };
        Dwarf::load(section).unwrap()
    }
}

fn function(body: &FunctionBody<'_>, code: u64) -> Function {
    let mut marks = Vec::new();
    let mut operators = body.get_operators_reader().unwrap();
    while !operators.eof() {
        let at = operators.original_position();
        let is_mark = matches!(
            operators.read().unwrap(),
            Operator::I32Mul
                | Operator::I32LtS
                | Operator::I32GtS
                | Operator::I32Ne
                | Operator::I32Load { .. }
                | Operator::I32Shl
                | Operator::I32And
                | Operator::Select
        );
        if is_mark {
            marks.push(at - code);
        }
    }
    Function { start: body.range().start - code, end: body.range().end - code, marks }
}

/// The module with line programs that advance to the start of a function, as TeaVM's do, instead of naming the
/// address.
fn counted_from_zero(mut wasm: Vec<u8>) -> Vec<u8> {
    let lines = Parser::new(0).parse_all(&wasm).find_map(|payload| match payload.unwrap() {
        Payload::CustomSection(section) if section.name() == ".debug_line" => {
            Some(section.range().end as usize - section.data().len()..section.range().end as usize)
        }
        _ => None,
    });
    let mut changed = 0;
    for at in lines.unwrap() {
        // An extended opcode of five bytes: DW_LNE_set_address. That of a function which was removed is 0.
        let [0, 5, 2, address @ ..] = &wasm[at..(at + 7).min(wasm.len())] else { continue };
        let address = u32::from_le_bytes(address.try_into().unwrap());
        if address > 0 {
            // DW_LNS_advance_pc, and a LEB128 of six bytes.
            let digits = [0, 7, 14, 21, 28].map(|shift| (address >> shift) as u8 & 0x7f | 0x80);
            wasm[at] = 2;
            wasm[at + 1..at + 6].copy_from_slice(&digits);
            wasm[at + 6] = 0;
            changed += 1;
        }
    }
    assert!(changed > 0);
    wasm
}

/// The rows of all line programs: file, line, column and flags by address.
type Rows = BTreeMap<u64, (String, Option<u64>, gimli::ColumnType, bool)>;

/// The rows and the end of each sequence.
fn sequences(dwarf: &Dwarf<Bytes<'_>>) -> Vec<(Rows, u64)> {
    let mut sequences = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next().unwrap() {
        let unit = dwarf.unit(header).unwrap();
        let Some(program) = unit.line_program.clone() else { continue };
        let mut rows = program.rows();
        let mut found = Rows::new();
        while let Some((header, row)) = rows.next_row().unwrap() {
            if row.end_sequence() {
                sequences.push((std::mem::take(&mut found), row.address()));
                continue;
            }
            let file = row.file(header).unwrap();
            let file = dwarf.attr_string(&unit, file.path_name()).unwrap().to_string_lossy().into_owned();
            let line = row.line().map(|line| line.get());
            found.insert(row.address(), (file, line, row.column(), row.is_stmt()));
        }
    }
    sequences
}

/// The rows of the line programs at an address.
fn place(sequences: &[(Rows, u64)], address: u64) -> Option<(String, Option<u64>)> {
    let sequence = sequences.iter().find(|(rows, end)| {
        rows.first_key_value().is_some_and(|(&first, _)| first <= address) && address < *end
    });
    let (_, (file, line, ..)) = sequence?.0.range(..=address).next_back()?;
    Some((file.clone(), *line))
}

#[test]
fn each_instruction_has_the_line_that_it_had() {
    let mut all = 0;
    let modules =
        MODULES.iter().flat_map(|name| [(name, module(name)), (name, counted_from_zero(module(name)))]);
    for (name, wasm) in modules {
        let before = Read::new(&wasm);
        let lines = sequences(&before.dwarf());
        let wasm = rewritten(&wasm, &Options { imports: true, ..Options::default() });
        let after = Read::new(&wasm);
        let new_lines = sequences(&after.dwarf());
        assert_eq!(lines.len(), new_lines.len(), "{name}");
        let mut compared = 0;
        for (old, new) in before.functions.iter().zip(&after.functions) {
            assert_eq!(old.marks.len(), new.marks.len(), "{name}");
            let pairs = old.marks.iter().zip(&new.marks).chain([(&old.start, &new.start)]);
            for (&old, &new) in pairs {
                let known = place(&lines, old);
                compared += usize::from(known.is_some());
                assert_eq!(known, place(&new_lines, new), "{name}: {old:#x} is at {new:#x}");
            }
        }
        assert!(compared >= 6, "{name}: {compared} places");
        all += compared;
    }
    assert!(all > 100, "{all} places");
}

/// Also with code that can't be counted: no row is lost, none changes except its address, and all keep their order.
#[test]
fn line_programs_have_the_same_rows() {
    for name in MODULES {
        let wasm = module(name);
        let facts = |wasm: &[u8]| -> Vec<Vec<_>> {
            let read = Read::new(wasm);
            let rows = sequences(&read.dwarf());
            rows.iter().map(|(rows, _)| rows.values().cloned().collect()).collect()
        };
        let before = facts(&wasm);
        for (form, options) in forms() {
            assert_eq!(before, facts(&rewritten(&wasm, &options)), "{name} {form}");
        }
    }
}

/// The addresses in a unit's entries: the ranges of each entry with ranges, and the ranges in the list of each
/// location.
fn ranges(dwarf: &Dwarf<Bytes<'_>>) -> Vec<(String, Vec<(u64, u64)>)> {
    let mut all = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next().unwrap() {
        let unit = dwarf.unit(header).unwrap();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs().unwrap() {
            let mut found = Vec::new();
            let mut ranges = dwarf.die_ranges(&unit, entry).unwrap();
            while let Some(range) = ranges.next().unwrap() {
                found.push((range.begin, range.end));
            }
            all.push((entry.tag().to_string(), found));
            for attribute in entry.attrs() {
                let offset = match attribute.value() {
                    value @ (AttributeValue::LocationListsRef(_) | AttributeValue::DebugLocListsIndex(_)) => {
                        dwarf.attr_locations_offset(&unit, value).unwrap()
                    }
                    _ => None,
                };
                let Some(offset) = offset else { continue };
                let mut locations = dwarf.locations(&unit, offset).unwrap();
                let mut found = Vec::new();
                while let Some(location) = locations.next().unwrap() {
                    found.push((location.range.begin, location.range.end));
                }
                all.push((format!("{} location", entry.tag()), found));
            }
        }
    }
    all
}

#[test]
fn ranges_and_locations_follow_the_code() {
    for name in MODULES {
        let wasm = module(name);
        let before = Read::new(&wasm);
        let old = ranges(&before.dwarf());
        assert!(old.iter().any(|(what, ranges)| what == "DW_TAG_subprogram" && !ranges.is_empty()), "{name}");
        for (form, options) in forms() {
            let wasm = rewritten(&wasm, &options);
            let after = Read::new(&wasm);
            let new = ranges(&after.dwarf());
            assert_eq!(old.len(), new.len(), "{name} {form}");
            // Ends and beginnings of functions are where those of the new ones are, and all else is between them.
            let moved: BTreeMap<u64, u64> = (before.functions.iter().zip(&after.functions))
                .flat_map(|(old, new)| [(old.start, new.start), (old.end, new.end)])
                .collect();
            let mut seen = BTreeMap::new();
            for ((what, old), (_, new)) in old.iter().zip(&new) {
                assert_eq!(old.len(), new.len(), "{name} {form}: {what}");
                for (old, new) in old.iter().zip(new) {
                    for (old, new) in [(old.0, new.0), (old.1, new.1)] {
                        assert_eq!(*seen.entry(old).or_insert(new), new, "{name} {form}: {what} at {old:#x}");
                    }
                }
            }
            for (old, new) in &seen {
                assert!(
                    moved.get(old).is_none_or(|moved| moved == new),
                    "{name} {form}: {old:#x} is at {new:#x}"
                );
            }
            assert!(seen.values().is_sorted(), "{name} {form}: {seen:x?}");
            let exact = seen.keys().filter(|old| moved.contains_key(old)).count();
            assert!(exact >= before.functions.len(), "{name} {form}: {exact}");
        }
    }
}

/// The globals that locate variables or frames.
fn globals_of(dwarf: &Dwarf<Bytes<'_>>) -> Vec<u32> {
    let mut all = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next().unwrap() {
        let unit = dwarf.unit(header).unwrap();
        let mut of = |expression: gimli::Expression<Bytes<'_>>| {
            let mut operations = expression.operations(unit.encoding());
            while let Ok(Some(operation)) = operations.next() {
                if let gimli::Operation::WasmGlobal { index } = operation {
                    all.push(index);
                }
            }
        };
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs().unwrap() {
            for attribute in entry.attrs() {
                if let AttributeValue::Exprloc(expression) = attribute.value() {
                    of(expression);
                } else if let Ok(Some(mut locations)) = dwarf.attr_locations(&unit, attribute.value()) {
                    while let Some(location) = locations.next().unwrap() {
                        of(location.data);
                    }
                }
            }
        }
    }
    all
}

/// The global of a counter beside the module comes first, so the stack pointer is the second one.
#[test]
fn variables_follow_the_globals() {
    let mut all = 0;
    for name in MODULES {
        let wasm = module(name);
        let before = globals_of(&Read::new(&wasm).dwarf());
        all += before.len();
        for (form, options) in forms() {
            let by = u32::from(form == "instructions beside");
            let moved: Vec<_> = before.iter().map(|index| index + by).collect();
            assert_eq!(globals_of(&Read::new(&rewritten(&wasm, &options)).dwarf()), moved, "{name} {form}");
        }
    }
    assert!(all >= 10, "{all} globals");
}

/// Linkers name the highest index where they have removed a global. It stays, and the rest is no worse for it.
#[test]
fn a_removed_global_is_left_as_it_is() {
    let mut all = 0;
    for name in MODULES {
        let mut wasm = module(name);
        let before = globals_of(&Read::new(&wasm).dwarf());
        // `DW_OP_WASM_location` with a global index of four bytes.
        let fixed = |at: &[u8]| at[..2] == [0xed, 3] && at[3..] == [0; 3];
        let Some(at) = wasm.windows(6).rposition(fixed) else { continue };
        wasm[at + 2..at + 6].fill(0xff);
        let changed = globals_of(&Read::new(&wasm).dwarf());
        if changed == before {
            // These bytes were something else.
            continue;
        }
        all += 1;
        for (form, options) in forms() {
            let by = u32::from(form == "instructions beside");
            let moved: Vec<_> = changed.iter().map(|index| index.saturating_add(by)).collect();
            assert_eq!(globals_of(&Read::new(&rewritten(&wasm, &options)).dwarf()), moved, "{name} {form}");
        }
    }
    assert!(all >= 2, "{all} modules have such a place");
}

/// LLVM's verification, if it is installed.
#[test]
fn llvm_finds_nothing_wrong() {
    let verify = |wasm: &[u8]| {
        let file = std::env::temp_dir().join(format!("kperf-debug-{}.wasm", std::process::id()));
        std::fs::write(&file, wasm).unwrap();
        let output = Command::new("llvm-dwarfdump").arg("--verify").arg(&file).output();
        let _ = std::fs::remove_file(&file);
        output
            .ok()
            .map(|output| (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()))
    };
    for name in MODULES {
        for (form, options) in forms() {
            let Some((fine, text)) = verify(&rewritten(&module(name), &options)) else { return };
            assert!(fine && text.contains("No errors"), "{name} {form}: {text}");
        }
    }
}

#[test]
fn debug_information_is_left_out_where_that_is_wanted() {
    let wasm = module("c-dwarf5-O2");
    let rewritten = rewrite(&wasm, &Options { drops_debug: true, ..Options::default() }).unwrap();
    assert!(!Read::new(&rewritten.wasm).sections.keys().any(|name| name.starts_with(".debug_")));
    assert!(rewritten.symbols.symbols.iter().any(|symbol| symbol.source.is_some()));
    let dropped = |warning: &Warning| matches!(warning, Warning::DroppedSection { .. });
    assert!(!rewritten.warnings.iter().any(dropped), "it was asked for");
}

/// Whatever is wrong with the sections: no panic, no endless loop, and the module is as good as without them.
#[test]
fn broken_debug_information_costs_no_more_than_itself() {
    let mut random = fastrand::Rng::with_seed(23);
    for name in MODULES {
        let wasm = module(name);
        let debug: Vec<_> = Parser::new(0)
            .parse_all(&wasm)
            .filter_map(|payload| match payload.unwrap() {
                Payload::CustomSection(section) if section.name().starts_with(".debug_") => {
                    Some(section.data_offset() as usize..section.range().end as usize)
                }
                _ => None,
            })
            .collect();
        for _ in 0..150 {
            let mut broken = wasm.clone();
            for _ in 0..random.usize(1..4) {
                let section = &debug[random.usize(..debug.len())];
                if !section.is_empty() {
                    broken[random.usize(section.clone())] = random.u8(..);
                }
            }
            let rewritten = rewrite(&broken, &Options::default()).unwrap();
            wasmparser::Validator::new().validate_all(&rewritten.wasm).unwrap();
        }
    }
}
