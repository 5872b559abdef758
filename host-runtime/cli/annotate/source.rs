//! Finds source files by the paths that debug information has.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Larger files are not read as source.
const MAX_SIZE: u64 = 16 << 20;

/// A source file.
pub(super) struct Source {
    pub(super) lines: Vec<String>,
    /// When it was last changed, in nanoseconds since 1970; `None` if unknown.
    pub(super) changed: Option<u64>,
}

/// A source file; `None` if there is no such file, neither in one of the folders nor where it was compiled.
pub(super) fn read(path: &str, folders: &[PathBuf]) -> Option<Source> {
    let in_folders = folders.iter().flat_map(|folder| ends(path).map(|end| folder.join(end)));
    let file = in_folders.chain([PathBuf::from(path)]).find(|file| is_source(file))?;
    let file = File::open(file).ok()?;
    let modified = file.metadata().and_then(|metadata| metadata.modified()).ok();
    let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let changed = since.and_then(|since| u64::try_from(since.as_nanos()).ok());
    let mut bytes = Vec::new();
    file.take(MAX_SIZE).read_to_end(&mut bytes).ok()?;
    let lines = String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect();
    Some(Source { lines, changed })
}

/// Never a device or a pipe, which the path of a module could name too.
fn is_source(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_SIZE)
}

/// The path without its first folders, the longest first: source that was moved still ends alike. It never leads out of a folder.
fn ends(path: &str) -> impl Iterator<Item = PathBuf> {
    let path = path.replace('\\', "/");
    let parts: Vec<String> = Path::new(&path)
        .components()
        .filter_map(|part| match part {
            Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect();
    (0..parts.len()).map(move |from| parts.iter().skip(from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_source_is_found_by_its_end() {
        let all: Vec<PathBuf> = ends("/build/../src/life.rs").collect();
        assert_eq!(all, ["build/src/life.rs", "src/life.rs", "life.rs"].map(PathBuf::from));
        assert_eq!(ends("C:\\src\\a.c").last(), Some("a.c".into()));
        assert_eq!(ends("..").count(), 0);
        assert!(read("/dev/null", &[]).is_none());
    }
}
