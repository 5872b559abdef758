//! Reading what the user names: files, `-` for stdin, text or binary modules.

use anyhow::{Context, bail};
use std::io::Read;
use std::path::Path;

/// The bytes of a file, or of stdin for `-`.
pub fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).context("failed to read stdin")?;
        return Ok(bytes);
    }
    std::fs::read(path).with_context(|| format!("failed to read `{}`", path.display()))
}

/// A module's bytes; the text format is assembled.
pub fn read_module(path: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = read(path)?;
    if bytes.starts_with(b"\0asm") {
        return Ok(bytes);
    }
    let is_wat = path.extension().is_some_and(|extension| extension == "wat");
    let looks_like_wat =
        bytes.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|&b| b == b'(' || b == b';');
    if !is_wat && !looks_like_wat {
        bail!(
            "`{}` is not a WebAssembly module: it begins with neither `\\0asm` nor text format",
            path.display()
        );
    }
    let module = wat::parse_bytes(&bytes).map_err(|mut error| {
        error.set_path(path);
        error
    })?;
    Ok(module.into_owned())
}

/// A short name for a module: its file's name without the ending.
pub fn module_name(path: &Path) -> String {
    match path.file_stem() {
        Some(stem) if path != Path::new("-") => stem.to_string_lossy().into_owned(),
        _ => "stdin".to_owned(),
    }
}
