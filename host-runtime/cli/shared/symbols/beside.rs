//! `TRACE.symbols`: names that a trace got after it was recorded. The file is a trace of symbol tables only.

use crate::shared::output;
use crate::shared::product::Product;
use kperf_abi::{Codes, FuncIndex, Source, Symbol, SymbolTable};
use kperf_trace::{Header, Item, Summary, TraceReader, TraceWriter};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many tables are kept of such a file: as many as there may be modules.
const MAX_TABLES: usize = 1 << 16;

fn path(trace: &Path) -> PathBuf {
    let mut name = trace.as_os_str().to_owned();
    name.push(".symbols");
    PathBuf::from(name)
}

/// Whether two tables are of the same module.
fn is_same(kept: &str, sha256: &str) -> bool {
    !sha256.is_empty() && kept == sha256
}

/// A table as its bytes: large ones have a hundred megabytes unpacked.
pub(super) struct Packed {
    /// Of its module.
    pub(super) sha256: String,
    pub(super) bytes: Arc<[u8]>,
}

/// The kept table of the same module, if it differs from this one in names, lines and code alone.
pub(super) fn instead_of(kept: &[Packed], table: &SymbolTable) -> Option<Arc<[u8]>> {
    let packed = kept.iter().find(|kept| is_same(&kept.sha256, &table.module.sha256))?;
    let kept = SymbolTable::from_bytes(&packed.bytes).ok()?;
    let facts = |symbol: &Symbol| {
        let Symbol { id, func_index, code_offset, exported, imported, counted, .. } = *symbol;
        (id, func_index, code_offset, exported, imported, counted)
    };
    let all_same = kept.module == table.module
        && kept.id_base == table.id_base
        && kept.symbols.iter().map(facts).eq(table.symbols.iter().map(facts));
    all_same.then(|| packed.bytes.clone())
}

/// Sets a table's names by the kept table of its module, if there is one. Returns how many functions changed.
pub(super) fn name(kept: &[Packed], table: &mut SymbolTable) -> usize {
    let kept = kept.iter().find(|kept| is_same(&kept.sha256, &table.module.sha256));
    let Some(Ok(kept)) = kept.map(|kept| SymbolTable::from_bytes(&kept.bytes)) else { return 0 };
    let mut names: HashMap<FuncIndex, (usize, Symbol)> =
        kept.symbols.into_iter().enumerate().map(|(n, symbol)| (symbol.func_index, (n, symbol))).collect();
    let (first_file, first_inlined) = (table.files.len() as u32, table.inlined.len() as u32);
    let mut changed = 0;
    let mut codes = Codes::default();
    for (n, symbol) in table.symbols.iter_mut().enumerate() {
        let known = names.remove(&symbol.func_index);
        codes.push(&match known.as_ref().map(|&(n, _)| kept.codes.get(n)).filter(|code| !code.is_empty()) {
            Some(code) => code
                .with_files(|file| file.checked_add(first_file))
                .with_inlined(|function| function.checked_add(first_inlined)),
            None => table.codes.get(n),
        });
        let Some((_, known)) = known.filter(|_| !symbol.imported) else { continue };
        (symbol.name, symbol.demangled) = (known.name, known.demangled);
        symbol.unnamed = known.unnamed;
        if let Some(Source { file, line }) = known.source {
            symbol.source = Some(Source { file: first_file.saturating_add(file), line });
        }
        changed += 1;
    }
    table.codes = codes.or_none();
    table.files.extend_from_slice(&kept.files);
    table.inlined.extend(kept.inlined.into_iter().map(|function| function.behind(first_file)));
    changed
}

/// The tables of the file beside a trace; none if there is no such file.
pub(super) fn read(trace: &Path) -> Vec<Packed> {
    let path = path(trace);
    match tables(&path) {
        Ok(tables) => tables,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            output::warn(format_args!("the names in `{}` can't be read: {error}", path.display()));
            Vec::new()
        }
    }
}

fn tables(path: &Path) -> io::Result<Vec<Packed>> {
    let mut reader = TraceReader::new(BufReader::new(File::open(path)?)).map_err(io::Error::other)?;
    let mut tables = Vec::new();
    while let Some(item) = reader.next()? {
        if let Item::Symbols(bytes) = item
            && tables.len() < MAX_TABLES
        {
            let table = SymbolTable::from_bytes(bytes).ok();
            tables.extend(table.map(|table| Packed { sha256: table.module.sha256, bytes: bytes.into() }));
        }
    }
    Ok(tables)
}

/// Keeps tables for the next time, of those modules that the trace has: it may be another trace of the same name by now. If that
/// fails, the names are there this time all the same.
pub(super) fn remember(trace: &Path, applied: &[Packed], modules: &HashSet<String>) {
    let path = path(trace);
    match write(&path, applied, modules) {
        Ok(false) => {}
        Ok(true) => output::status(format_args!("`{}` remembers the names", path.display())),
        Err(error) => output::warn(format_args!("the names are not remembered: {error:#}")),
    }
}

/// Returns whether there was anything new to keep.
fn write(path: &Path, applied: &[Packed], modules: &HashSet<String>) -> anyhow::Result<bool> {
    let mut start = Vec::new();
    if let Ok(file) = File::open(path) {
        file.take(6).read_to_end(&mut start)?;
        anyhow::ensure!(
            crate::shared::input::is_trace(&start),
            "`{}` is there already, and is something else",
            path.display()
        );
    }
    let mut kept = if start.is_empty() { Vec::new() } else { tables(path).unwrap_or_default() };
    let is_old = |kept: &Packed| !modules.contains(&kept.sha256);
    let is_kept = |table: &Packed| kept.iter().any(|kept| kept.bytes == table.bytes);
    if !kept.iter().any(is_old) && applied.iter().all(is_kept) {
        return Ok(false);
    }
    kept.retain(|kept| !is_old(kept) && !applied.iter().any(|table| is_same(&kept.sha256, &table.sha256)));
    let mut writer = TraceWriter::new(Product::create(path, false)?, &Header::default())?;
    for table in kept.iter().chain(applied) {
        writer.symbols(&table.bytes)?;
    }
    writer.finish(&Summary::default())?.finish()?;
    Ok(true)
}
