//! Split DWARF: `app.wasm.dwp` has what the debug information of `app.wasm` lacks. Neither is of use without the other.

use std::io;
use std::path::{Path, PathBuf};

/// How the name of a package ends.
const ENDING: &str = "dwp";

/// The package of a module, if there is one: `app.wasm.dwp`, or `app.dwp`.
pub(super) fn package_of(module: &Path) -> Option<PathBuf> {
    let mut name = module.file_name()?.to_owned();
    name.push(".");
    name.push(ENDING);
    [module.with_file_name(name), module.with_extension(ENDING)].into_iter().find(|path| path.is_file())
}

/// The module that a package belongs to, which lies beside it.
pub(super) fn module_of(package: &Path) -> io::Result<PathBuf> {
    let stem = package.with_extension("");
    let candidates = [stem.clone(), stem.with_extension("debug.wasm"), stem.with_extension("wasm")];
    candidates.into_iter().find(|path| path.is_file() && path != package).ok_or_else(|| {
        io::Error::other(
            "it is a package of split DWARF, and the module that it belongs to doesn't lie beside it",
        )
    })
}
