//! Checks the places of functions in the source, by a compiler's DWARF (`source/build.sh`).

use kperf_rewriter::{Options, rewrite};
use std::path::Path;

const PLACES: &str = "sums /src/sums.c:7, sum /src/sums.c:5, square /src/square.h:3";

fn module(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/source").join(name)).unwrap()
}

/// The functions with their places, and the warnings except dropped sections.
fn places(wasm: &[u8]) -> (String, Vec<String>) {
    let rewritten = rewrite(wasm, &Options::default()).unwrap();
    let symbols = rewritten.symbols;
    let place = |symbol| match symbols.source(symbol) {
        Some((file, line)) => format!("{} {file}:{line}", symbol.name),
        None => symbol.name.to_string(),
    };
    let places: Vec<String> = symbols.symbols.iter().map(place).collect();
    let warnings = rewritten.warnings.iter().map(ToString::to_string);
    (places.join(", "), warnings.filter(|warning| !warning.starts_with("dropped")).collect())
}

#[test]
fn functions_stand_where_they_are_declared() {
    for name in ["dwarf4.wasm", "dwarf5.wasm"] {
        assert_eq!(places(&module(name)), (PLACES.to_owned(), Vec::new()), "{name}");
    }
}

#[test]
fn line_tables_alone_are_enough() {
    assert_eq!(places(&module("lines.wasm")), (PLACES.to_owned(), Vec::new()));
}

/// Malformed debug information costs places, and no more.
#[test]
fn any_byte_may_be_wrong() {
    let wasm = module("dwarf5.wasm");
    let debug = wasm.windows(6).position(|bytes| bytes == b".debug").unwrap();
    let (mut lost, mut told) = (0, 0);
    for at in debug..wasm.len() {
        let mut broken = wasm.clone();
        broken[at] ^= 0x55;
        // Where the sections' names and lengths stand, the module itself may be broken.
        let Ok(rewritten) = rewrite(&broken, &Options::default()) else { continue };
        assert_eq!(rewritten.symbols.symbols.len(), 3);
        lost += usize::from(rewritten.symbols.symbols.iter().any(|symbol| symbol.source.is_none()));
        told += usize::from(rewritten.warnings.iter().any(|warning| warning.to_string().contains("debug")));
    }
    assert!(lost > 50 && told > 20, "{lost} {told}");
}
