//! Which name each function has: from a symbol map, the name section, exports, imports; `func[12]` where there is none.

use crate::module::info::ModuleInfo;
use crate::surroundings::Surroundings;
use crate::{Error, ErrorKind, SymbolFile, Warning};
use kperf_abi::FuncIndex;
use std::collections::HashMap;
use wasmparser::{BinaryReader, Name, NameSectionReader, Naming, SectionLimited};

/// How many names a map has at most. Engines take no module with more than a million functions, and a name takes 80 bytes or more here,
/// where it is three in the file.
pub(crate) const MAX_NAMES: usize = 1 << 21;

/// An external symbol map: function index to name, as `emcc --emit-symbol-map` writes it.
#[derive(Clone, Debug, Default)]
pub struct NameMap {
    names: HashMap<u32, String>,
}

impl NameMap {
    /// Reads lines of the form `index:name`. Names may hold colons; empty lines are skipped.
    ///
    /// # Errors
    ///
    /// If a line is of another form, or there are more than two million.
    pub fn parse(text: &str) -> Result<NameMap, Error> {
        let mut names = HashMap::new();
        for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let (index, name) = line
                .split_once(':')
                .and_then(|(index, name)| Some((index.trim().parse().ok()?, unescape(name))))
                .ok_or(ErrorKind::BadNameMap { line: n + 1 })?;
            names.insert(index, name);
            if names.len() > MAX_NAMES {
                return Err(ErrorKind::LargeNameMap { max: MAX_NAMES }.into());
            }
        }
        Ok(NameMap { names })
    }

    /// The name of a function, by its index.
    pub(crate) fn get(&self, index: u32) -> Option<&str> {
        self.names.get(&index).map(String::as_str)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        self.names.iter().map(|(&index, name)| (index, name.as_str()))
    }

    /// The greatest index that has a name.
    pub(crate) fn last_index(&self) -> Option<u32> {
        self.names.keys().max().copied()
    }
}

/// Binaryen writes bytes that are no letters as `\2c`.
fn unescape(name: &str) -> String {
    let bytes = name.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let code = if byte == b'\\' {
            name.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok())
        } else {
            None
        };
        out.push(code.unwrap_or(byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8(out).unwrap_or_else(|_| name.to_owned())
}

/// The names of a module's functions.
pub(crate) struct FuncNames<'a> {
    by_index: HashMap<u32, &'a str>,
    surroundings: Option<&'a Surroundings>,
}

/// A function's name and whether it was made up.
pub(crate) struct FuncName {
    pub(crate) name: String,
    pub(crate) unnamed: bool,
}

impl<'a> FuncNames<'a> {
    /// Collects the names. A broken name section is no reason to fail: it costs its names and a warning.
    pub(crate) fn collect(
        info: &ModuleInfo<'a>,
        file: Option<&'a SymbolFile>,
        surroundings: Option<&'a Surroundings>,
        warnings: &mut Vec<Warning>,
    ) -> FuncNames<'a> {
        let mut by_index = info.exported_funcs.clone();
        if let Some((data, offset)) = info.custom_section("name")
            && let Err(error) = read_name_section(data, offset, &mut by_index)
        {
            warnings.push(Warning::BadNameSection { message: error.to_string() });
        }
        if let Some(file) = file {
            file.add_names(info, &mut by_index);
        }
        FuncNames { by_index, surroundings }
    }

    /// The name of a function. Host functions are called by what the module imports; in a component by their interface:
    /// `wasi:io/streams@0.2.0#[method]input-stream.read`.
    pub(crate) fn get(&self, info: &ModuleInfo<'_>, index: FuncIndex) -> FuncName {
        if let Some(import) = info.imported_funcs.get(index.0 as usize) {
            let called = self.surroundings.and_then(|surroundings| {
                surroundings.called.get(&(import.module.to_owned(), import.name.to_owned()))
            });
            if let Some(name) = called {
                return FuncName { name: name.clone(), unnamed: false };
            }
            let between = if self.surroundings.is_some() && import.module.contains(':') { '#' } else { '.' };
            return FuncName { name: format!("{}{between}{}", import.module, import.name), unnamed: false };
        }
        let name = self.by_index.get(&index.0);
        FuncName {
            name: name.map_or_else(|| format!("func[{}]", index.0), |name| (*name).to_owned()),
            unnamed: name.is_none(),
        }
    }

    /// What stands in front of the name of a function that the module defines.
    pub(crate) fn prefix(&self, name: &str) -> &str {
        let Some(surroundings) = self.surroundings else { return "" };
        if surroundings.prefix.is_empty() && surroundings.taken.contains(name) {
            return &surroundings.own_prefix;
        }
        &surroundings.prefix
    }
}

pub(crate) fn read_name_section<'a>(
    data: &'a [u8],
    offset: usize,
    names: &mut HashMap<u32, &'a str>,
) -> Result<(), wasmparser::Error> {
    for_each_name(data, offset, |index, name| {
        names.insert(index, name);
    })
}

/// Tells the index and the name of each function in a name section.
pub(crate) fn for_each_name<'a>(
    data: &'a [u8],
    offset: usize,
    mut tell: impl FnMut(u32, &'a str),
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
                tell(naming.index, naming.name);
            }
        }
    }
    Ok(())
}

/// The subsection with the names of functions.
pub(crate) const FUNCTIONS: u8 = 1;

/// The names in a subsection, in whatever order they stand there: TeaVM's are not in the order of their indices, and engines take them.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_map_is_read_line_by_line() {
        let map = NameMap::parse("0:main\n\n12:std::vector<int\\2c\\20A>::push(int)\n").expect("a map");
        assert_eq!(map.names[&0], "main");
        assert_eq!(map.names[&12], "std::vector<int, A>::push(int)");
    }

    #[test]
    fn a_map_of_too_many_names_is_refused() {
        let lines = |count: usize| (0..count).map(|n| format!("{n}:\n")).collect::<String>();
        assert_eq!(NameMap::parse(&lines(MAX_NAMES)).expect("a map").names.len(), MAX_NAMES);
        let error = NameMap::parse(&lines(MAX_NAMES + 1)).expect_err("too many").to_string();
        assert_eq!(error, "the symbol map has more than 2097152 names");
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = NameMap::parse("0:main\nmain\n").expect_err("bad").to_string();
        assert_eq!(error, "line 2 of the symbol map is not of the form `index:name`");
    }
}
