//! Checks that hold whatever custom sections contain, for the tests in this folder and the fuzz targets `names` and
//! `debug_info`.

use kperf_rewriter::{Options, Rewritten, rewrite};
use wasmparser::{Validator, WasmFeatures};

/// The sections of DWARF that are read.
pub(crate) const DEBUG: [&str; 7] = [
    ".debug_abbrev",
    ".debug_info",
    ".debug_line",
    ".debug_str",
    ".debug_line_str",
    ".debug_addr",
    ".debug_str_offsets",
];

/// Names, one in each line: each function has one. A demangled name has a limited length.
pub(crate) fn check_names(bytes: &[u8]) -> Rewritten {
    let text = String::from_utf8_lossy(bytes);
    let names: Vec<&str> = text.split('\n').take(1_000).collect();
    let mut map = leb128(names.len());
    for (n, name) in names.iter().enumerate() {
        map.extend(leb128(n));
        map.extend(counted(name.as_bytes()));
    }
    // Of the functions.
    let section = [&[1][..], &counted(&map)].concat();
    let rewritten = rewrite_valid(&module(names.len(), &[("name", &section)]));
    for (symbol, name) in rewritten.symbols.symbols.iter().zip(names) {
        assert_eq!(&*symbol.name, name);
        let length = symbol.demangled.as_ref().map_or(0, |demangled| demangled.len());
        assert!(length <= 512 + 16 * name.len(), "{length} bytes: {name}");
    }
    rewritten
}

/// Sections of DWARF, each after its length (two bytes, the lower first), for a module of eight functions.
pub(crate) fn check_debug_info(bytes: &[u8]) -> Rewritten {
    let mut rest = bytes;
    let sections = DEBUG.map(|name| {
        let length =
            rest.split_off(..2).map_or(0, |length| usize::from(length[0]) + 256 * usize::from(length[1]));
        (name, rest.split_off(..length.min(rest.len())).unwrap_or_default())
    });
    let rewritten = rewrite_valid(&module(8, &sections));
    assert_eq!(rewritten.symbols.symbols.len(), 8);
    let paths: usize = rewritten.symbols.files.iter().map(String::len).sum();
    assert!(paths <= (1 << 20) + 4 * bytes.len(), "{paths} bytes of paths");
    rewritten
}

fn rewrite_valid(wasm: &[u8]) -> Rewritten {
    let rewritten = rewrite(wasm, &Options::default()).expect("a module");
    let valid = Validator::new_with_features(WasmFeatures::all()).validate_all(&rewritten.wasm);
    assert_eq!(valid.err().map(|error| error.to_string()), None);
    rewritten
}

/// A module of empty functions, with these custom sections.
fn module(functions: usize, custom: &[(&str, &[u8])]) -> Vec<u8> {
    let mut wasm = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0".to_vec();
    let mut section = |id: u8, content: &[u8]| {
        wasm.push(id);
        wasm.extend(counted(content));
    };
    section(3, &[leb128(functions), vec![0; functions]].concat());
    section(10, &[leb128(functions), [2, 0, 0x0b].repeat(functions)].concat());
    for (name, data) in custom.iter().filter(|(_, data)| !data.is_empty()) {
        section(0, &[&counted(name.as_bytes()), *data].concat());
    }
    wasm
}

/// Bytes after their number.
fn counted(bytes: &[u8]) -> Vec<u8> {
    [&leb128(bytes.len()), bytes].concat()
}

fn leb128(mut number: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
    out
}
