//! `KPERF_SYMBOLS`: folders and files that are searched for the names of stripped modules.

use super::read;
use crate::shared::output;
use kperf_abi::SymbolTable;
use kperf_abi::symbols::ModuleIdentity;
use kperf_rewriter::SymbolFile;
use std::env;
use std::path::{Path, PathBuf};

/// The path that is searched.
const VARIABLE: &str = "KPERF_SYMBOLS";

/// Whether there is anything to search.
pub(super) fn is_wanted() -> bool {
    env::var_os(VARIABLE).is_some_and(|path| !path.is_empty())
}

/// Names a table's functions by a file that is found, if some have no name. Returns how many changed.
pub(super) fn find(table: &mut SymbolTable) -> usize {
    if !table.symbols.iter().any(|symbol| symbol.unnamed) {
        return 0;
    }
    let found = first_that_fits(table, candidates(&table.module));
    let Some((path, file)) = found else { return 0 };
    let renamed = file.name(table);
    if renamed > 0 {
        let module = kperf_profile::printable(&table.module.name);
        output::status(format_args!("names of `{module}` are from `{}`", path.display()));
    }
    renamed
}

/// The file with the names of a module: the one that it names itself, which lies beside it, or one on the path.
pub(super) fn of_module(path: &Path, module: &ModuleIdentity) -> Option<(PathBuf, SymbolFile)> {
    let table = SymbolTable { module: module.clone(), ..SymbolTable::default() };
    let named = [&module.debug_file, &module.source_map];
    let beside = named.into_iter().filter_map(|name| Some(path.with_file_name(file_name(name)?)));
    first_that_fits(&table, beside.chain(candidates(module)))
}

fn first_that_fits(
    table: &SymbolTable,
    candidates: impl Iterator<Item = PathBuf>,
) -> Option<(PathBuf, SymbolFile)> {
    let mut refused = Vec::new();
    for path in candidates.filter(|path| path.is_file()) {
        let files = match read(&path) {
            Ok(files) => files,
            Err(error) => {
                refused.push((path, error.to_string()));
                continue;
            }
        };
        let mut why = None;
        for file in files {
            match file.fits(table) {
                Ok(()) if file.knows_functions() => return Some((path, file)),
                // The module itself, stripped as it is.
                Ok(()) => why = Some(None),
                Err(mismatch) => why = why.or(Some(Some(mismatch))),
            }
        }
        refused.extend(why.flatten().map(|why| (path, why.to_string())));
    }
    for (path, why) in refused {
        output::warn(format_args!("names are not taken from `{}`: {why}", path.display()));
    }
    None
}

/// The files of the path that may have a module's names.
fn candidates(module: &ModuleIdentity) -> impl Iterator<Item = PathBuf> {
    let path = env::var_os(VARIABLE).unwrap_or_default();
    let entries: Vec<PathBuf> =
        env::split_paths(&path).filter(|entry| !entry.as_os_str().is_empty()).collect();
    let files: Vec<String> = match entries.is_empty() {
        true => Vec::new(),
        false => by_build_id(module).into_iter().chain(names(module)).collect(),
    };
    entries.into_iter().flat_map(move |entry| match entry.is_dir() {
        true => files.iter().map(|file| entry.join(file)).collect(),
        false => vec![entry],
    })
}

/// Where debuggers keep what they know by a build id.
fn by_build_id(module: &ModuleIdentity) -> Option<String> {
    let (start, rest) = module.build_id.split_at_checked(2)?;
    let hexadecimal = module.build_id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (hexadecimal && !rest.is_empty()).then(|| format!(".build-id/{start}/{rest}.debug"))
}

/// What the files with a module's names may be called.
pub(super) fn names(module: &ModuleIdentity) -> impl Iterator<Item = String> {
    const ENDINGS: [&str; 9] = [
        ".debug.wasm",
        ".wasm.debug.wasm",
        ".unstripped.wasm",
        ".wasm",
        ".wasm.symbols",
        ".js.symbols",
        ".symbols",
        ".wasm.map",
        ".map",
    ];
    let said = [&module.debug_file, &module.source_map].map(|name| file_name(name).map(str::to_owned));
    let stem = file_name(&module.name).map(|name| name.strip_suffix(".wasm").unwrap_or(name).to_owned());
    let made = stem.into_iter().flat_map(|stem| ENDINGS.map(|ending| format!("{stem}{ending}")));
    said.into_iter().flatten().chain(made)
}

/// The last part of a path or an address that a module names: it never leads out of a folder.
pub(super) fn file_name(name: &str) -> Option<&str> {
    let name = name.split(['?', '#']).next()?;
    let last = name.rsplit(['/', '\\', ':']).next()?;
    (!matches!(last, "" | "." | "..")).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_never_lead_out_of_the_folder() {
        assert_eq!(file_name("https://example.org/a/app.wasm.map?v=3"), Some("app.wasm.map"));
        assert_eq!(file_name("..\\..\\secret"), Some("secret"));
        assert_eq!((file_name("a/.."), file_name("C:"), file_name("/")), (None, None, None));
        let module =
            ModuleIdentity { build_id: "../../x".into(), name: "../app.wasm".into(), ..Default::default() };
        assert_eq!(by_build_id(&module), None);
        assert_eq!(names(&module).next().as_deref(), Some("app.debug.wasm"));
        let module = ModuleIdentity { build_id: "abcd".into(), ..module };
        assert_eq!(by_build_id(&module).as_deref(), Some(".build-id/ab/cd.debug"));
    }
}
