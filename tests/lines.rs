//! Lines of native profiles, of a module that a compiler made (`rewriter/tests/source`).

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::common::command::{kperf, output};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rewriter/tests/source");

/// The share of `hot` by line.
fn shares(folder: &Path, args: &[&str]) -> Vec<(String, f64)> {
    let mut all = vec!["report", "loop.kperf", "--by", "line", "--format", "json"];
    all.extend(args);
    let rows: Vec<Value> = serde_json::from_str(&kperf(folder, &all).0).unwrap();
    let hot = rows.iter().filter(|row| row["function"] == "hot" && row["share"].as_f64() > Some(0.0));
    hot.map(|row| (row["place"].as_str().unwrap().to_owned(), row["share"].as_f64().unwrap())).collect()
}

/// How much of the time is on the two lines of the loop.
fn in_loop(shares: &[(String, f64)]) -> f64 {
    let is_in = |place: &str| ["/src/loop.c:6", "/src/loop.c:7"].contains(&place);
    shares.iter().filter(|(place, _)| is_in(place)).map(|(_, share)| share).sum()
}

#[test]
fn samples_know_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::copy(format!("{SOURCE}/loop.wasm"), folder.join("loop.wasm")).unwrap();
    kperf(folder, &["run", "-q", "--record", "profile", "loop.wasm"]);
    let found = shares(folder, &[]);
    assert!(in_loop(&found) > 0.8, "{found:?}");

    let (listing, said) = kperf(folder, &["annotate", "hot", "loop.kperf", "--source", SOURCE]);
    assert_eq!(said, "");
    let of_loop = listing.lines().filter(|line| line.contains('%') && line.contains("i <= count"));
    let of_sum = listing.lines().filter(|line| line.contains('%') && line.contains("sum += n"));
    assert!(of_loop.count() + of_sum.count() > 0, "{listing}");
    let (listing, _) = kperf(folder, &["annotate", "hot", "loop.kperf", "--wat"]);
    assert!(listing.lines().any(|line| line.contains('%') && line.contains("f64.")), "{listing}");
    // Source that is newer than the trace may be other source.
    fs::create_dir(folder.join("edited")).unwrap();
    fs::write(folder.join("edited/loop.c"), fs::read(format!("{SOURCE}/loop.c")).unwrap()).unwrap();
    let (_, said) = kperf(folder, &["annotate", "hot", "loop.kperf", "--source", "edited"]);
    assert!(said.contains("loop.c` changed after the trace was recorded"), "{said}");
}

/// Samples have their places whether the module has lines or not; an unstripped one tells the lines later.
#[test]
fn a_stripped_module_gets_its_lines_later() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let whole = fs::read(format!("{SOURCE}/loop.wasm")).unwrap();
    fs::write(folder.join("whole.wasm"), &whole).unwrap();
    let mut stripped = wasm_encoder::Module::new();
    for payload in wasmparser::Parser::new(0).parse_all(&whole) {
        if let Some((id, range)) = payload.unwrap().as_section().filter(|(id, _)| *id != 0) {
            let data = &whole[range.start as usize..range.end as usize];
            stripped.section(&wasm_encoder::RawSection { id, data });
        }
    }
    fs::write(folder.join("loop.wasm"), stripped.finish()).unwrap();
    kperf(folder, &["run", "-q", "--record", "profile", "loop.wasm"]);
    assert!(shares(folder, &[]).is_empty());
    assert!(in_loop(&shares(folder, &["--symbols", "whole.wasm"])) > 0.8);
}

#[test]
fn what_is_no_file_is_refused_as_symbols() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::copy(format!("{SOURCE}/calls.wasm"), folder.join("calls.wasm")).unwrap();
    kperf(folder, &["run", "-q", "--clock", "test", "calls.wasm"]);
    assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    for (name, why) in
        [("pipe", "it is no file but"), (".", "it is no file but"), ("calls.kperf", "it is a trace")]
    {
        let output = output(folder, &["report", "calls.kperf", "--symbols", name]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{name}: {said}");
    }
}

/// What a compiler has put into its callers has lines and frames of its own.
#[test]
fn inlined_functions_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::copy(format!("{SOURCE}/inlined.wasm"), folder.join("inlined.wasm")).unwrap();
    kperf(folder, &["run", "-q", "--record", "profile", "inlined.wasm"]);
    let by_line = kperf(folder, &["report", "inlined.kperf", "--by", "line", "--format", "json"]).0;
    let rows: Vec<Value> = serde_json::from_str(&by_line).unwrap();
    let in_term = rows.iter().filter(|row| row["inlined"] == "term");
    let share: f64 = in_term.map(|row| row["share"].as_f64().unwrap()).sum();
    assert!(share > 0.5, "{by_line}");
    let (table, _) = kperf(folder, &["report", "inlined.kperf", "--by", "line"]);
    assert!(table.contains("through the inlined"), "{table}");
    let (listing, _) = kperf(folder, &["annotate", "hot", "inlined.kperf", "--source", SOURCE]);
    assert!(
        listing.lines().any(|line| line.starts_with("# ") && line.ends_with("in term, inlined here")),
        "{listing}"
    );

    kperf(folder, &["export", "inlined.kperf", "--format", "pprof", "-o", "inlined.pb.gz"]);
    let sampled = pprof(folder, "inlined.pb.gz");
    let is_term = |path: &&Vec<(String, i64)>| path.iter().any(|(name, line)| name == "term" && *line == 21);
    let term = sampled.iter().find(is_term).expect("samples in it");
    assert_eq!(term[1..], [("hot".to_owned(), 27), ("_start".to_owned(), 33)], "{sampled:?}");

    // A trace knows the places of calls. `leaf` is called on two lines of `outer`, of which one is in `inner`.
    kperf(folder, &["run", "-q", "--clock", "test", "--trace", "trace.kperf", "inlined.wasm"]);
    kperf(folder, &["export", "trace.kperf", "--format", "pprof", "-o", "trace.pb.gz"]);
    let paths = pprof(folder, "trace.pb.gz");
    let leaf = paths.iter().find(|path| path[0].0 == "leaf").expect("its calls");
    assert_eq!(leaf[1..], [("outer".to_owned(), 0), ("_start".to_owned(), 32)], "{paths:?}");
    let by_line = kperf(folder, &["report", "trace.kperf", "--by", "line", "--format", "csv"]).0;
    assert!(by_line.contains("/src/inlined.c:9|15,_start,outer | outer > inner"), "{by_line}");
}

/// Formats that list calls, or samples of them, show inlined functions as calls around what is called in them.
#[test]
fn inlined_functions_are_frames_of_other_formats() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::copy(format!("{SOURCE}/inlined.wasm"), folder.join("inlined.wasm")).unwrap();
    kperf(folder, &["run", "-q", "--clock", "test", "inlined.wasm"]);
    let exported = |format: &str, flags: &[&str]| -> Value {
        let mut args = vec!["export", "inlined.kperf", "--format", format, "-o", "out"];
        args.extend(flags);
        kperf(folder, &args);
        serde_json::from_slice(&fs::read(folder.join("out")).unwrap()).unwrap()
    };
    let strings = |values: &Value| -> Vec<String> {
        values.as_array().unwrap().iter().map(|value| value.as_str().unwrap().to_owned()).collect()
    };

    // What is open in speedscope's events when `leaf` begins. Both places of its call are in `outer`, one of them deeper.
    let around_leaf = |file: &Value| {
        let frames = file["shared"]["frames"].as_array().unwrap();
        let name = |event: &Value| frames[event["frame"].as_u64().unwrap() as usize]["name"].clone();
        let mut open: Vec<Value> = Vec::new();
        let mut found = Vec::new();
        for event in file["profiles"][0]["events"].as_array().unwrap() {
            match event["type"].as_str().unwrap() {
                "O" => open.push(name(event)),
                _ => assert_eq!(open.pop(), Some(name(event)), "calls are nested"),
            }
            if open.last().is_some_and(|last| last == "leaf") {
                found.push(open.iter().map(|name| name.as_str().unwrap()).collect::<Vec<_>>().join(" "));
            }
        }
        assert!(open.is_empty());
        found
    };
    let file = exported("speedscope", &[]);
    assert_eq!(around_leaf(&file), ["_start outer leaf"; 2]);
    let outer = file["shared"]["frames"].as_array().unwrap().iter().find(|frame| frame["name"] == "outer");
    assert_eq!((&outer.unwrap()["file"], &outer.unwrap()["line"]), (&"/src/inlined.c".into(), &13.into()));
    // With a filter, nobody knows who called.
    assert_eq!(around_leaf(&exported("speedscope", &["--skip", "hot"])), ["_start leaf"; 2]);

    let file = exported("firefox", &["--interval", "1us"]);
    let thread = &file["threads"][0];
    let shared = if thread["stringArray"].is_null() { &file["shared"] } else { thread };
    let names = strings(&shared["stringArray"]);
    let at = |table: &str, column: &str, n: &Value| {
        let table = if thread[table].is_null() { &file["shared"][table] } else { &thread[table] };
        table[column][n.as_u64().unwrap() as usize].clone()
    };
    let path = |mut stack: Value| {
        let mut path = Vec::new();
        while !stack.is_null() {
            let func = at("frameTable", "func", &at("stackTable", "frame", &stack));
            path.push(names[at("funcTable", "name", &func).as_u64().unwrap() as usize].as_str());
            stack = at("stackTable", "prefix", &stack);
        }
        path.reverse();
        path.join(" ")
    };
    let stacks = thread["samples"]["stack"].as_array().unwrap();
    let paths: Vec<String> = stacks.iter().map(|stack| path(stack.clone())).collect();
    assert!(paths.iter().any(|path| path == "_start outer leaf"), "{paths:?}");

    let file = exported("otlp-json", &["--profiles"]);
    let dictionary = &file["dictionary"];
    let names = strings(&dictionary["stringTable"]);
    // Those of 64 bits are texts.
    let number = |value: &Value| -> usize {
        value.as_str().map_or(value.as_u64().unwrap_or(0) as usize, |text| text.parse().unwrap())
    };
    let name = |line: &Value| {
        let function = &dictionary["functionTable"][number(&line["functionIndex"])];
        (names[number(&function["nameStrindex"])].clone(), number(&function["startLine"]))
    };
    let locations = dictionary["locationTable"].as_array().unwrap().iter();
    let lines = locations.filter_map(|location| location["lines"].as_array());
    let inlined: Vec<_> = lines.filter(|lines| lines.len() > 1).collect();
    assert_eq!(inlined.len(), 1, "{dictionary}");
    let told: Vec<_> = inlined[0].iter().map(name).collect();
    assert_eq!(told[0], ("outer".to_owned(), 13));
    assert_eq!((told[1].0.as_str(), number(&inlined[0][1]["line"])), ("_start", 32));
}

/// The paths of the samples of a file for pprof, the innermost function first: names and lines.
fn pprof(folder: &Path, file: &str) -> Vec<Vec<(String, i64)>> {
    let mut message = Vec::new();
    let packed = fs::read(folder.join(file)).unwrap();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed[..]), &mut message).unwrap();
    let all = fields(&message);
    let of = |tag: u64| all.iter().filter(move |field| field.0 == tag).map(|field| fields(field.2));
    let number = |message: &[(u64, u64, &[u8])], tag: u64| {
        message.iter().find(|field| field.0 == tag).map_or(0, |field| field.1)
    };
    let strings: Vec<&str> =
        all.iter().filter(|field| field.0 == 6).map(|field| std::str::from_utf8(field.2).unwrap()).collect();
    let names: HashMap<u64, &str> =
        of(5).map(|function| (number(&function, 1), strings[number(&function, 2) as usize])).collect();
    let locations: HashMap<u64, Vec<(String, i64)>> = of(4)
        .map(|location| {
            let lines = location.iter().filter(|field| field.0 == 4).map(|field| fields(field.2));
            let lines = lines.map(|line| (names[&number(&line, 1)].to_owned(), number(&line, 2) as i64));
            (number(&location, 1), lines.collect())
        })
        .collect();
    let path = |sample: Vec<(u64, u64, &[u8])>| -> Vec<(String, i64)> {
        let mut ids = sample.iter().find(|field| field.0 == 1).unwrap().2;
        let mut path = Vec::new();
        while !ids.is_empty() {
            path.extend(locations[&leb128(&mut ids)].iter().cloned());
        }
        path
    };
    of(2).map(path).collect()
}

/// The fields of a message: tag, number, bytes.
fn fields(mut message: &[u8]) -> Vec<(u64, u64, &[u8])> {
    let mut fields = Vec::new();
    while !message.is_empty() {
        let key = leb128(&mut message);
        let number = leb128(&mut message);
        let length = if key & 7 == 2 { number as usize } else { 0 };
        let (bytes, rest) = message.split_at(length);
        message = rest;
        fields.push((key >> 3, number, bytes));
    }
    fields
}

fn leb128(input: &mut &[u8]) -> u64 {
    kperf_abi::leb128::read(input).unwrap()
}
