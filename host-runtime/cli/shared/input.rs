//! Input files. `-` is stdin; modules may be text or binary.

use anyhow::{Context, bail};
use kperf_dataset::is_dataset;
use std::io::Read;
use std::path::Path;

/// The bytes of a file, or of stdin for `-`.
pub fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).context("failed to read stdin")?;
        return Ok(bytes);
    }
    refuse_dataset(path)?;
    if path.is_dir() {
        bail!("`{}` is a folder; name a file in it", path.display());
    }
    std::fs::read(path).with_context(|| format!("failed to read `{}`", path.display()))
}

/// Fails if the path is a dataset, for commands that don't read datasets.
pub fn refuse_dataset(path: &Path) -> anyhow::Result<()> {
    if is_dataset(path) {
        bail!(
            "`{0}` is a dataset, which has sums of many runs; report, flame, graph, view and diff read it, and query engines do \
             (`kperf-wasm collect -o {0} --sql`)",
            path.display()
        );
    }
    Ok(())
}

/// Fails if the path is a dataset or another folder, for commands that read a trace.
pub fn refuse_folder(path: &Path) -> anyhow::Result<()> {
    refuse_dataset(path)?;
    if path.is_dir() {
        bail!(
            "`{0}` is a folder; name a trace in it, or `kperf-wasm collect {0} -o dataset/` makes a dataset of all of them",
            path.display()
        );
    }
    Ok(())
}

/// A module's bytes; the text format is assembled.
pub fn read_module(path: &Path) -> anyhow::Result<Vec<u8>> {
    assemble(path, read(path)?)
}

/// A module's bytes, from the binary or the text that was read from `path`.
pub fn assemble(path: &Path, bytes: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    if bytes.starts_with(b"\0asm") {
        return Ok(bytes);
    }
    if is_trace(&bytes) {
        bail!("`{}` is a trace, not a WebAssembly module; `kperf-wasm report` reads it", name(path));
    }
    let is_wat = path.extension().is_some_and(|extension| extension == "wat");
    let looks_like_wat =
        bytes.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|&b| b == b'(' || b == b';');
    if !is_wat && !looks_like_wat {
        bail!(
            "`{}` is not a WebAssembly module: it begins with neither `\\0asm` nor text format",
            name(path)
        );
    }
    let module = wat::parse_bytes(&bytes).map_err(|mut error| {
        error.set_path(name(path));
        error
    })?;
    Ok(module.into_owned())
}

/// Whether these are the first bytes of a trace.
pub fn is_trace(bytes: &[u8]) -> bool {
    bytes.starts_with(b"KPERF\0")
}

/// The name of a path in messages.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() }
}

/// A short name for a module: its file's name without the ending.
pub fn module_name(path: &Path) -> String {
    match path.file_stem() {
        Some(stem) if path != Path::new("-") => stem.to_string_lossy().into_owned(),
        _ => "stdin".to_owned(),
    }
}
