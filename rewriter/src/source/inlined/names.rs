//! The names of functions that are inlined.
//!
//! Strings of debug information may be most of a file, and each name is somewhere in them. So names are read in the order in which they
//! stand there, and what was read is given back.

use super::Room;
use crate::demangle::demangle;
use crate::source::{Done, Problem, Text, name};
use gimli::DebugInfoOffset;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// So many bytes of strings are read until they are given back.
const STRINGS_AT_ONCE: usize = 1 << 18;

/// A function that is inlined: its name, and where it is declared (the unit whose files are meant, the file, the line).
pub(super) struct Function {
    pub(super) name: Arc<str>,
    pub(super) place: Option<(usize, u64, u32)>,
}

/// What an entry says of a function: the same, with names that aren't read yet.
#[derive(Default)]
pub(super) struct Said<'a> {
    pub(super) plain: Option<Text<'a>>,
    pub(super) linkage: Option<Text<'a>>,
    pub(super) place: Option<(usize, u64, u32)>,
}

impl Said<'_> {
    /// Where the name begins that is read.
    fn start(&self) -> usize {
        self.linkage.or(self.plain).map_or(0, |text| text.start())
    }

    fn read(self) -> Option<Function> {
        let linkage = self.linkage.and_then(|text| text.read());
        let demangled = linkage.as_deref().and_then(demangle);
        let name = demangled.or_else(|| self.plain?.read()).or(linkage)?;
        Some(Function { name: name_of(&name)?, place: self.place })
    }
}

/// Reads the names of functions of a unit, in the order in which they stand among its strings. Answers them in the order of entries.
pub(super) fn read_names(
    mut said: Vec<(DebugInfoOffset, Said<'_>)>,
    strings: &Strings<'_>,
    room: &Room,
    names: &Mutex<HashSet<Arc<str>>>,
) -> Result<Vec<(DebugInfoOffset, Function)>, Problem> {
    said.sort_unstable_by_key(|(_, function)| function.start());
    let mut found = Vec::with_capacity(said.len());
    let mut behind = 0;
    for (entry, function) in said {
        behind = strings.done_until(function.start(), behind);
        let Some(Function { name, place }) = function.read() else { continue };
        if !room.take(name.len()) {
            return Err(Problem::LongNames);
        }
        found.push((entry, Function { name: once(names, name), place }));
    }
    strings.done_until(usize::MAX, behind);
    found.sort_unstable_by_key(|(entry, _)| *entry);
    Ok(found)
}

/// The strings of units, and how far they were read. Around each place that is read the system has more pages in memory: of names that
/// lie here and there nearly all.
pub(super) struct Strings<'a> {
    bytes: &'a [u8],
    done: Done<'a>,
}

impl<'a> Strings<'a> {
    pub(super) fn of(bytes: &'a [u8], done: Done<'a>) -> Self {
        Strings { bytes, done }
    }

    /// What lies between two places isn't needed any more if it is much. Answers from where on it still is.
    fn done_until(&self, address: usize, from: usize) -> usize {
        let to = address.saturating_sub(self.bytes.as_ptr() as usize).min(self.bytes.len());
        if address < usize::MAX && to < from.saturating_add(STRINGS_AT_ONCE) {
            return from;
        }
        (self.done)(self.bytes.get(from..to).unwrap_or_default());
        to
    }
}

/// The same name, of which there is one.
fn once(names: &Mutex<HashSet<Arc<str>>>, name: Arc<str>) -> Arc<str> {
    let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(&name) {
        return known.clone();
    }
    names.insert(name.clone());
    name
}

/// A name that isn't empty and no longer than names are.
fn name_of(text: &str) -> Option<Arc<str>> {
    name(text.as_bytes()).filter(|name| !name.is_empty()).map(Into::into)
}
