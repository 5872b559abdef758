//! Rewrites modules with damaged, random or expensive names and debug information.

mod check;

use check::{DEBUG, check_debug_info, check_names};
use std::path::Path;
use wasmparser::{Parser, Payload};

/// Real names with pieces of them repeated and exchanged.
#[test]
fn names_mixed_up() {
    let real: Vec<&str> = include_str!("../names/cpp.txt").lines().collect();
    let mut demangled = 0;
    for seed in 0..1_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut lines = Vec::new();
        for _ in 0..10 {
            let mut name = real[random.usize(..real.len())].as_bytes().to_vec();
            for _ in 0..random.usize(..4) {
                let (from, to) = (random.usize(..=name.len()), random.usize(..=name.len()));
                let piece = name[from.min(to)..from.max(to)].repeat(random.usize(..6));
                let at = random.usize(..=name.len());
                name.splice(at..at, piece);
            }
            lines.push(name);
        }
        let rewritten = check_names(&lines.join(&b'\n'));
        demangled += rewritten.symbols.symbols.iter().filter(|symbol| symbol.demangled.is_some()).count();
    }
    assert!((1_000..9_000).contains(&demangled), "{demangled} of 10,000: names of the interesting kind");
}

/// The sections of DWARF of a module, as [`check_debug_info`] takes them.
fn debug_info(wasm: &[u8]) -> Vec<u8> {
    let section = |name: &str| {
        Parser::new(0).parse_all(wasm).find_map(|payload| match payload.unwrap() {
            Payload::CustomSection(section) if section.name() == name => Some(section.data().to_vec()),
            _ => None,
        })
    };
    let with_length = |data: Vec<u8>| [&(data.len() as u16).to_le_bytes()[..], &data].concat();
    DEBUG.iter().flat_map(|name| with_length(section(name).unwrap_or_default())).collect()
}

#[test]
fn debug_info_with_bytes_changed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/source");
    let files = ["dwarf4.wasm", "dwarf5.wasm", "lines.wasm"];
    let real = files.map(|name| debug_info(&std::fs::read(folder.join(name)).unwrap()));
    let (mut places, mut told) = (0, 0);
    for seed in 0..6_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut bytes = real[random.usize(..real.len())].clone();
        for _ in 0..random.usize(..6) {
            let at = random.usize(..bytes.len());
            match random.u8(..5) {
                0 => bytes[at] = random.u8(..),
                1 => bytes[at] = bytes[at].wrapping_add(1),
                2 => bytes[at] = bytes[random.usize(..bytes.len())],
                3 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.usize(..5)],
                // From the middle of a section on.
                _ => {
                    let end = bytes.len().min(at + random.usize(..40));
                    let piece = bytes[at..end].to_vec();
                    let to = random.usize(..bytes.len());
                    bytes.splice(to..to, piece);
                }
            }
        }
        let rewritten = check_debug_info(&bytes);
        places += usize::from(rewritten.symbols.symbols.iter().any(|symbol| symbol.source.is_some()));
        told += usize::from(
            rewritten.warnings.iter().any(|warning| warning.to_string().contains("debug information")),
        );
    }
    assert!(places > 1_000 && told > 1_000, "{places} {told}");
}
