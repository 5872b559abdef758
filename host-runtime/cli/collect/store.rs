//! The folder of a dataset: its files, and how they come into it.
//!
//! Files are written under a temporary name, flushed to the disk and renamed. The row of a run in `runs` comes last: what other tables
//! have of a run that isn't there doesn't count.

use crate::input;
use anyhow::{Context, bail};
use kperf_profile::dataset::table::{self, TableRow};
use kperf_profile::dataset::{RunRow, VERSION};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Says that a folder is a dataset, and of which version.
const MARK: &str = "kperf-dataset.json";
/// Held while a dataset is changed.
const LOCK: &str = ".lock";
/// What stands for itself in the name of a folder.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
/// Longest name of a service in the name of a folder, in bytes.
const MAX_SERVICE: usize = 120;

#[derive(Serialize, Deserialize)]
struct Mark {
    kperf_dataset: Version,
}

#[derive(Serialize, Deserialize)]
struct Version {
    major: u32,
    minor: u32,
}

/// A dataset.
pub struct Store {
    root: PathBuf,
}

/// Where rows stand: `service=life/day=2026-11-24`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition {
    /// The service.
    pub service: String,
    /// The day in UTC when the run began.
    pub day: String,
}

/// A file of a table.
#[derive(Clone, Debug)]
pub struct Part {
    /// Where it is.
    pub path: PathBuf,
    /// Where its rows stand.
    pub partition: Partition,
    /// Its name without the ending.
    pub name: String,
}

/// A run that was taken.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its row.
    pub row: RunRow,
    /// Where it stands.
    pub partition: Partition,
}

/// Nobody else changes the dataset while this is there.
pub struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // It ends with the file anyway.
        let _ = self.0.unlock();
    }
}

/// Whether a path is a dataset.
pub fn is_dataset(path: &Path) -> bool {
    path.join(MARK).is_file()
}

impl Store {
    /// Opens a dataset that is there.
    pub fn open(root: &Path) -> anyhow::Result<Store> {
        let mark = root.join(MARK);
        let text = fs::read_to_string(&mark).with_context(|| {
            format!(
                "`{}` is no dataset: there is no `{MARK}`; `kperf-wasm collect` makes one",
                root.display()
            )
        })?;
        let mark: Mark =
            serde_json::from_str(&text).with_context(|| format!("`{}` is damaged", mark.display()))?;
        let Version { major, minor } = mark.kperf_dataset;
        if major != VERSION.0 {
            bail!(
                "the dataset `{}` has version {major}.{minor}; this kperf-wasm knows version {}",
                root.display(),
                VERSION.0
            );
        }
        Ok(Store { root: root.to_owned() })
    }

    /// Opens a dataset, or makes one of a folder that is empty or not there.
    pub fn open_or_create(root: &Path) -> anyhow::Result<Store> {
        if is_dataset(root) {
            return Store::open(root);
        }
        let failed = || format!("failed to make the dataset `{}`", root.display());
        fs::create_dir_all(root).with_context(failed)?;
        check_empty(root)?;
        let store = Store { root: root.to_owned() };
        // Another process may be making it, or sweep what this one has begun.
        let lock = store.lock()?;
        if is_dataset(root) {
            return Store::open(root);
        }
        let (major, minor) = VERSION;
        let mark = serde_json::to_vec_pretty(&Mark { kperf_dataset: Version { major, minor } })?;
        place(&root.join(MARK), |out| out.write_all(&mark)).with_context(failed)?;
        drop(lock);
        Ok(store)
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Waits until nobody else changes the dataset.
    pub fn lock(&self) -> anyhow::Result<Lock> {
        let path = self.root.join(LOCK);
        let failed = || format!("failed to lock `{}`", path.display());
        let file = OpenOptions::new().create(true).append(true).open(&path).with_context(failed)?;
        match file.lock() {
            // A file system without locks: whoever has one must see to it that only one process writes at a time.
            Err(error) if error.kind() == ErrorKind::Unsupported => {}
            locked => locked.with_context(failed)?,
        }
        Ok(Lock(file))
    }

    /// The files of a table, by their paths.
    pub fn parts<T: TableRow>(&self) -> anyhow::Result<Vec<Part>> {
        let table = self.root.join(T::NAME);
        let mut parts = Vec::new();
        for (service, of_service) in folders(&table, "service=")? {
            for (day, of_day) in folders(&of_service, "day=")? {
                let partition = Partition { service: service.clone(), day };
                for path in entries(&of_day)? {
                    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
                    let is_part = path.extension().is_some_and(|ending| ending == "parquet");
                    if let Some(name) = name.filter(|name| is_part && !name.starts_with(['.', '_'])) {
                        parts.push(Part { path, partition: partition.clone(), name });
                    }
                }
            }
        }
        parts.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(parts)
    }

    /// Reads the rows of a file.
    pub fn read<T: TableRow>(
        &self,
        part: &Part,
        each: impl FnMut(T) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let failed = || format!("failed to read `{}`", part.path.display());
        let file = File::open(&part.path).with_context(failed)?;
        table::read(file, each).with_context(failed)
    }

    /// All runs that were taken.
    pub fn runs(&self) -> anyhow::Result<HashMap<i64, Known>> {
        let mut runs: HashMap<i64, Known> = HashMap::new();
        for part in self.parts::<RunRow>()? {
            self.read(&part, |row: RunRow| {
                let known = runs.get(&row.run_id).map(|known| known.row.generation);
                if known.is_none_or(|generation| generation < row.generation) {
                    runs.insert(row.run_id, Known { row, partition: part.partition.clone() });
                }
                Ok(())
            })?;
        }
        Ok(runs)
    }

    /// The path of a file of a table.
    pub fn path<T: TableRow>(&self, partition: &Partition, name: &str) -> PathBuf {
        let Partition { service, day } = partition;
        let service = utf8_percent_encode(service, PLAIN);
        let folder = self.root.join(T::NAME).join(format!("service={service}")).join(format!("day={day}"));
        folder.join(format!("{name}.parquet"))
    }

    /// Writes a file of a table.
    pub fn write<T: TableRow>(&self, partition: &Partition, name: &str, rows: &[T]) -> anyhow::Result<()> {
        self.write_with::<T>(partition, name, |out| table::write(rows, out))
    }

    /// Writes a file of a table, by what `write` says.
    pub fn write_with<T: TableRow>(
        &self,
        partition: &Partition,
        name: &str,
        write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let path = self.path::<T>(partition, name);
        place(&path, write).with_context(|| format!("failed to write `{}`", path.display()))
    }

    /// Writes rows that many runs have in common: a file with the same rows is written once. Answers its name.
    pub fn write_common<T: TableRow>(&self, partition: &Partition, rows: &[T]) -> anyhow::Result<String> {
        let mut bytes = Vec::new();
        table::write(rows, &mut bytes)?;
        let name = short_hash(&bytes);
        if !self.path::<T>(partition, &name).exists() {
            self.write_with::<T>(partition, &name, |out| out.write_all(&bytes))?;
        }
        Ok(name)
    }

    /// Deletes a file of a table, if it is there.
    pub fn delete<T: TableRow>(&self, partition: &Partition, name: &str) -> anyhow::Result<()> {
        let path = self.path::<T>(partition, name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("failed to delete `{}`", path.display()))
            }
            _ => Ok(()),
        }
    }

    /// Deletes what a process that was killed has left. Only for who holds the lock.
    pub fn sweep(&self) -> anyhow::Result<()> {
        let mut folders = vec![self.root.clone()];
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

impl Partition {
    /// Where a run stands. An empty service is `unknown`.
    pub fn new(service: &str, start_micros: i64) -> Partition {
        let service = service.get(..service.floor_char_boundary(MAX_SERVICE)).unwrap_or_default();
        let service = if service.is_empty() { "unknown" } else { service };
        Partition { service: service.to_owned(), day: kperf_profile::dataset::day(start_micros) }
    }
}

/// 16 hex digits that stand for these bytes.
pub fn short_hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Fails if a folder has files that are no dataset's.
fn check_empty(root: &Path) -> anyhow::Result<()> {
    let is_other =
        |path: &PathBuf| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'));
    match entries(root)?.into_iter().find(is_other) {
        Some(path) if !is_dataset(root) => bail!(
            "`{}` is no dataset, and not empty (`{}`); name another folder with -o",
            root.display(),
            path.display()
        ),
        _ => Ok(()),
    }
}

/// The folders whose name begins with a key, and what follows it.
fn folders(of: &Path, key: &str) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let with_key = |path: PathBuf| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let value = percent_decode_str(name.strip_prefix(key)?).decode_utf8_lossy().into_owned();
        path.is_dir().then_some((value, path))
    };
    Ok(entries(of)?.into_iter().filter_map(with_key).collect())
}

/// What is in a folder; nothing if it isn't there.
fn entries(of: &Path) -> anyhow::Result<Vec<PathBuf>> {
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

/// The traces that a path means: itself, or all `.kperf` files in the folder and in those within it.
pub fn traces(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if path == Path::new("-") || !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let (mut found, mut folders) = (Vec::new(), vec![path.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            // A link to a folder may lead in circles.
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.is_file() && path.extension().is_some_and(|ending| ending == "kperf") {
                found.push(path);
            }
        }
    }
    if found.is_empty() {
        bail!("there is no trace (`*.kperf`) in `{}`", input::name(path));
    }
    found.sort();
    Ok(found)
}
