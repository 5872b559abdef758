//! A dataset's folder, locked by a lock of the system on a file in it.

use crate::error::{Context, Error, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind};
use std::path::{Path, PathBuf};

/// Held while a dataset is changed.
const LOCK: &str = ".lock";

/// The files of a dataset. Their names are keys: `runs/service=life/day=2026-11-24/r-1.parquet`. A file is never visible in part.
pub(crate) struct Folder(pub(crate) PathBuf);

/// A file of a dataset.
pub(crate) struct Found {
    /// Its name within the dataset.
    pub(crate) key: String,
    /// Its length.
    pub(crate) bytes: u64,
}

/// A dataset's lock, held until it is dropped.
pub struct Lock {
    _file: File,
}

impl Folder {
    /// All files below a folder, in the order of their keys.
    pub(crate) fn list(&self, folder: &str) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        let mut folders = vec![(self.0.join(folder), folder.to_owned())];
        while let Some((path, key)) = folders.pop() {
            for path in entries(&path)? {
                let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
                let key = format!("{key}/{name}");
                if path.is_dir() {
                    folders.push((path, key));
                } else if let Ok(metadata) = path.metadata() {
                    found.push(Found { key, bytes: metadata.len() });
                }
            }
        }
        found.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(found)
    }

    /// The names of the folders in a folder.
    pub(crate) fn folders(&self, folder: &str) -> Result<Vec<String>> {
        let paths = entries(&self.0.join(folder))?.into_iter().filter(|path| path.is_dir());
        Ok(paths.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
    }

    /// The bytes of a short file; `None` if it isn't there.
    pub(crate) fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.existing(key, fs::read)
    }

    /// Opens a file; `None` if it isn't there.
    pub(crate) fn open(&self, key: &str) -> Result<Option<File>> {
        self.existing(key, File::open)
    }

    /// Whether a file is there.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.join(key).exists()
    }

    /// Writes a file, and replaces an older one. A write that fails leaves no part of it.
    pub(crate) fn put(
        &self,
        key: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<()> {
        let path = self.0.join(key);
        place(&path, write).context_with(|| format!("failed to write `{}`", path.display()))
    }

    /// Deletes a file, if it is there.
    pub(crate) fn delete(&self, key: &str) -> Result<()> {
        let path = self.0.join(key);
        match fs::remove_file(&path) {
            Err(error) if !is_missing(&error) => {
                Err(error).context_with(|| format!("failed to delete `{}`", path.display()))
            }
            _ => Ok(()),
        }
    }

    /// Prepares for the first file. Fails if there are files that don't belong to a dataset.
    pub(crate) fn prepare(&self) -> Result<()> {
        let Folder(root) = self;
        if root.exists() && !root.is_dir() {
            return Err(Error::new(format!("`{}` is a file; name a folder", root.display())));
        }
        fs::create_dir_all(root)
            .context_with(|| format!("failed to make the folder `{}`", root.display()))?;
        let is_other =
            |path: &PathBuf| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'));
        match entries(root)?.into_iter().find(is_other) {
            Some(path) => Err(Error::new(format!(
                "`{}` is not a dataset, and not empty (`{}`); name another folder",
                root.display(),
                path.display()
            ))),
            None => Ok(()),
        }
    }

    /// Waits for the dataset's lock.
    pub(crate) fn lock(&self) -> Result<Lock> {
        let path = self.0.join(LOCK);
        let failed = || format!("failed to lock `{}`", path.display());
        let file = match OpenOptions::new().create(true).append(true).open(&path) {
            // It is another user's. To hold it, it is enough to read it.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => File::open(&path),
            opened => opened,
        };
        let file = file.context_with(failed)?;
        match file.lock() {
            // A file system without locks: its users must let only one process write at a time.
            Err(error) if error.kind() == ErrorKind::Unsupported => {}
            locked => locked.context_with(failed)?,
        }
        Ok(Lock { _file: file })
    }

    /// Deletes the files that a killed process left unfinished. The caller must hold the lock.
    pub(crate) fn sweep(&self) -> Result<()> {
        let mut folders = vec![self.0.clone()];
        while let Some(folder) = folders.pop() {
            for path in entries(&folder)? {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "part") {
                    // A writer without a lock has moved it to its final name meanwhile, or writes it again.
                    match fs::remove_file(&path) {
                        Err(error) if !is_missing(&error) => {
                            Err(error).context_with(|| format!("failed to delete `{}`", path.display()))?;
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }

    /// What `open` gives; `None` if there is no such file.
    fn existing<T>(&self, key: &str, open: impl FnOnce(PathBuf) -> io::Result<T>) -> Result<Option<T>> {
        let path = self.0.join(key);
        match open(path.clone()) {
            Err(error) if is_missing(&error) => Ok(None),
            opened => opened.map(Some).context_with(|| format!("failed to read `{}`", path.display())),
        }
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The entries of a folder; none if it doesn't exist.
fn entries(of: &Path) -> Result<Vec<PathBuf>> {
    let failed = || format!("failed to read the folder `{}`", of.display());
    match fs::read_dir(of) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries
            .context_with(failed)?
            .map(|entry| Ok(entry.context_with(failed)?.path()))
            .collect::<Result<_>>(),
    }
}

/// Writes a file whole or not at all, so that it is on the disk before it has its name.
fn place(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.{}.part", std::process::id()));
    let written = File::create(&beside).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    });
    let placed = written.and_then(|()| fs::rename(&beside, path));
    if placed.is_err() {
        // It stays for the next sweep if it can't be deleted.
        let _ = fs::remove_file(&beside);
    }
    placed?;
    // Not every system can flush a folder.
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(())
}
