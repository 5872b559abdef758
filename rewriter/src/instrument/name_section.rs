//! The name section of the rewritten module.
//!
//! - Indices of functions and globals move, added items get names, and all else stays.

use crate::instrument::body::facts::BodyFacts;
use crate::instrument::context::Context;
use crate::names::section::{FUNCTIONS, names_in};
use crate::plan::choose::Plan;
use kperf_abi::FuncIndex;
use std::collections::{BTreeMap, HashSet};
use wasm_encoder::{Encode, IndirectNameMap, NameMap};
use wasmparser::{BinaryReader, Name, NameSectionReader};

const LOCALS: u8 = 2;
const LABELS: u8 = 3;
const GLOBALS: u8 = 7;

/// The name of the local with the token, in functions with named locals.
const TOKEN: &str = "kperf.token";

/// The names that the rewriter has, other than the section itself.
pub(crate) struct Names<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) plan: &'a Plan,
    /// Names of functions from a symbol map, which the section then gets.
    pub(crate) from_map: bool,
    /// Functions with more added blocks than the one around the body.
    pub(crate) padded: &'a HashSet<FuncIndex>,
    /// Facts about the written bodies; empty before the first is written.
    pub(crate) facts: &'a [BodyFacts],
}

impl Names<'_> {
    /// Writes the section's data. `existing` is the old section's; without it the section has only names from
    /// elsewhere.
    pub(crate) fn write(&self, existing: Option<&[u8]>, out: &mut Vec<u8>) -> Result<(), wasmparser::Error> {
        let mut functions = BTreeMap::new();
        let mut rest = Vec::new();
        let data = existing.unwrap_or_default();
        let mut reader = BinaryReader::new(data, 0);
        for subsection in NameSectionReader::new(BinaryReader::new(data, 0)) {
            let start = reader.original_position() as usize;
            let id = reader.read_u8()?;
            let length = reader.read_var_u32()?;
            let content = reader.read_bytes(length as usize)?;
            let raw = &data[start..reader.original_position() as usize];
            match subsection? {
                Name::Function(_) => {
                    for naming in names_in(content, 0)? {
                        let naming = naming?;
                        functions.insert(naming.index, naming.name);
                    }
                }
                Name::Local(map) => subsection_of(LOCALS, &self.locals(map)?, &mut rest),
                Name::Label(map) => subsection_of(LABELS, &self.labels(map)?, &mut rest),
                Name::Global(_) if self.context.moves_globals() => {
                    subsection_of(GLOBALS, &self.globals(content)?, &mut rest);
                }
                Name::Module { .. } => out.extend_from_slice(raw),
                _ if id > LABELS => rest.extend_from_slice(raw),
                _ => {}
            }
        }
        if self.from_map {
            for function in
                self.plan.functions.iter().filter(|function| !function.unnamed && !function.imported)
            {
                functions.entry(function.index.0).or_insert(&function.name);
            }
        }
        subsection_of(FUNCTIONS, &self.functions(&functions), out);
        out.extend_from_slice(&rest);
        Ok(())
    }

    /// Imports, then the probes', then what the module defines, then thunks, then the recorder's, then waits: the order of
    /// their indices.
    fn functions(&self, functions: &BTreeMap<u32, &str>) -> NameMap {
        let mut map = NameMap::new();
        let imported = self.context.info.imported_funcs.len() as u32;
        functions.range(..imported).for_each(|(&index, name)| map.append(index, name));
        let parts = self.context.parts;
        let mut added = parts.function_names();
        for (n, name) in added.by_ref().take(parts.import_count() as usize).enumerate() {
            map.append(imported + n as u32, &name);
        }
        functions.range(imported..).for_each(|(&index, name)| map.append(self.context.function(index), name));
        for (import, _) in self.context.thunked() {
            if let Some(function) = self.plan.functions.get(import as usize) {
                map.append(self.context.callee(import), &function.name);
            }
        }
        for (n, name) in added.enumerate() {
            map.append(self.context.places.first_function + n as u32, &name);
        }
        for &(wait, _, thunk) in self.context.waits() {
            map.append(thunk, wait.name());
        }
        map
    }

    /// The local with the token of a probed function that the module defines.
    fn token(&self, index: FuncIndex) -> Option<u32> {
        self.context.probe(index).filter(|_| !self.context.is_counted(index))?;
        let n = (index.0 as usize).checked_sub(self.context.info.imported_funcs.len())?;
        Some(self.facts.get(n)?.site.token)
    }

    fn locals(&self, source: wasmparser::IndirectNameMap<'_>) -> Result<IndirectNameMap, wasmparser::Error> {
        let mut map = IndirectNameMap::new();
        for function in source {
            let function = function?;
            let mut names = NameMap::new();
            let mut last = None;
            for naming in function.names {
                let naming = naming?;
                names.append(naming.index, naming.name);
                last = Some(naming.index);
            }
            if let Some(token) = self.token(FuncIndex(function.index))
                && last.is_none_or(|last| last < token)
            {
                names.append(token, TOKEN);
            }
            map.append(self.context.function(function.index), &names);
        }
        Ok(map)
    }

    fn globals(&self, source: &[u8]) -> Result<NameMap, wasmparser::Error> {
        let mut globals = BTreeMap::new();
        for naming in names_in(source, 0)? {
            let naming = naming?;
            globals.insert(naming.index, naming.name);
        }
        let mut map = NameMap::new();
        globals.into_iter().for_each(|(index, name)| map.append(self.context.global(index), name));
        Ok(map)
    }

    /// The number of labels added before a body's own: the enter's, and the block around the body.
    fn added_labels(&self, index: FuncIndex) -> u32 {
        let n = (index.0 as usize).checked_sub(self.context.info.imported_funcs.len());
        let facts = n.and_then(|n| self.facts.get(n)).filter(|_| self.context.probe(index).is_some());
        let Some(facts) = facts else { return u32::from(self.context.probe(index).is_some()) };
        let counted = self.context.is_counted(index);
        self.context.code.labels(facts.site, counted) + u32::from(!counted)
    }

    /// The block around a body is a label now. Where pads were added the names are left out.
    fn labels(&self, source: wasmparser::IndirectNameMap<'_>) -> Result<IndirectNameMap, wasmparser::Error> {
        let mut map = IndirectNameMap::new();
        for function in source {
            let function = function?;
            let index = FuncIndex(function.index);
            if self.padded.contains(&index) {
                continue;
            }
            let added = self.added_labels(index);
            let mut names = NameMap::new();
            for naming in function.names {
                let naming = naming?;
                names.append(naming.index.saturating_add(added), naming.name);
            }
            map.append(self.context.function(function.index), &names);
        }
        Ok(map)
    }
}

fn subsection_of(id: u8, content: &impl Encode, out: &mut Vec<u8>) {
    let mut data = Vec::new();
    content.encode(&mut data);
    out.push(id);
    data.as_slice().encode(out);
}
