//! Decides which module a map is for.

use super::{Given, SymbolCache, search};
use kperf_abi::SymbolTable;
use kperf_abi::symbols::ModuleIdentity;
use kperf_rewriter::SymbolFile;
use kperf_trace::{Item, TraceReader};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

/// The content of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Names,
    /// Names, and places of functions.
    Places,
}

/// Whether a module takes the names of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    No,
    Yes,
    /// Unless another map of its kind was for it.
    IfFree,
}

/// A trace has few modules; a damaged one may have any number.
const MAX_MODULES: usize = 10_000;

/// The modules of a trace. Its reader warns of malformed parts.
pub(super) fn modules(trace: &Path) -> Vec<ModuleIdentity> {
    let mut modules = Vec::new();
    // Those that were found are known all the same.
    let _ = collect(trace, &mut modules);
    modules
}

fn collect(trace: &Path, modules: &mut Vec<ModuleIdentity>) -> io::Result<()> {
    let mut reader = TraceReader::new(BufReader::new(File::open(trace)?)).map_err(io::Error::other)?;
    while let Some(item) = reader.next()? {
        if let Item::Symbols(bytes) = item
            && modules.len() < MAX_MODULES
        {
            modules.extend(SymbolTable::from_bytes(bytes).ok().map(|table| table.module));
        }
    }
    Ok(())
}

impl Given {
    /// The content, if it is a map; any other file names its module.
    pub(super) fn kind(&self) -> Option<Kind> {
        match self.file {
            SymbolFile::Module(_) => None,
            SymbolFile::Map(_) => Some(Kind::Names),
            SymbolFile::SourceMap(_) => Some(Kind::Places),
        }
    }

    fn has_the_name_of(&self, module: &ModuleIdentity) -> bool {
        search::names(module).any(|name| self.path.file_name().is_some_and(|own| own == name.as_str()))
    }
}

impl SymbolCache {
    /// The files for a module of a trace. A map belongs to the module with its name. If there is none, it
    /// belongs to the first module that it fits and that has no map of its own name. A map with names alone
    /// needs a module that lacks them.
    pub(super) fn wanted(
        &self,
        module: &ModuleIdentity,
        lacks_names: bool,
        trace: Option<&Path>,
    ) -> Vec<Wanted> {
        let others = trace.and_then(|trace| self.all_modules.get(trace)).map_or(&[][..], Vec::as_slice);
        let of_file = |given: &Given| {
            let Some(kind) = given.kind() else { return Wanted::Yes };
            if given.used.contains(&module.sha256) || given.has_the_name_of(module) {
                return Wanted::Yes;
            }
            let is_named =
                self.files.iter().any(|other| other.kind() == Some(kind) && other.has_the_name_of(module));
            let is_of_another = others.iter().any(|other| given.has_the_name_of(other));
            let may = given.used.is_empty() && (lacks_names || kind == Kind::Places);
            if may && !is_named && !is_of_another { Wanted::IfFree } else { Wanted::No }
        };
        self.files.iter().map(of_file).collect()
    }
}
