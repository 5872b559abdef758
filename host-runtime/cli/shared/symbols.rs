//! Finds names and places of a trace's functions in other files, for modules that were stripped.
//!
//! - A trace may be opened several times: what was found stays with the flags.

mod maps;
mod memory;
mod search;

use crate::shared::input;
use crate::shared::output;
use crate::shared::table::plural;
use anyhow::{Context, bail};
use kperf_abi::SymbolTable;
use kperf_abi::symbols::ModuleIdentity;
use kperf_rewriter::{Mismatch, SymbolFile};
use kperf_trace::Namer;
use maps::Wanted;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use wasmparser::{Parser, Payload};

/// The files with names.
#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Names")]
pub struct SymbolArgs {
    /// Names and source lines of functions, for modules that were stripped: an unstripped module of the same build, a symbol
    /// map (`emcc --emit-symbol-map`), or a source map. May be repeated. Without it the folders of `KPERF_SYMBOLS` are
    /// searched.
    #[arg(long, value_name = "FILE")]
    symbols: Vec<PathBuf>,
    #[arg(skip)]
    cache: Arc<Mutex<SymbolCache>>,
}

/// Two are equal if they name the same files.
impl fmt::Debug for SymbolArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.symbols.fmt(f)
    }
}

/// The files and tables that were read.
#[derive(Default)]
struct SymbolCache {
    files: Vec<Given>,
    /// The bytes to use instead of a table.
    tables: HashMap<TableKey, Option<Arc<[u8]>>>,
    /// All modules of each trace, if there are maps: these don't name their module.
    all_modules: HashMap<PathBuf, Vec<ModuleIdentity>>,
}

/// A trace, if it is a file, and the bytes of one of its tables.
type TableKey = (Option<PathBuf>, Vec<u8>);

/// A file that the user named.
struct Given {
    path: PathBuf,
    file: SymbolFile,
    /// Which of the modules in it, if it is a component.
    number: usize,
    /// Hashes of the modules that have its names.
    used: HashSet<String>,
    /// The module that it doesn't fit, and why.
    refused: Option<(String, Mismatch)>,
    /// The module that a map of another name is not for, and whether it lacks names: then another map is.
    passed: Option<(String, bool)>,
}

impl SymbolArgs {
    /// Who names the functions of a trace. With `strict`, a file that fits none of its modules is an error.
    pub fn namer(&self, trace: &Path, strict: bool) -> anyhow::Result<Box<dyn Namer + Send>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.files.is_empty() {
            for path in &self.symbols {
                cache.files.extend(Given::read(path)?);
            }
        }
        let trace = trace.metadata().is_ok_and(|metadata| metadata.is_file()).then(|| trace.to_owned());
        if let Some(trace) = &trace
            && cache.files.iter().any(|given| given.kind().is_some())
            && !cache.all_modules.contains_key(trace)
        {
            cache.all_modules.insert(trace.clone(), maps::modules(trace));
        }
        Ok(Box::new(Names { cache: self.cache.clone(), trace, strict }))
    }

    /// Fails if a file that the user named fits no module of the traces that were read.
    pub fn check(&self) -> anyhow::Result<()> {
        Ok(self.cache.lock().unwrap_or_else(PoisonError::into_inner).check()?)
    }
}

impl Given {
    /// A file, or each module of a component.
    fn read(path: &Path) -> anyhow::Result<Vec<Given>> {
        let given = |(number, file)| Given {
            path: path.to_owned(),
            file,
            number,
            used: HashSet::new(),
            refused: None,
            passed: None,
        };
        Ok(read_some(path)?.into_iter().enumerate().map(given).collect())
    }

    /// Reads a file again if its names were moved into a table.
    fn recall(&mut self) {
        if !self.file.is_spent() {
            return;
        }
        match read(&self.path).map(|files| files.into_iter().nth(self.number)) {
            Ok(Some(file)) => self.file = file,
            Ok(None) => {}
            Err(error) => {
                output::warn(format_args!("`{}` can't be read a second time: {error}", self.path.display()))
            }
        }
    }
}

/// Reads a file that the user named. Fails if it has no names or places, or has several modules.
pub fn read_named(path: &Path) -> anyhow::Result<SymbolFile> {
    match <[SymbolFile; 1]>::try_from(read_some(path)?) {
        Ok([file]) => Ok(file),
        Err(_) => bail!(
            "`{}` is a component: give it to the command that reads the trace, as `report --symbols`",
            input::name(path)
        ),
    }
}

/// Reads a file that the user named. Fails if it has no names or places.
fn read_some(path: &Path) -> anyhow::Result<Vec<SymbolFile>> {
    let files = read(path).with_context(|| format!("failed to read the symbols `{}`", input::name(path)))?;
    if !files.iter().any(SymbolFile::knows_functions) {
        bail!(
            "`{}` names no functions: name an unstripped module, or a map that isn't empty",
            input::name(path)
        );
    }
    Ok(files)
}

/// Reads a file with symbols, and warns of what can't be read of it.
fn read(path: &Path) -> io::Result<Vec<SymbolFile>> {
    if path.extension().is_some_and(|extension| extension == "wat") {
        let module = input::read_module(path).map_err(|error| io::Error::other(format!("{error:#}")))?;
        return match kperf_rewriter::is_component(&module) {
            true => SymbolFile::parse_component(&module),
            false => Ok(vec![SymbolFile::parse(&module)?]),
        };
    }
    // A pipe would wait for who writes it, and can't be read twice.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is no file but a folder, a pipe or a device"));
    }
    let bytes = std::fs::read(path)?;
    let files = match kperf_rewriter::is_component(&bytes) {
        true => SymbolFile::parse_component(&bytes)?,
        false => vec![SymbolFile::parse(&bytes)?],
    };
    drop(bytes);
    memory::trim();
    for file in &files {
        let SymbolFile::Module(companion) = file else { continue };
        for problem in &companion.problems {
            output::warn(format_args!("in `{}`: {problem}", path.display()));
        }
    }
    Ok(files)
}

impl SymbolCache {
    fn check(&self) -> io::Result<()> {
        // Of a component, one module is enough.
        let is_used =
            |path: &Path| self.files.iter().any(|given| given.path == path && !given.used.is_empty());
        for given in self.files.iter().filter(|given| !is_used(&given.path)) {
            if let Some((module, why)) = &given.refused {
                let path = given.path.display();
                let module = kperf_profile::printable(module);
                return Err(io::Error::other(format!(
                    "`{path}` is not of the build of the module `{module}`: {why}"
                )));
            }
            if let Some((module, lacks_names)) = &given.passed {
                let path = given.path.display();
                let module = kperf_profile::printable(module);
                let why = if *lacks_names {
                    format!("another map is for `{module}`")
                } else {
                    format!("`{module}` has names; a map called `{module}.wasm.symbols` replaces them")
                };
                return Err(io::Error::other(format!("`{path}` is for no module of the trace: {why}")));
            }
        }
        Ok(())
    }

    /// The table to use instead of one that a trace has, and the files that it is from.
    fn table(&mut self, bytes: &[u8], trace: Option<&Path>) -> Option<Arc<[u8]>> {
        let key = (trace.map(Path::to_owned), bytes.to_vec());
        if let Some(known) = self.tables.get(&key) {
            return known.clone();
        }
        // The reader warns of a malformed table.
        let mut table = SymbolTable::from_bytes(bytes).ok()?;
        if table.module.functions == 0 {
            // Of the host.
            return None;
        }
        // Of the table itself, without names from other files.
        let lacks_names = table.symbols.iter().any(|symbol| symbol.unnamed);
        let mut changed = 0;
        let mut fitting: HashSet<PathBuf> = HashSet::new();
        let wanted = self.wanted(&table.module, lacks_names, trace);
        let mut mapped: HashSet<maps::Kind> = HashSet::new();
        for (file, wanted) in self.files.iter_mut().zip(wanted) {
            // Of several maps that may be for a module the first that fits is.
            let is_taken = wanted == Wanted::IfFree && file.kind().is_some_and(|kind| mapped.contains(&kind));
            if wanted == Wanted::No || is_taken {
                file.passed = Some((table.module.name.clone(), lacks_names));
                continue;
            }
            match file.file.fits(&table) {
                Ok(()) => {
                    file.used.insert(table.module.sha256.clone());
                    fitting.insert(file.path.clone());
                    mapped.extend(file.kind());
                    file.recall();
                    // A trace has most modules once.
                    let renamed = file.file.give(&mut table);
                    memory::trim();
                    changed += renamed;
                    if renamed > 0 {
                        output::status(format_args!(
                            "names of {} of `{}` are from `{}`",
                            plural(renamed as u64, "function"),
                            kperf_profile::printable(&table.module.name),
                            file.path.display()
                        ));
                    }
                }
                Err(why) => file.refused = Some((table.module.name.clone(), why)),
            }
        }
        // A component that has other modules of the trace is no error.
        for file in self.files.iter().filter(|file| file.number == 1 && !fitting.contains(&file.path)) {
            output::warn(format_args!(
                "no module of `{}` is of the build of `{}`",
                file.path.display(),
                kperf_profile::printable(&table.module.name)
            ));
        }
        if changed == 0 {
            changed = search::find(&mut table);
        }
        let instead: Option<Arc<[u8]>> = (changed > 0).then(|| {
            table.tidy_files();
            table.to_bytes().into()
        });
        self.tables.insert(key, instead.clone());
        drop((table.symbols, table.files, table.inlined, table.codes));
        memory::trim();
        instead
    }
}

/// Names the functions of one trace.
struct Names {
    cache: Arc<Mutex<SymbolCache>>,
    /// If it is a file.
    trace: Option<PathBuf>,
    strict: bool,
}

impl Namer for Names {
    fn rename(&mut self, table: &[u8]) -> io::Result<Option<Arc<[u8]>>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(cache.table(table, self.trace.as_deref()))
    }

    fn end(&mut self) -> io::Result<()> {
        if self.strict {
            self.cache.lock().unwrap_or_else(PoisonError::into_inner).check()?;
        }
        memory::trim();
        Ok(())
    }
}

/// The file with the names of a module that is about to be rewritten, if it lacks them: one that the module itself names,
/// or one of the folders of `KPERF_SYMBOLS`.
pub fn of_module(path: &Path, wasm: &[u8]) -> Option<(PathBuf, SymbolFile)> {
    let sections: HashSet<&str> = Parser::new(0)
        .parse_all(wasm)
        .filter_map(|payload| match payload {
            Ok(Payload::CustomSection(section)) => Some(section.name()),
            _ => None,
        })
        .collect();
    let has = |name| sections.contains(name);
    let names_a_file = has("external_debug_info") || has("sourceMappingURL");
    let is_whole = has("name") && (has(".debug_info") || !names_a_file);
    if is_whole || has(kperf_abi::names::SYMBOLS_SECTION) || !(names_a_file || search::is_wanted()) {
        return None;
    }
    let module = kperf_rewriter::identity(wasm, &input::module_name(path)).ok()?;
    let (found, file) = search::of_module(path, &module)?;
    output::status(format_args!("names are from `{}`", found.display()));
    Some((found, file))
}
