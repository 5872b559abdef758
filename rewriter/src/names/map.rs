//! Reads symbol maps: lines `index:name`.

use crate::error::{Error, ErrorKind};
use std::collections::HashMap;

/// The most names of a map. Engines take no module with more than a million functions, and a name takes 80 bytes or more here,
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
