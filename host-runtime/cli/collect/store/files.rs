//! Where a dataset's files are: in a folder, or in a bucket. They are named by keys, `runs/service=life/day=2026-11-24/r-1.parquet`, and a file
//! is there whole or not at all.

#[cfg(feature = "s3")]
use super::bucket::Bucket;
use anyhow::{Context, bail};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Held while a dataset is changed.
const LOCK: &str = ".lock";
/// How the address of a bucket begins.
const S3: &str = "s3://";

/// The files of a dataset.
pub enum Files {
    Folder(PathBuf),
    #[cfg(feature = "s3")]
    Bucket(Box<Bucket>),
}

/// A file that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name within the dataset.
    pub key: String,
    /// Its length.
    pub bytes: u64,
}

/// Nobody else does the same while this is there.
pub struct Lock<'a>(Option<Box<dyn FnOnce() + 'a>>);

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}

/// Whether a path is the address of a bucket.
pub fn is_bucket(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with(S3))
}

impl Files {
    /// The files at a path, or at the address of a bucket. Nothing is looked at yet.
    pub fn at(root: &Path) -> anyhow::Result<Files> {
        if !is_bucket(root) {
            return Ok(Files::Folder(root.to_owned()));
        }
        #[cfg(feature = "s3")]
        return Ok(Files::Bucket(Box::new(Bucket::at(&root.to_string_lossy())?)));
        #[cfg(not(feature = "s3"))]
        bail!(
            "`{}` is in a bucket, and this kperf-wasm is built without S3: cargo build --release --features s3; or take a folder, and \
             synchronise it, `runs` last",
            root.display()
        );
    }

    /// Waits until nobody else changes the dataset. In a bucket nobody has to.
    pub fn lock(&self) -> anyhow::Result<Lock<'_>> {
        match self {
            Files::Folder(root) => lock(&root.join(LOCK)),
            #[cfg(feature = "s3")]
            Files::Bucket(_) => Ok(Lock(None)),
        }
    }

    /// [`lock`](Files::lock), for what only one process may do at a time in a bucket too. Fails if another does.
    pub fn lock_alone(&self) -> anyhow::Result<Lock<'_>> {
        match self {
            Files::Folder(_) => self.lock(),
            #[cfg(feature = "s3")]
            Files::Bucket(bucket) => {
                if !bucket.create(LOCK)? {
                    bail!(
                        "another process joins the files of `{bucket}`; if none does, one was killed, and `{bucket}/{LOCK}` can be deleted"
                    );
                }
                // If it can't be deleted, who comes next is told.
                Ok(Lock(Some(Box::new(|| _ = bucket.delete(LOCK)))))
            }
        }
    }

    /// All files below a folder, in the order of their keys.
    pub fn list(&self, folder: &str) -> anyhow::Result<Vec<Found>> {
        let mut found = Vec::new();
        match self {
            Files::Folder(root) => {
                let mut folders = vec![(root.join(folder), folder.to_owned())];
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
            }
            #[cfg(feature = "s3")]
            Files::Bucket(bucket) => found = bucket.list(folder)?,
        }
        found.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(found)
    }

    /// The names of the folders in a folder. A bucket has none.
    pub fn folders(&self, folder: &str) -> anyhow::Result<Vec<String>> {
        #[allow(irrefutable_let_patterns, reason = "without S3 there are only folders")]
        let Files::Folder(root) = self else { return Ok(Vec::new()) };
        let paths = entries(&root.join(folder))?.into_iter().filter(|path| path.is_dir());
        Ok(paths.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
    }

    /// Opens a file; `None` if it isn't there.
    pub fn open(&self, key: &str) -> anyhow::Result<Option<File>> {
        match self {
            Files::Folder(root) => match File::open(root.join(key)) {
                Err(error) if is_missing(&error) => Ok(None),
                file => Ok(Some(file?)),
            },
            #[cfg(feature = "s3")]
            Files::Bucket(bucket) => bucket.open(key),
        }
    }

    /// Whether a file is there.
    pub fn has(&self, key: &str) -> anyhow::Result<bool> {
        match self {
            Files::Folder(root) => Ok(root.join(key).exists()),
            #[cfg(feature = "s3")]
            Files::Bucket(bucket) => bucket.has(key),
        }
    }

    /// Writes a file whole or not at all, in the place of one that is there.
    pub fn put(
        &self,
        key: &str,
        write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        match self {
            Files::Folder(root) => Ok(place(&root.join(key), write)?),
            #[cfg(feature = "s3")]
            Files::Bucket(bucket) => bucket.put(key, write),
        }
    }

    /// Deletes a file, if it is there.
    pub fn delete(&self, key: &str) -> anyhow::Result<()> {
        match self {
            Files::Folder(root) => match fs::remove_file(root.join(key)) {
                Err(error) if !is_missing(&error) => Err(error.into()),
                _ => Ok(()),
            },
            #[cfg(feature = "s3")]
            Files::Bucket(bucket) => bucket.delete(key),
        }
    }

    /// Makes the folder, if there is none. Fails if it has files that are no dataset's.
    pub fn prepare(&self) -> anyhow::Result<()> {
        // Others' objects in a bucket do no harm.
        #[allow(irrefutable_let_patterns, reason = "without S3 there are only folders")]
        let Files::Folder(root) = self else { return Ok(()) };
        fs::create_dir_all(root)?;
        let is_other =
            |path: &PathBuf| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'));
        match entries(root)?.into_iter().find(is_other) {
            Some(path) => bail!(
                "`{}` is no dataset, and not empty (`{}`); name another folder with -o",
                root.display(),
                path.display()
            ),
            None => Ok(()),
        }
    }

    /// Deletes what a process that was killed has left. Only for who holds the lock.
    pub fn sweep(&self) -> anyhow::Result<()> {
        // A bucket has no parts of files.
        #[allow(irrefutable_let_patterns, reason = "without S3 there are only folders")]
        let Files::Folder(root) = self else { return Ok(()) };
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for path in entries(&folder)? {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "part") {
                    fs::remove_file(&path)
                        .with_context(|| format!("failed to delete `{}`", path.display()))?;
                }
            }
        }
        Ok(())
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn lock<'a>(path: &Path) -> anyhow::Result<Lock<'a>> {
    let failed = || format!("failed to lock `{}`", path.display());
    let file = OpenOptions::new().create(true).append(true).open(path).with_context(failed)?;
    match file.lock() {
        // A file system without locks: whoever has one must see to it that only one process writes at a time.
        Err(error) if error.kind() == ErrorKind::Unsupported => {}
        locked => locked.with_context(failed)?,
    }
    // It ends with the file anyway.
    Ok(Lock(Some(Box::new(move || _ = file.unlock()))))
}

/// What is in a folder; nothing if it isn't there.
pub fn entries(of: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let failed = || format!("failed to read the folder `{}`", of.display());
    match fs::read_dir(of) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries
            .with_context(failed)?
            .map(|entry| Ok(entry.with_context(failed)?.path()))
            .collect::<anyhow::Result<_>>(),
    }
}

/// Writes a file whole or not at all, so that it is on the disk before it has its name.
fn place(path: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> io::Result<()> {
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
