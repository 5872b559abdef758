//! Reads a module's name section.

use crate::module::info::ModuleInfo;
use std::collections::HashMap;
use wasmparser::{BinaryReader, Name, NameSectionReader, Naming, SectionLimited};

/// The subsection with the names of functions.
pub(crate) const FUNCTIONS: u8 = 1;

/// Puts the names of functions into `names`, by their indices.
pub(crate) fn read_name_section<'a>(
    data: &'a [u8],
    offset: usize,
    names: &mut HashMap<u32, &'a str>,
) -> Result<(), wasmparser::Error> {
    for_each_name(data, offset, |index, name| {
        names.insert(index, name);
    })
}

/// Calls `add` with the index and the name of each function in a name section.
pub(crate) fn for_each_name<'a>(
    data: &'a [u8],
    offset: usize,
    mut add: impl FnMut(u32, &'a str),
) -> Result<(), wasmparser::Error> {
    let mut reader = BinaryReader::new(data, offset as u64);
    while !reader.eof() {
        let id = reader.read_u8()?;
        let size = reader.read_var_u32()? as usize;
        let at = reader.original_position();
        let content = reader.read_bytes(size)?;
        if id == FUNCTIONS {
            for naming in names_in(content, at)? {
                let naming = naming?;
                add(naming.index, naming.name);
            }
        }
    }
    Ok(())
}

/// The names in a subsection, in any order: TeaVM's are not in the order of their indices, and engines take them.
pub(crate) fn names_in(
    content: &[u8],
    offset: u64,
) -> Result<SectionLimited<'_, Naming<'_>>, wasmparser::Error> {
    SectionLimited::new(BinaryReader::new(content, offset))
}

/// The module's own name, if its name section has one.
pub(crate) fn module_name(info: &ModuleInfo<'_>) -> Option<String> {
    let (data, offset) = info.custom_section("name")?;
    NameSectionReader::new(BinaryReader::new(data, offset as u64)).find_map(|subsection| match subsection {
        Ok(Name::Module { name, .. }) if !name.is_empty() => Some(name.to_owned()),
        _ => None,
    })
}
