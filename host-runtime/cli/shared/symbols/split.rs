//! Split DWARF: what the debug information of `app.wasm` lacks is in a package, `app.wasm.dwp`, or in the files that the compiler wrote, as
//! `app.dwo`. They are of no use without the module.

use super::mapped::Mapped;
use super::search;
use kperf_rewriter::{SplitUnit, split_ids, split_units};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

/// How the name of a package ends.
const ENDING: &str = "dwp";

/// The package of a module, if there is one: `app.wasm.dwp`, or `app.dwp`.
fn package_of(module: &Path) -> Option<PathBuf> {
    let mut name = module.file_name()?.to_owned();
    name.push(".");
    name.push(ENDING);
    [module.with_file_name(name), module.with_extension(ENDING)].into_iter().find(|path| path.is_file())
}

/// The module that a package belongs to, which lies beside it; `None` if the path is no package's.
pub(super) fn module_of(package: &Path) -> io::Result<Option<PathBuf>> {
    if package.extension().is_none_or(|ending| ending != ENDING) {
        return Ok(None);
    }
    let stem = package.with_extension("");
    let candidates = [stem.clone(), stem.with_extension("debug.wasm"), stem.with_extension("wasm")];
    let found = candidates.into_iter().find(|path| path.is_file() && path != package);
    found.map(Some).ok_or_else(|| {
        io::Error::other(
            "it is a package of split DWARF, and the module that it belongs to doesn't lie beside it",
        )
    })
}

/// The files with what a module lacks: its package, or those of the compiler that are found. `package` is one that the user named.
pub(super) fn parts_of(
    path: &Path,
    module: &[u8],
    package: Option<&Path>,
) -> io::Result<Vec<(PathBuf, Mapped)>> {
    if let Some(package) = package.map(Path::to_owned).or_else(|| package_of(path)) {
        let file = Mapped::open(&package)?;
        return Ok(vec![(package, file)]);
    }
    let beside = path.parent().unwrap_or(Path::new(""));
    let mut tried = HashSet::new();
    // By what is in them.
    let mut found: HashMap<u64, usize> = HashMap::new();
    let mut files = Vec::new();
    for unit in split_units(module) {
        for candidate in candidates(&unit, beside) {
            if found.contains_key(&unit.id) {
                break;
            }
            // A pipe would wait for who writes it.
            if !tried.insert(candidate.clone()) || !candidate.is_file() {
                continue;
            }
            // What can't be read is as if it weren't there: the next one may be the right one.
            let Ok(file) = Mapped::open(&candidate) else { continue };
            let ids = split_ids(&file);
            if ids.iter().any(|id| !found.contains_key(id)) {
                found.extend(ids.into_iter().map(|id| (id, files.len())));
                files.push((candidate, file));
            }
        }
    }
    Ok(files)
}

/// Where a unit's file may be: where the compiler wrote it, beside the module, or in the folders that are searched.
fn candidates(unit: &SplitUnit, beside: &Path) -> Vec<PathBuf> {
    let file = Path::new(&unit.file);
    let written = beside.join(&unit.folder).join(file);
    let name = search::file_name(&unit.file);
    let folders = std::iter::once(beside.to_owned()).chain(search::folders());
    let mut paths = vec![written, beside.join(file)];
    paths.extend(folders.filter_map(|folder| Some(folder.join(name?))));
    paths
}
