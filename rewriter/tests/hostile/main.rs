//! Rewrites modules at the engines' limits and beyond any real module: each becomes valid or is refused by name.
//!
//! - Time grows with the size, and memory is at most four times the size (and some hundred bytes for each function or
//!   type).
//! - With `KPERF_TESTS=all` this holds for every form of probe; otherwise all but the first two forms get modules of
//!   a quarter of the size.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod code;
mod debug;
#[path = "../../../tests/common/effort.rs"]
#[allow(dead_code, reason = "some helpers are for other tests")]
mod effort;
mod inlined;
mod measure;
mod sections;

use kperf_rewriter::{Leaf, Options, Recording, SkipReason, Warning, rewrite};
use measure::{cpu_seconds, peak_bytes};
use wasmparser::{Validator, WasmFeatures};

/// The expected result for a module.
enum Expect {
    /// This many functions get probes.
    Probed(usize),
    /// All functions but this many get probes, for this reason.
    Without(usize, SkipReason),
    /// An error with these words.
    Refused(&'static str),
}

struct Case {
    name: &'static str,
    /// Makes the module, also of a quarter of the size.
    make: fn(usize) -> Vec<u8>,
    size: usize,
    imports: bool,
    /// How many copies of the module may be in memory.
    copies: usize,
    /// A part of the expected warning, if any.
    warns: &'static str,
    expect: Expect,
}

const fn case(name: &'static str, make: fn(usize) -> Vec<u8>, size: usize, expect: Expect) -> Case {
    Case { name, make, size, imports: false, copies: 4, warns: "", expect }
}

#[rustfmt::skip]
const CASES: [Case; 43] = [
    case("600,000 functions of 60 bytes", code::functions, 600_000, Expect::Probed(600_000)),
    case("600,000 empty functions", code::empty_functions, 600_000, Expect::Probed(600_000)),
    case("as many functions as there may be", code::empty_functions, 1_000_000, Expect::Refused("1000002 functions")),
    case("one function of 5 MB", code::large, 5 << 20, Expect::Probed(1)),
    // A body that grows past its buffer is there twice for a moment.
    Case { copies: 6, ..case("one function of 7 MB that calls imports", code::calls_imports, 7 << 20, Expect::Without(1, SkipReason::TooLarge)) },
    case("25,000 nested blocks", code::blocks, 25_000, Expect::Probed(1)),
    case("25,000 nested loops and branches out of all", code::branches, 25_000, Expect::Probed(1)),
    case("10,000 nested try_tables", code::nested_try_tables, 10_000, Expect::Probed(1)),
    case("40,000 try_tables with parameters", code::try_tables_with_params, 40_000, Expect::Probed(1)),
    // With the recorder inside it is tried twice: with its code in the body, and with calls.
    Case { copies: 10, ..case("60,000 try_tables with parameters", code::try_tables_with_params, 60_000, Expect::Without(1, SkipReason::TooManyLocals)) },
    case("a try_table of 10,000 clauses", code::clauses, 10_000, Expect::Probed(1)),
    case("10,000 nested legacy tries", code::legacy_tries, 10_000, Expect::Probed(1)),
    case("br_tables of 4 MB", code::br_tables, 400, Expect::Probed(1)),
    case("50,000 functions of 1,000 params and results", code::wide, 50_000, Expect::Probed(50_000)),
    case("49,999 locals, each declared alone", code::locals, 49_999, Expect::Probed(1)),
    case("50,000 locals, each declared alone", code::locals, 50_000, Expect::Without(1, SkipReason::TooManyLocals)),
    // In the plan, in the symbol table, packed, in the name section.
    Case { copies: 7, ..case("a name of 10 MB", sections::long_name, 10 << 20, Expect::Probed(1)) },
    case("200,000 functions of one name", sections::same_names, 200_000, Expect::Probed(200_000)),
    case("names that are no UTF-8", sections::broken_names, 50_000, Expect::Probed(50_000)),
    case("100,000 names of locals and labels", sections::inner_names, 100_000, Expect::Probed(1)),
    case("1,000 name sections of 1,000 names", sections::name_sections, 1_000, Expect::Probed(1_000)),
    case("custom sections everywhere", sections::custom, 20_000, Expect::Probed(1)),
    case("100,000 data segments", sections::data, 100_000, Expect::Probed(1)),
    case("100,000 types", sections::types, 100_000, Expect::Probed(1)),
    case("a recursive group of 100,000 types", sections::recursive, 100_000, Expect::Probed(1)),
    case("100,000 imports", sections::imports, 100_000, Expect::Probed(1)),
    Case { imports: true, ..case("100,000 imports with probes", sections::imports, 100_000, Expect::Probed(100_001)) },
    case("100,000 exports", sections::exports, 100_000, Expect::Probed(1)),
    case("100,000 element segments, globals and tags", sections::others, 100_000, Expect::Probed(1)),
    // Of each unit of 12 bytes, and of each table's entry of five, some hundred are known; of a table more than a thousand.
    Case { copies: 48, ..case("20,000 units that share an abbreviation table", debug::shared_abbreviations, 20_000, Expect::Probed(1)) },
    Case { copies: 112, ..case("20,000 abbreviation tables that overlap", debug::overlapping_abbreviations, 20_000, Expect::Probed(1)) },
    Case { copies: 24, warns: "more attributes than bytes", ..case("200,000 DIEs of 200,000 attributes", debug::attributes, 200_000, Expect::Probed(1)) },
    Case { copies: 24, ..case("20,000 units that share a line program", debug::shared_lines, 20_000, Expect::Probed(1)) },
    Case { copies: 24, warns: "debug information", ..case("20,000 line programs that overlap", debug::overlapping_lines, 20_000, Expect::Probed(1)) },
    Case { copies: 24, warns: "paths of files are too long", ..case("20,000 files in a folder with a name of 4 kB", debug::long_folder, 20_000, Expect::Probed(20_000)) },
    Case { copies: 24, ..case("20,000 units in a folder with a name of 400 kB", debug::endless_folder, 20_000, Expect::Probed(20_000)) },
    Case { copies: 24, ..case("10,000 calls inlined in one another", inlined::deep, 10_000, Expect::Probed(1)) },
    Case { copies: 24, ..case("100,000 inlined calls at one place", inlined::many, 100_000, Expect::Probed(1)) },
    Case { copies: 24, ..case("20,000 inlined calls that are of one another", inlined::in_a_circle, 20_000, Expect::Probed(1)) },
    Case { copies: 24, warns: "inlined", ..case("20,000 inlined calls of the same 20,000 ranges", inlined::shared_ranges, 20_000, Expect::Probed(1)) },
    Case { copies: 24, warns: "names of inlined functions are too long", ..case("20,000 inlined functions with a name of 4 kB", inlined::long_names, 20_000, Expect::Probed(1)) },
    Case { copies: 24, ..case("20,000 names that stand for larger ones", sections::mangled, 20_000, Expect::Probed(20_000)) },
    case("a branch hint for each of 200,000 branches", code::hinted, 200_000, Expect::Probed(1)),
];

/// The recordings, except the default. Results differ only by how much room there is.
#[rustfmt::skip]
const FORMS: [(&str, Recording); 10] = [
    ("inline", Recording::inline()),
    ("inline, leaves counted", Recording::inline_with(Leaf::Count)),
    ("profile", Recording::Profile { spans: false }),
    ("profile with spans", Recording::Profile { spans: true }),
    ("profile in its own memory", Recording::OwnProfile),
    ("count", Recording::Count),
    ("count in globals", Recording::OwnCount),
    ("sample", Recording::Sample),
    ("call tree", Recording::CallTree),
    ("import, with imports", Recording::imported()),
];

#[test]
fn hostile_modules() {
    let mut wrong = Vec::new();
    for case in &CASES {
        if let Err(error) = check(case) {
            wrong.push(format!("{}: {error}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check(case: &Case) -> Result<(), String> {
    let wasm = (case.make)(case.size);
    validate(&wasm).map_err(|error| format!("the test's module: {error}"))?;
    let options = Options { imports: case.imports, ..Options::default() };
    check_one(case, &wasm, &options, "import", Some(&case.expect))?;
    check_time(case, &wasm, &options)?;
    let quarter = (case.make)(case.size / 4);
    for (n, (form, recording)) in FORMS.into_iter().enumerate() {
        let options =
            Options { recording, imports: case.imports || recording.is_imported(), ..Options::default() };
        let said = |error| format!("{form}: {error}");
        if n == 0 || effort::is_all() {
            check_one(case, &wasm, &options, form, None).map_err(said)?;
            check_time(case, &wasm, &options).map_err(said)?;
        } else {
            check_one(case, &quarter, &options, form, None).map_err(said)?;
        }
    }
    Ok(())
}

fn validate(wasm: &[u8]) -> Result<(), String> {
    let features = WasmFeatures::all();
    Validator::new_with_features(features).validate_all(wasm).map(drop).map_err(|error| error.to_string())
}

/// Checks the result for a module: `expect`, or else a valid module or a proper refusal.
fn check_one(
    case: &Case,
    wasm: &[u8],
    options: &Options,
    form: &str,
    expect: Option<&Expect>,
) -> Result<(), String> {
    let (peak, result) = peak_bytes(|| rewrite(wasm, options));
    let mut larger = wasm.len();
    match result {
        Err(error) => {
            let error = error.to_string();
            let expected = match expect {
                Some(Expect::Refused(words)) => error.contains(words),
                Some(_) => false,
                None => error.contains("; engines allow ") || error.contains("is linked at run time"),
            };
            if !expected {
                return Err(error);
            }
        }
        Ok(rewritten) => {
            validate(&rewritten.wasm).map_err(|error| format!("rewritten: {error}"))?;
            larger = larger.max(rewritten.wasm.len());
            let not_probed = rewritten.warnings.iter().filter_map(|warning| match warning {
                Warning::NotProbed { reason, .. } => Some(*reason),
                _ => None,
            });
            let (not_probed, probed) = (not_probed.collect::<Vec<_>>(), rewritten.symbols.symbols.len());
            let as_expected = match expect {
                Some(&Expect::Probed(count)) => probed == count && not_probed.is_empty(),
                Some(&Expect::Without(count, reason)) => not_probed == vec![reason; count],
                Some(Expect::Refused(_)) => false,
                None => {
                    let room = [SkipReason::TooLarge, SkipReason::TooManyLocals];
                    probed + not_probed.len() > 0 && not_probed.iter().all(|reason| room.contains(reason))
                }
            };
            if !as_expected {
                return Err(format!("{probed} probes, and none for {not_probed:?}"));
            }
            let warns = |warning: &Warning| warning.to_string().contains(case.warns);
            if !case.warns.is_empty() && !rewritten.warnings.iter().any(warns) {
                return Err(format!("no warning with `{}`: {:?}", case.warns, rewritten.warnings));
            }
        }
    }
    let times = peak as f64 / larger as f64;
    println!("{:48} {form:24} {:6.1} MB, peak {times:5.1} x", case.name, wasm.len() as f64 / 1e6);
    // What is known of a function or a type takes some room, however short it is in the module.
    let items = items(wasm);
    // A body that grows past its buffer is there twice for a moment, which with a probe that is code it does sooner.
    // Without code in its functions a rewritten module is small, beside the table of their names.
    let more = match options.recording {
        Recording::Imported(_) => 0,
        Recording::Sample => 4,
        // Calls of the host take three times the room. A body that has none is written up to the engines' limit twice, and left as it is.
        Recording::CallTree => 20,
        _ => 2,
    };
    let copies = case.copies + more;
    let allowed = copies * larger + 200 * items + (4 << 20);
    if peak > allowed {
        return Err(format!(
            "{peak} bytes at most, and not {allowed}, for a module of {} with {items} functions and types",
            wasm.len()
        ));
    }
    Ok(())
}

/// In seconds.
const SHORT: f64 = 0.1;

/// Four times the size takes about four times as long, not sixteen times.
fn check_time(case: &Case, wasm: &[u8], options: &Options) -> Result<(), String> {
    let quarter = (case.make)(case.size / 4);
    let mut minima = [f64::MAX; 2];
    // Other programs run beside this one: their share is not counted, but they take the caches.
    for _ in 0..6 {
        minima[0] = minima[0].min(cpu_seconds(|| drop(rewrite(&quarter, options))));
        minima[1] = minima[1].min(cpu_seconds(|| drop(rewrite(wasm, options))));
        // What takes less says nothing: pages and caches decide. What is quadratic takes minutes at these sizes.
        if minima[1] < 8.0 * minima[0].max(SHORT) {
            return Ok(());
        }
    }
    Err(format!("{:.1} ms, but {:.1} ms for a quarter of it", minima[1] * 1e3, minima[0] * 1e3))
}

fn items(wasm: &[u8]) -> usize {
    let payloads = wasmparser::Parser::new(0).parse_all(wasm);
    payloads
        .map(|payload| match payload.unwrap() {
            wasmparser::Payload::FunctionSection(functions) => functions.count() as usize,
            wasmparser::Payload::ImportSection(imports) => imports.count() as usize,
            wasmparser::Payload::TypeSection(types) => {
                types.into_iter().map(|group| group.unwrap().types().len()).sum()
            }
            _ => 0,
        })
        .sum()
}
