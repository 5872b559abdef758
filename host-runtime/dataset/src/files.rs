//! The files of a dataset: in a folder, or in a bucket.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{self, Write};

/// Writes the bytes of a file.
pub type WriteFile<'a> = Box<dyn FnOnce(&mut (dyn Write + Send)) -> io::Result<()> + 'a>;

/// The files of a dataset. Their names are keys: `runs/service=life/day=2026-11-24/r-1.parquet`. A file is never visible in part.
pub trait Files: Send {
    /// All files below a folder, in the order of their keys.
    fn list(&self, folder: &str) -> Result<Vec<Found>>;

    /// The names of the folders in a folder. Empty in a bucket, which has no locks.
    fn folders(&self, folder: &str) -> Result<Vec<String>>;

    /// The bytes of a short file; `None` if it isn't there.
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>>;

    /// Opens a file; `None` if it isn't there.
    fn open(&self, key: &str) -> Result<Option<File>>;

    /// Whether a file is there.
    fn has(&self, key: &str) -> Result<bool>;

    /// Writes a file, and replaces an older one. A write that fails leaves no part of it.
    fn put(&self, key: &str, write: WriteFile<'_>) -> Result<()>;

    /// Deletes a file, if it is there.
    fn delete(&self, key: &str) -> Result<()>;

    /// Prepares for the first file. Fails if there are files that don't belong to a dataset.
    fn prepare(&self) -> Result<()>;

    /// Waits for the dataset's lock, where there are locks.
    fn lock(&self) -> Result<Lock<'_>> {
        Ok(Lock::none())
    }

    /// [`lock`](Files::lock) for work that only one process may do at a time, on all machines. Fails if another does it.
    fn lock_alone(&self) -> Result<Lock<'_>> {
        Err(Error::new("files can't be joined here"))
    }

    /// Deletes the files that a killed process left unfinished. The caller must hold the lock.
    fn sweep(&self) -> Result<()> {
        Ok(())
    }
}

/// A file that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name within the dataset.
    pub key: String,
    /// Its length.
    pub bytes: u64,
}

/// A lock, held until it is dropped.
pub struct Lock<'a>(Option<Box<dyn FnOnce() + 'a>>);

impl<'a> Lock<'a> {
    /// A lock that locks nothing.
    pub fn none() -> Lock<'a> {
        Lock(None)
    }

    /// A lock that calls `release` when it is dropped.
    pub fn until(release: impl FnOnce() + 'a) -> Lock<'a> {
        Lock(Some(Box::new(release)))
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}
