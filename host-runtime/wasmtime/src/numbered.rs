//! The paths of several files that one path stands for.

use std::path::{Path, PathBuf};

/// `app.kperf` for the first time, then `app.2.kperf` and so on.
pub(crate) fn numbered(path: &Path, times: u32) -> PathBuf {
    if times == 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".{times}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}
