//! The names of functions that are inlined.

use super::room::Room;
use crate::debug_info::source::debug::{Text, name};
use crate::debug_info::source::problem::Problem;
use crate::names::demangle::demangle;
use gimli::DebugInfoOffset;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// An inlined function: its name, and its declaration (the unit that numbers its files, the file, the line).
pub(super) struct Function {
    pub(super) name: Arc<str>,
    pub(super) place: Option<(usize, u64, u32)>,
}

/// The same, with names that aren't read yet.
#[derive(Default)]
pub(super) struct Said<'a> {
    pub(super) plain: Option<Text<'a>>,
    pub(super) linkage: Option<Text<'a>>,
    pub(super) place: Option<(usize, u64, u32)>,
}

impl Said<'_> {
    fn read(self) -> Option<Function> {
        let linkage = self.linkage.and_then(|text| text.read());
        let demangled = linkage.as_deref().and_then(demangle);
        let name = demangled.or_else(|| self.plain?.read()).or(linkage)?;
        Some(Function { name: name_of(&name)?, place: self.place })
    }
}

/// Reads the names of functions of a unit.
pub(super) fn read_names(
    said: Vec<(DebugInfoOffset, Said<'_>)>,
    room: &Room,
    names: &Mutex<HashSet<Arc<str>>>,
) -> Result<Vec<(DebugInfoOffset, Function)>, Problem> {
    let mut found = Vec::with_capacity(said.len());
    for (entry, function) in said {
        let Some(Function { name, place }) = function.read() else { continue };
        if !room.take(name.len()) {
            return Err(Problem::LongNames);
        }
        found.push((entry, Function { name: once(names, name), place }));
    }
    Ok(found)
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
