//! An unstripped module of the same build as a stripped one: names, places and lines of its functions.

use crate::debug_info::codes;
use crate::debug_info::source::{Layout, Problem, Sources};
use crate::debug_info::source_map::{self, SourceMap};
use crate::error::Error;
use crate::host::Host;
use crate::mismatch::Mismatch;
use crate::module::functions::FunctionSet;
use crate::module::info::{BodyPlace, ModuleInfo};
use crate::names::demangle::demangle;
use crate::names::section::for_each_name;
use crate::plan::calls::CallTargets;
use crate::plan::reach::HostReach;
use kperf_abi::symbols::ModuleIdentity;
use kperf_abi::{CodeIdentity, FuncIndex, InlinedFunction, Source, Symbol, SymbolTable, names as abi};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use wasm_encoder::{Encode, SectionId};
use wasmparser::{
    BinaryReader, CodeSectionReader, ExportSectionReader, ExternalKind, ImportSectionReader, TypeRef,
};

/// Custom sections with names or places of functions. Others are skipped: they may be larger than these.
pub(crate) const READ: [&str; 11] = [
    "name",
    ".debug_abbrev",
    ".debug_addr",
    ".debug_info",
    ".debug_line",
    ".debug_line_str",
    ".debug_ranges",
    ".debug_rnglists",
    ".debug_str",
    ".debug_str_offsets",
    source_map::SECTION,
];

const BUILD_ID: &str = "build_id";
const DEBUG_FILE: &str = "external_debug_info";

/// The names, places and lines of a module's functions.
#[derive(Clone, Debug, Default)]
pub struct DebugCompanion {
    /// What build it is. Its hash of the whole module is missing.
    pub identity: ModuleIdentity,
    names: HashMap<u32, Box<str>>,
    sources: Sources,
    bodies: Vec<BodyPlace>,
    /// The module without data and custom sections, if lines are known: for the call sites of functions.
    skeleton: Vec<u8>,
    /// Whether it has a name section with functions.
    is_named: bool,
    /// Whether the names and places were moved into a table.
    is_spent: bool,
    /// Its sections that can't be read, and why.
    pub problems: Vec<String>,
}

impl DebugCompanion {
    /// Reads a module. Sections without names or places are skipped.
    ///
    /// # Errors
    ///
    /// If it is no module. What can't be read of names and debug information is among `problems`.
    pub fn parse(bytes: &[u8]) -> io::Result<DebugCompanion> {
        let mut companion = DebugCompanion::default();
        let mut sections = HashMap::new();
        let mut kept = Vec::new();
        if !bytes.starts_with(&wasm_encoder::Module::HEADER) {
            return Err(bad("it is no WebAssembly module"));
        }
        let mut reader = BinaryReader::new(bytes, 0);
        reader.read_bytes(wasm_encoder::Module::HEADER.len()).map_err(malformed)?;
        while !reader.eof() {
            let id = reader.read_u8().map_err(malformed)?;
            let size = reader.read_var_u32().map_err(malformed)?;
            let at = reader.original_position();
            let content =
                reader.read_bytes(size as usize).map_err(|_| bad("a section is longer than the file"))?;
            if companion.section(id, at, content, &mut sections)? {
                kept.push((id, content));
            }
        }
        // Lines first: reading them takes more memory than anything else.
        companion.describe(&sections);
        companion.take_names(sections.get("name").copied().unwrap_or_default());
        if companion.sources.has_rows() {
            companion.skeleton = wasm_encoder::Module::HEADER.to_vec();
            for (id, content) in kept {
                companion.skeleton.push(id);
                content.len().encode(&mut companion.skeleton);
                companion.skeleton.extend_from_slice(content);
            }
        }
        Ok(companion)
    }

    /// Reads a section. Returns whether the meaning of code depends on it.
    fn section<'a>(
        &mut self,
        id: u8,
        at: u64,
        content: &'a [u8],
        sections: &mut HashMap<&'a str, &'a [u8]>,
    ) -> io::Result<bool> {
        const CUSTOM: u8 = SectionId::Custom as u8;
        const IMPORT: u8 = SectionId::Import as u8;
        const FUNCTION: u8 = SectionId::Function as u8;
        const EXPORT: u8 = SectionId::Export as u8;
        const CODE: u8 = SectionId::Code as u8;
        const DATA: u8 = SectionId::Data as u8;
        let reader = BinaryReader::new(content, at);
        match id {
            CUSTOM => {
                let mut reader = reader;
                let Ok(name) = reader.read_string() else { return Ok(false) };
                if name == abi::SYMBOLS_SECTION {
                    return Err(bad("it has probes itself; give the original"));
                }
                if READ.contains(&name) || name == BUILD_ID || name == DEBUG_FILE {
                    let rest = reader.read_bytes(reader.bytes_remaining()).map_err(malformed)?;
                    sections.entry(name).or_insert(rest);
                }
                return Ok(false);
            }
            IMPORT => {
                for import in ImportSectionReader::new(reader).map_err(malformed)?.into_imports() {
                    let is_function =
                        matches!(import.map_err(malformed)?.ty, TypeRef::Func(_) | TypeRef::FuncExact(_));
                    self.identity.imports += u32::from(is_function);
                }
            }
            FUNCTION => {
                let mut reader = reader;
                self.identity.functions = reader.read_var_u32().map_err(malformed)?;
            }
            EXPORT => {
                for export in ExportSectionReader::new(reader).map_err(malformed)? {
                    let export = export.map_err(malformed)?;
                    if matches!(export.kind, ExternalKind::Func | ExternalKind::FuncExact) {
                        self.names.entry(export.index).or_insert_with(|| export.name.into());
                    }
                }
            }
            CODE => {
                self.identity.code = Some(code_identity(content, at));
                for body in CodeSectionReader::new(reader).map_err(malformed)? {
                    let range = body.map_err(malformed)?.range();
                    let places = u32::try_from(range.start).ok().zip(u32::try_from(range.end).ok());
                    let (start, end) = places.ok_or_else(|| bad("it is too large"))?;
                    self.bodies.push(BodyPlace { start, end });
                }
            }
            // Code can be read without the data.
            DATA => return Ok(false),
            _ => {}
        }
        Ok(true)
    }

    /// The names of a name section.
    fn take_names(&mut self, section: &[u8]) {
        let mut is_named = false;
        let read = for_each_name(section, 0, |index, name: &str| {
            is_named = true;
            self.names.insert(index, name.into());
        });
        if let Err(error) = read {
            self.problems.push(format!("its name section can't be read: {error}"));
        }
        self.is_named = is_named;
    }

    /// Places, from the sections that were read.
    fn describe(&mut self, sections: &HashMap<&str, &[u8]>) {
        let section = |name: &str| sections.get(name).copied().unwrap_or_default();
        note(&mut self.identity, section);
        let Some(code) = &self.identity.code else { return };
        let (sources, problem) = Sources::read(Layout { code: code.offset, bodies: &self.bodies }, section);
        self.sources = sources;
        if let Some(Problem::Split) = problem {
            let message = "parts of its debug information are in `.dwo` or `.dwp` files (split DWARF), which are not read: calls inlined there are missing; compile without `-gsplit-dwarf`";
            self.problems.push(message.to_owned());
        } else if let Some(problem) = problem {
            self.problems.push(format!("its debug information can't be read: {problem}"));
        }
        if self.sources.files.is_empty()
            && let Some(url) = string(section(source_map::SECTION))
        {
            match SourceMap::inline(&url) {
                Some(Ok(map)) => self.sources = Sources::of_map(&map, &self.bodies),
                Some(Err(error)) => self.problems.push(error.to_string()),
                None => {}
            }
        }
    }

    pub(crate) fn knows_functions(&self) -> bool {
        self.is_named || !self.sources.files.is_empty()
    }

    /// The names that it has, by the functions' indices.
    pub(crate) fn names(&self) -> impl Iterator<Item = (u32, &str)> {
        self.names.iter().map(|(&index, name)| (index, &**name))
    }

    /// The places that it knows, by the numbers of defined functions.
    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Whether it is of the same build as the module of a table.
    pub fn fits(&self, table: &SymbolTable) -> Result<(), Mismatch> {
        let (own, module) = (&self.identity, &table.module);
        let same_build = !own.build_id.is_empty() && own.build_id == module.build_id;
        let Some(code) = &own.code else {
            return match (same_build, own.build_id.is_empty()) {
                (true, _) => Ok(()),
                (false, true) => Err(Mismatch::NoCode),
                (false, false) => Err(Mismatch::BuildId),
            };
        };
        if own.functions != module.functions {
            return Err(Mismatch::Functions { counts: (module.functions, own.functions) });
        }
        match &module.code {
            Some(known) if known.sha256 == code.sha256 && own.imports == module.imports => Ok(()),
            Some(_) if own.imports != module.imports => {
                Err(Mismatch::Imports { counts: (module.imports, own.imports) })
            }
            // A tool may have written the same code otherwise.
            Some(_) if same_build => Ok(()),
            Some(_) => Err(Mismatch::Code),
            None if self.is_laid_out_as(table) => Ok(()),
            None => Err(Mismatch::Sizes),
        }
    }

    /// Whether the bodies have the same distances as those of a table without a hash of its code.
    fn is_laid_out_as(&self, table: &SymbolTable) -> bool {
        let imports = self.identity.imports;
        let mut shift = None;
        table.symbols.iter().filter(|symbol| !symbol.imported).all(|symbol| {
            let n = symbol.func_index.0.checked_sub(imports);
            let Some(body) = n.and_then(|n| self.bodies.get(n as usize)) else { return false };
            let here = i64::from(body.start).checked_sub_unsigned(symbol.code_offset);
            here.is_some() && *shift.get_or_insert(here) == here
        })
    }

    /// Sets the names and places of a table's symbols. Returns how many symbols changed.
    pub fn name(&self, table: &mut SymbolTable) -> usize {
        let inlined = self.sources.inlined_functions().to_vec();
        self.name_by(table, |index| self.names.get(&index).cloned(), inlined)
    }

    /// The same, but moves the names and places into the table and keeps only the identity, so that they are in memory once.
    pub(crate) fn give(&mut self, table: &mut SymbolTable) -> usize {
        let mut names = std::mem::take(&mut self.names);
        let inlined = self.sources.take_inlined_functions();
        let changed = self.name_by(table, |index| names.remove(&index), inlined);
        (self.sources, self.skeleton) = Default::default();
        self.is_spent = true;
        changed
    }

    /// Whether what it said was given away.
    pub(crate) fn is_spent(&self) -> bool {
        self.is_spent
    }

    fn name_by(
        &self,
        table: &mut SymbolTable,
        mut name_of: impl FnMut(u32) -> Option<Box<str>>,
        inlined: Vec<InlinedFunction>,
    ) -> usize {
        let imports = self.identity.imports;
        let first_file = table.files.len() as u32;
        let mut changed = 0;
        let mut has_places = false;
        for symbol in table.symbols.iter_mut().filter(|symbol| !symbol.imported) {
            let before = (symbol.name.clone(), symbol.source);
            if let Some(name) = name_of(symbol.func_index.0) {
                rename(symbol, name);
            }
            let n = symbol.func_index.0.checked_sub(imports);
            if let Some(Source { file, line }) = n.and_then(|n| self.sources.get(n as usize)) {
                symbol.source = Some(Source { file: first_file.saturating_add(file), line });
                has_places = true;
            }
            changed += usize::from((&before.0, before.1) != (&symbol.name, symbol.source));
        }
        if has_places || self.sources.has_rows() {
            table.files.extend_from_slice(&self.sources.files);
        }
        // Lines count as a change, also where the name and place are the same.
        if self.add_code(table, first_file, inlined) { changed.max(1) } else { changed }
    }
}

impl DebugCompanion {
    /// Sets the lines and call sites of a table's functions. Returns whether there are any.
    fn add_code(&self, table: &mut SymbolTable, first_file: u32, inlined: Vec<InlinedFunction>) -> bool {
        if !self.sources.has_rows() {
            return false;
        }
        let probed = FunctionSet::of(table.symbols.iter().map(|symbol| symbol.func_index.0));
        // What the host does isn't known any more.
        let info = ModuleInfo::parse(&self.skeleton);
        let calls = info
            .as_ref()
            .ok()
            .map(|info| CallTargets::find(info, &HostReach::find(info, &Host::default()), probed));
        let imports = self.identity.imports;
        let defined = |index: FuncIndex| index.0.checked_sub(imports).map(|n| n as usize);
        let lines = |symbol: &Symbol| {
            let n = defined(symbol.func_index)?;
            Some((self.sources.rows(n), self.sources.inlined(n)))
        };
        codes::add(table, first_file, calls.as_ref(), |symbol| lines(symbol).unwrap_or_default(), defined);
        table.inlined.extend(inlined.into_iter().map(|function| function.with_files_from(first_file)));
        true
    }
}

/// The core modules of a component, nested ones too.
pub(crate) fn modules_of(component: &[u8]) -> io::Result<Vec<&[u8]>> {
    let mut modules = Vec::new();
    for payload in wasmparser::Parser::new(0).parse_all(component) {
        if let wasmparser::Payload::ModuleSection { unchecked_range: range, .. } =
            payload.map_err(malformed)?
        {
            let range = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
            modules.extend(range.and_then(|(start, end)| component.get(start..end)));
        }
    }
    Ok(modules)
}

/// Renames a symbol. The prefix of a made-up name (the module's, in a component) stays.
pub(crate) fn rename(symbol: &mut Symbol, name: impl Into<Arc<str>>) {
    let name = name.into();
    let before = symbol.name.strip_suffix(&*name);
    if !symbol.unnamed && before.is_some_and(|before| before.ends_with("::")) {
        return;
    }
    let demangled = demangle(&name);
    let made_up = format!("func[{}]", symbol.func_index.0);
    let prefix =
        symbol.name.strip_suffix(made_up.as_str()).filter(|prefix| symbol.unnamed && !prefix.is_empty());
    (symbol.demangled, symbol.name) = match prefix {
        None => (demangled.map(Into::into), name),
        Some(prefix) => {
            (demangled.map(|name| format!("{prefix}{name}").into()), format!("{prefix}{name}").into())
        }
    };
    symbol.unnamed = false;
}

/// Notes the build of a module. `section` returns the data of a custom section.
pub(crate) fn note<'a>(identity: &mut ModuleIdentity, mut section: impl FnMut(&str) -> &'a [u8]) {
    const MAX_BUILD_ID: usize = 64;
    let mut reader = BinaryReader::new(section(BUILD_ID), 0);
    let length = reader.read_var_u32().unwrap_or(0) as usize;
    if let Ok(id) = reader.read_bytes(length.min(MAX_BUILD_ID)) {
        identity.build_id = hexadecimal(id);
    }
    let short = |text: &String| text.len() <= MAX_NAME as usize && !text.starts_with("data:");
    identity.debug_file = string(section(DEBUG_FILE)).filter(short).unwrap_or_default();
    identity.source_map = string(section(source_map::SECTION)).filter(short).unwrap_or_default();
}

/// What the content of a code section is known by; it begins at `offset` in the module.
pub(crate) fn code_identity(content: &[u8], offset: u64) -> CodeIdentity {
    CodeIdentity { offset, size: content.len() as u64, sha256: hexadecimal(&Sha256::digest(content)) }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The text that a section has in it: a source map may be longer than any name that wasmparser takes.
pub(crate) fn string(data: &[u8]) -> Option<String> {
    let mut reader = BinaryReader::new(data, 0);
    let length = reader.read_var_u32().ok()?;
    let text = reader.read_bytes(length as usize).ok()?;
    std::str::from_utf8(text).ok().map(str::to_owned)
}

/// The longest name of a section, or of a file that a section names.
const MAX_NAME: u64 = 4096;

pub(crate) fn bad(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

pub(crate) fn malformed(error: wasmparser::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Error::from(error).to_string())
}
