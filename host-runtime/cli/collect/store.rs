//! The folder of a dataset: its files, and how they come into it.
//!
//! A file is there whole or not at all. The row of a run in `runs` comes last: what other tables have of a run that isn't there
//! doesn't count.

#[cfg(feature = "s3")]
mod bucket;
mod files;

use crate::input;
use anyhow::{Context, bail};
use files::{Files, Found, Lock, entries};
use kperf_profile::dataset::table::{self, TableRow};
use kperf_profile::dataset::{RunRow, VERSION};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

/// Says that a folder is a dataset, and of which version.
const MARK: &str = "kperf-dataset.json";
/// What stands for itself in the name of a folder.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
/// What Hive writes for a value that is missing.
const HIVE_NULL: &str = "__HIVE_DEFAULT_PARTITION__";
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
    files: Files,
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
    /// Its name within the dataset.
    pub key: String,
    /// Where its rows stand.
    pub partition: Partition,
    /// The last part of it, without the ending.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// A run that was taken.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its row.
    pub row: RunRow,
    /// Where it stands.
    pub partition: Partition,
}

/// Whether a path is a dataset. What is in a bucket is taken for one.
pub fn is_dataset(path: &Path) -> bool {
    files::is_bucket(path) || path.join(MARK).is_file()
}

impl Store {
    /// Opens a dataset that is there.
    pub fn open(root: &Path) -> anyhow::Result<Store> {
        Store::open_if_any(root)?.with_context(|| {
            format!(
                "`{}` is no dataset: there is no `{MARK}`; `kperf-wasm collect` makes one",
                root.display()
            )
        })
    }

    fn open_if_any(root: &Path) -> anyhow::Result<Option<Store>> {
        let store = Store { root: root.to_owned(), files: Files::at(root)? };
        let failed = || format!("failed to read `{}`", store.shown(MARK));
        let Some(file) = store.files.open(MARK).with_context(failed)? else { return Ok(None) };
        let mark: Mark = serde_json::from_reader(BufReader::new(file))
            .with_context(|| format!("`{}` is damaged", store.shown(MARK)))?;
        let Version { major, minor } = mark.kperf_dataset;
        if major != VERSION.0 {
            bail!(
                "the dataset `{}` has version {major}.{minor}; this kperf-wasm knows version {}",
                root.display(),
                VERSION.0
            );
        }
        Ok(Some(store))
    }

    /// Opens a dataset, or makes one of a folder that is empty or not there.
    pub fn open_or_create(root: &Path) -> anyhow::Result<Store> {
        if let Some(store) = Store::open_if_any(root)? {
            return Ok(store);
        }
        let failed = || format!("failed to make the dataset `{}`", root.display());
        let store = Store { root: root.to_owned(), files: Files::at(root)? };
        // Another process may be making it.
        if let Err(error) = store.files.prepare() {
            return Store::open_if_any(root)?.ok_or(error).with_context(failed);
        }
        // Another process may be making it, or sweep what this one has begun.
        let lock = store.lock()?;
        if let Some(store) = Store::open_if_any(root)? {
            return Ok(store);
        }
        let (major, minor) = VERSION;
        let mark = serde_json::to_vec_pretty(&Mark { kperf_dataset: Version { major, minor } })?;
        store.files.put(MARK, |out| out.write_all(&mark)).with_context(failed)?;
        drop(lock);
        Ok(store)
    }

    /// Its folder, or its address.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where query engines find it.
    pub fn location(&self) -> anyhow::Result<PathBuf> {
        match self.files {
            Files::Folder(_) => {
                self.root.canonicalize().with_context(|| format!("failed to find `{}`", self.root.display()))
            }
            #[cfg(feature = "s3")]
            Files::Bucket(_) => Ok(self.root.clone()),
        }
    }

    /// Waits until nobody else changes the dataset.
    pub fn lock(&self) -> anyhow::Result<Lock<'_>> {
        self.files.lock()
    }

    /// The same, for who joins files.
    pub fn lock_alone(&self) -> anyhow::Result<Lock<'_>> {
        self.files.lock_alone()
    }

    /// The files of a table, by their names.
    pub fn parts<T: TableRow>(&self) -> anyhow::Result<Vec<Part>> {
        Ok(self.files.list(T::NAME)?.into_iter().filter_map(Part::of).collect())
    }

    /// Reads the rows of a file.
    pub fn read<T: TableRow>(
        &self,
        part: &Part,
        each: impl FnMut(T) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let failed = || format!("failed to read `{}`", self.shown(&part.key));
        let file = self.files.open(&part.key).with_context(failed)?;
        let file = file.context("it has gone").with_context(failed)?;
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

    /// Whether a table has a file.
    pub fn has<T: TableRow>(&self, partition: &Partition, name: &str) -> anyhow::Result<bool> {
        let key = key::<T>(partition, name);
        self.files.has(&key).with_context(|| format!("failed to read `{}`", self.shown(&key)))
    }

    /// Whether a table has a file of this name on a partition's day, for whatever service. In a bucket only that of the partition is
    /// looked for: nobody holds a lock there, so the answer could be old.
    pub fn has_in_any_service<T: TableRow>(&self, partition: &Partition, name: &str) -> anyhow::Result<bool> {
        if self.has::<T>(partition, name)? {
            return Ok(true);
        }
        let others = self.files.folders(T::NAME)?;
        let services = others.iter().filter_map(|folder| service_of(folder));
        for service in services.filter(|service| *service != partition.service) {
            if self.has::<T>(&Partition { service, day: partition.day.clone() }, name)? {
                return Ok(true);
            }
        }
        Ok(false)
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
        let key = key::<T>(partition, name);
        self.files.put(&key, write).with_context(|| format!("failed to write `{}`", self.shown(&key)))
    }

    /// Writes rows that many runs have in common: a file with the same rows is written once. Answers its name.
    pub fn write_common<T: TableRow>(&self, partition: &Partition, rows: &[T]) -> anyhow::Result<String> {
        let mut bytes = Vec::new();
        table::write(rows, &mut bytes)?;
        let name = short_hash(&bytes);
        if !self.has::<T>(partition, &name)? {
            self.write_with::<T>(partition, &name, |out| out.write_all(&bytes))?;
        }
        Ok(name)
    }

    /// Deletes a file of a table, if it is there.
    pub fn delete<T: TableRow>(&self, partition: &Partition, name: &str) -> anyhow::Result<()> {
        let key = key::<T>(partition, name);
        self.files.delete(&key).with_context(|| format!("failed to delete `{}`", self.shown(&key)))
    }

    /// Deletes what a process that was killed has left. Only for who holds the lock.
    pub fn sweep(&self) -> anyhow::Result<()> {
        self.files.sweep()
    }

    /// The name of a file, for people.
    fn shown(&self, key: &str) -> String {
        self.root.join(key).display().to_string()
    }
}

/// The service of a folder `service=..`.
fn service_of(folder: &str) -> Option<String> {
    Some(percent_decode_str(folder.strip_prefix("service=")?).decode_utf8_lossy().into_owned())
}

/// The name of a file of a table.
fn key<T: TableRow>(partition: &Partition, name: &str) -> String {
    let Partition { service, day } = partition;
    let mut service = utf8_percent_encode(service, PLAIN).to_string();
    if service == HIVE_NULL {
        // Engines take that for no service.
        service.replace_range(..1, "%5F");
    }
    format!("{}/service={service}/day={day}/{name}.parquet", T::NAME)
}

impl Part {
    /// A file of a table, whose length nobody needs.
    pub fn new<T: TableRow>(partition: &Partition, name: &str) -> Part {
        Part { key: key::<T>(partition, name), partition: partition.clone(), name: name.to_owned(), bytes: 0 }
    }

    /// A file of a table, if that is what was found.
    fn of(Found { key, bytes }: Found) -> Option<Part> {
        let mut names = key.split('/').skip(1);
        let service = service_of(names.next()?)?;
        let mut next = |key: &str| names.next()?.strip_prefix(key);
        let day = next("day=")?.to_owned();
        let name = next("")?.strip_suffix(".parquet")?.to_owned();
        let is_part = names.next().is_none() && !name.starts_with(['.', '_']);
        is_part.then_some(Part { partition: Partition { service, day }, name, bytes, key })
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
