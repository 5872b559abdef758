//! Files with names and places of a module's functions.

use crate::debug_info::codes;
use crate::debug_info::debug_companion::DebugCompanion;
use crate::debug_info::debug_companion::{modules_of, rename};
use crate::debug_info::source::Sources;
use crate::debug_info::source_map::SourceMap;
use crate::mismatch::Mismatch;
use crate::module::info::ModuleInfo;
use crate::names::map::NameMap;
use kperf_abi::{FuncIndex, Inlined, Row, Source, Symbol, SymbolTable};
use std::collections::HashMap;
use std::io;
use std::ops::Range;

/// The longest name of a file that is put into a function's name.
const MAX_FILE: usize = 128;
/// The largest symbol map or source map, in bytes.
const MAX_TEXT: usize = 1 << 27;

/// Names of functions from another file than the module.
#[derive(Clone, Debug)]
pub enum SymbolFile {
    /// An unstripped module of the same build.
    Module(Box<DebugCompanion>),
    /// A symbol map.
    Map(NameMap),
    /// A source map.
    SourceMap(SourceMap),
}

impl SymbolFile {
    /// Reads a file. Its first bytes decide its kind.
    ///
    /// # Errors
    ///
    /// If it is none of the three.
    pub fn parse(bytes: &[u8]) -> io::Result<SymbolFile> {
        let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidData, message);
        if bytes.starts_with(b"\0asm") {
            return DebugCompanion::parse(bytes).map(|companion| SymbolFile::Module(Box::new(companion)));
        }
        if bytes.starts_with(b"KPER") {
            let message = "it is a trace; name an unstripped module, a symbol map or a source map";
            return Err(invalid(message.to_owned()));
        }
        // Some tools begin texts with a byte order mark or an empty line.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
        if bytes.len() > MAX_TEXT {
            return Err(invalid(format!("it is a map of more than {} MiB", MAX_TEXT >> 20)));
        }
        if bytes.starts_with(b"{") || bytes.starts_with(b")]}'") {
            let map = SourceMap::parse(bytes).map_err(|error| invalid(error.to_string()))?;
            return Ok(SymbolFile::SourceMap(map));
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            let message = "it is neither a WebAssembly module, a source map, nor a symbol map";
            return Err(invalid(message.to_owned()));
        };
        NameMap::parse(text).map(SymbolFile::Map).map_err(|error| invalid(error.to_string()))
    }

    /// Reads the core modules of a component.
    ///
    /// # Errors
    ///
    /// If it can't be read, or has no core module.
    pub fn parse_component(bytes: &[u8]) -> io::Result<Vec<SymbolFile>> {
        let modules = modules_of(bytes)?;
        if modules.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it is a component without a core module",
            ));
        }
        modules.into_iter().map(SymbolFile::parse).collect()
    }

    /// Whether it has names or places besides the names of exports.
    pub fn knows_functions(&self) -> bool {
        match self {
            SymbolFile::Module(companion) => companion.knows_functions(),
            SymbolFile::Map(map) => map.last_index().is_some(),
            SymbolFile::SourceMap(map) => map.range().is_some(),
        }
    }

    /// Whether it may be of the same build as the module of a table.
    pub fn fits(&self, table: &SymbolTable) -> Result<(), Mismatch> {
        let module = &table.module;
        let fits = match self {
            SymbolFile::Module(companion) => return companion.fits(table),
            SymbolFile::Map(map) => {
                let functions = u64::from(module.functions) + u64::from(module.imports);
                module.code.is_none() || map.last_index().is_none_or(|last| u64::from(last) < functions)
            }
            SymbolFile::SourceMap(map) => match (&module.code, map.range()) {
                (Some(code), Some((first, last))) => {
                    first >= code.offset && last <= code.offset.saturating_add(code.size)
                }
                _ => true,
            },
        };
        if fits { Ok(()) } else { Err(Mismatch::Beyond) }
    }

    /// Sets the names and places of a table's symbols. Returns how many symbols changed.
    pub fn name(&self, table: &mut SymbolTable) -> usize {
        let changed = match self {
            SymbolFile::Module(companion) => companion.name(table),
            SymbolFile::Map(map) => {
                let mut changed = 0;
                for symbol in table.symbols.iter_mut().filter(|symbol| !symbol.imported) {
                    if let Some(name) = map.get(symbol.func_index.0)
                        && (symbol.unnamed || *symbol.name != *name)
                    {
                        rename(symbol, name);
                        changed += 1;
                    }
                }
                changed
            }
            SymbolFile::SourceMap(map) => name_by_map(map, table),
        };
        name_by_places(table);
        changed
    }

    /// The same as [`name`](Self::name), and an unstripped module keeps nothing of what it says but which build it is: the names of
    /// a large one are not there twice. It has to be read again when another table is to be named.
    pub fn give(&mut self, table: &mut SymbolTable) -> usize {
        let SymbolFile::Module(companion) = self else { return self.name(table) };
        let changed = companion.give(table);
        name_by_places(table);
        changed
    }

    /// Whether its names and places were moved into a table.
    pub fn is_spent(&self) -> bool {
        matches!(self, SymbolFile::Module(companion) if companion.is_spent())
    }

    /// Adds the file's names of a module's functions, by index, to the module's own names.
    pub(crate) fn add_names<'a>(&'a self, info: &ModuleInfo<'a>, names: &mut HashMap<u32, &'a str>) {
        match self {
            SymbolFile::Module(companion) => names.extend(companion.names()),
            SymbolFile::Map(map) => names.extend(map.iter()),
            SymbolFile::SourceMap(map) => {
                for (n, body) in info.bodies.iter().enumerate() {
                    if let Some(name) = map.name(body.start.into()..body.end.into()) {
                        names.entry(info.defined(n).0).or_insert(name);
                    }
                }
            }
        }
    }

    /// The places of a module's functions in the source, if it has any.
    pub(crate) fn sources(&self, info: &ModuleInfo<'_>) -> Option<Sources> {
        let sources = match self {
            SymbolFile::Module(companion) => companion.sources().clone(),
            SymbolFile::Map(_) => return None,
            SymbolFile::SourceMap(map) => Sources::of_map(map, &info.bodies),
        };
        (!sources.files.is_empty()).then_some(sources)
    }
}

/// Adds the place to the name of functions without one: `func[12] life.ts:7`. Source maps of most compilers have no names.
pub(crate) fn name_by_places(table: &mut SymbolTable) {
    let SymbolTable { symbols, files, .. } = table;
    for symbol in symbols.iter_mut().filter(|symbol| symbol.unnamed) {
        let Some(Source { file, line: line @ 1.. }) = symbol.source else { continue };
        let path = files.get(file as usize).map_or("", String::as_str);
        let name = path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty() && name.len() <= MAX_FILE);
        symbol.demangled = name.map(|name| format!("{} {name}:{line}", symbol.name).into());
    }
}

/// Sets names and places by a source map. A body ends where the next one begins. A table has only probed functions: a body before an
/// unprobed one has no known end, so it gets nothing.
fn name_by_map(map: &SourceMap, table: &mut SymbolTable) -> usize {
    let module = &table.module;
    let end = module.code.as_ref().map_or(u64::MAX, |code| code.offset.saturating_add(code.size));
    let after_last = module.imports.saturating_add(module.functions);
    let defined = || table.symbols.iter().filter(|symbol| !symbol.imported);
    let next = defined().skip(1).map(|s| (s.func_index.0, s.code_offset)).chain([(after_last, end)]);
    let ends: Vec<Option<u64>> = defined()
        .zip(next)
        .map(|(symbol, (index, start))| (symbol.func_index.0.checked_add(1) == Some(index)).then_some(start))
        .collect();
    let first_file = table.files.len() as u32;
    let mut changed = 0;
    let mut ranges: HashMap<FuncIndex, Range<u64>> = HashMap::new();
    let symbols = table.symbols.iter_mut().filter(|symbol| !symbol.imported);
    for (symbol, end) in symbols.zip(ends) {
        let Some(end) = end else { continue };
        let range = symbol.code_offset..end.max(symbol.code_offset);
        ranges.insert(symbol.func_index, range.clone());
        let Some((file, line)) = map.place(range.clone()) else { continue };
        symbol.source = Some(Source { file: first_file.saturating_add(file), line });
        if symbol.unnamed
            && let Some(name) = map.name(range)
        {
            rename(symbol, name);
        }
        changed += 1;
    }
    if changed > 0 {
        table.files.extend_from_slice(map.files());
        let lines = |symbol: &Symbol| {
            let range = ranges.remove(&symbol.func_index).unwrap_or_default();
            let row = |(offset, place): (u64, Option<(u32, u32)>)| Row {
                offset: offset as u32,
                source: place.map(|(file, line)| Source { file, line }),
            };
            (map.rows(range).map(row).collect(), Inlined::default())
        };
        codes::add(table, first_file, None, lines, |_| None);
    }
    changed
}
