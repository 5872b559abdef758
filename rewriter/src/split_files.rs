//! Files of split DWARF: which parts of units a module lacks, and which there are in a file.

use crate::SplitUnit;
use crate::source::split::{self, Parts};
use crate::twin::{READ, bad, malformed};
use std::collections::HashMap;
use std::io;
use wasm_encoder::SectionId;
use wasmparser::BinaryReader;

/// Reads a file of split DWARF, which is a module of custom sections.
pub(crate) fn add_part<'a>(parts: &mut Parts<'a>, bytes: &'a [u8]) -> io::Result<()> {
    let sections = custom_sections(bytes, split::is_section)?;
    let added = parts.add(|name| sections.get(name).copied().unwrap_or_default());
    added.map_err(|problem| bad(&problem.to_string()))
}

/// The first of each of the custom sections that are wanted, without names.
fn custom_sections(bytes: &[u8], wanted: fn(&str) -> bool) -> io::Result<HashMap<&str, &[u8]>> {
    let mut sections: HashMap<&str, &[u8]> = HashMap::new();
    if !bytes.starts_with(&wasm_encoder::Module::HEADER) {
        return Err(bad("it is no WebAssembly file"));
    }
    let mut reader = BinaryReader::new(bytes, 0);
    reader.read_bytes(wasm_encoder::Module::HEADER.len()).map_err(malformed)?;
    while !reader.eof() {
        let id = reader.read_u8().map_err(malformed)?;
        let size = reader.read_var_u32().map_err(malformed)?;
        let content = reader.read_bytes(size as usize).map_err(malformed)?;
        let mut content = BinaryReader::new(content, 0);
        if id == SectionId::Custom as u8
            && let Ok(name) = content.read_string()
            && wanted(name)
        {
            let rest = content.read_bytes(content.bytes_remaining()).map_err(malformed)?;
            sections.entry(name).or_insert(rest);
        }
    }
    Ok(sections)
}

/// Whether a file is one of split DWARF, and no module that has code.
pub(crate) fn is_part(bytes: &[u8]) -> bool {
    let mut tells = false;
    // What tells it need not stand first.
    for payload in wasmparser::Parser::new(0).parse_all(bytes) {
        match payload {
            Ok(wasmparser::Payload::CustomSection(section)) => tells |= split::tells_of_parts(section.name()),
            Ok(wasmparser::Payload::CodeSectionStart { .. }) | Err(_) => return false,
            Ok(_) => {}
        }
    }
    tells
}

/// The units of a module of which most is in other files (split DWARF); none of what can't be read.
pub fn split_units(module: &[u8]) -> Vec<SplitUnit> {
    let sections = custom_sections(module, |name| READ.contains(&name)).unwrap_or_default();
    split::units(|name| sections.get(name).copied().unwrap_or_default())
}

/// The ids of the units in a file of split DWARF; none of what can't be read.
pub fn split_ids(part: &[u8]) -> Vec<u64> {
    let mut parts = Parts::default();
    add_part(&mut parts, part).map_or_else(|_| Vec::new(), |()| parts.ids())
}
