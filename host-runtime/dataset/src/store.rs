//! A dataset's tables and files.
//!
//! - A file is never visible in part.
//! - The row of a run in `runs` is written last. Readers ignore rows of other tables until then.

use crate::error::{Context, Error, Result};
use crate::folder::{Folder, Lock};
use crate::layout::{Part, Partition, key, service_of, short_hash};
use crate::tables::rows::RunRow;
use crate::tables::table::{self, TableRow, VERSION};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Marks a folder as a dataset, with its version.
const MARK: &str = "kperf-dataset.json";

#[derive(Serialize, Deserialize)]
struct Mark {
    kperf_dataset: Version,
}

#[derive(Serialize, Deserialize)]
struct Version {
    major: u32,
    minor: u32,
}

/// A dataset's folder.
pub struct Store {
    root: PathBuf,
    files: Folder,
}

/// A run that was taken.
#[derive(Clone, Debug)]
pub struct KnownRun {
    /// Its row.
    pub row: RunRow,
    /// Its partition.
    pub partition: Partition,
}

/// Whether a path is a dataset.
pub fn is_dataset(path: &Path) -> bool {
    path.join(MARK).is_file()
}

impl Store {
    fn at(root: &Path) -> Result<Store> {
        if root.to_str().is_some_and(|root| root.contains("://")) {
            return Err(Error::new(format!(
                "`{}` is not a folder; collect into a folder and copy it to the store, the table `runs` last",
                root.display()
            )));
        }
        Ok(Store { root: root.to_owned(), files: Folder(root.to_owned()) })
    }

    /// Opens a dataset that is there. Fails if there is none, if it has another major version, or if it can't be read.
    pub fn open(root: &Path) -> Result<Store> {
        let store = Store::at(root)?;
        if store.is_there()? {
            return Ok(store);
        }
        Err(Error::new(format!(
            "`{}` is not a dataset: there is no `{MARK}`; `kperf-wasm collect` makes one",
            root.display()
        )))
    }

    /// Opens a dataset, or makes one of a folder that is empty or not there.
    pub fn open_or_create(root: &Path) -> Result<Store> {
        let store = Store::at(root)?;
        if store.is_there()? {
            return Ok(store);
        }
        store.create().context_with(|| format!("failed to make the dataset `{}`", root.display()))?;
        Ok(store)
    }

    /// Whether it is there, in a version that we know.
    fn is_there(&self) -> Result<bool> {
        let Some(mark) = self.files.get(MARK)? else { return Ok(false) };
        let mark: Mark =
            serde_json::from_slice(&mark).context_with(|| format!("`{}` is damaged", self.shown(MARK)))?;
        let Version { major, minor } = mark.kperf_dataset;
        if major != VERSION.0 {
            return Err(Error::new(format!(
                "the dataset `{}` has version {major}.{minor}; this kperf-wasm knows version {}",
                self.root.display(),
                VERSION.0
            )));
        }
        Ok(true)
    }

    fn create(&self) -> Result<()> {
        // Another process may be making it.
        if let Err(error) = self.files.prepare() {
            return if self.is_there()? { Ok(()) } else { Err(error) };
        }
        // It may sweep what this one has begun.
        let _lock = self.lock()?;
        if self.is_there()? {
            return Ok(());
        }
        let (major, minor) = VERSION;
        let mark = serde_json::to_vec_pretty(&Mark { kperf_dataset: Version { major, minor } });
        let mark = mark.context_with(|| format!("failed to write `{MARK}`"))?;
        self.files.put(MARK, |out| out.write_all(&mark))
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where query engines find it.
    pub fn location(&self) -> Result<PathBuf> {
        self.root.canonicalize().context_with(|| format!("failed to find `{}`", self.root.display()))
    }

    /// Waits for the dataset's lock.
    pub fn lock(&self) -> Result<Lock> {
        self.files.lock()
    }

    /// The files of a table, by their names.
    pub fn parts<T: TableRow>(&self) -> Result<Vec<Part>> {
        Ok(self.files.list(T::NAME)?.into_iter().filter_map(Part::of).collect())
    }

    /// Reads the rows of a file.
    pub fn read<T: TableRow>(&self, part: &Part, each: impl FnMut(T) -> io::Result<()>) -> Result<()> {
        let failed = || format!("failed to read `{}`", self.shown(&part.key));
        match self.files.open(&part.key)? {
            Some(file) => table::read(file, each).context_with(failed),
            None => Err(Error::because(failed(), "it has gone")),
        }
    }

    /// Reads all rows of a file; why not, if it is damaged.
    pub(crate) fn try_read<T: TableRow>(&self, part: &Part) -> Result<std::result::Result<Vec<T>, String>> {
        let failed = || format!("failed to read `{}`", self.shown(&part.key));
        let Some(file) = self.files.open(&part.key)? else {
            return Err(Error::because(failed(), "it has gone"));
        };
        let mut rows = Vec::new();
        let read = table::read(file, |row| {
            rows.push(row);
            Ok(())
        });
        match read {
            Ok(()) => Ok(Ok(rows)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(Err(error.to_string())),
            Err(error) => Err(error).context_with(failed),
        }
    }

    /// All runs that were taken.
    pub fn runs(&self) -> Result<HashMap<i64, KnownRun>> {
        let mut runs: HashMap<i64, KnownRun> = HashMap::new();
        for part in self.parts::<RunRow>()? {
            self.read(&part, |row: RunRow| {
                let known = runs.get(&row.run_id).map(|known| known.row.generation);
                if known.is_none_or(|generation| generation < row.generation) {
                    runs.insert(row.run_id, KnownRun { row, partition: part.partition.clone() });
                }
                Ok(())
            })?;
        }
        Ok(runs)
    }

    /// Whether a table has a file.
    pub fn has<T: TableRow>(&self, partition: &Partition, name: &str) -> bool {
        self.files.has(&key::<T>(partition, name))
    }

    /// Whether a table has a file of this name on a partition's day, for any service.
    pub fn has_in_any_service<T: TableRow>(&self, partition: &Partition, name: &str) -> Result<bool> {
        if self.has::<T>(partition, name) {
            return Ok(true);
        }
        let others = self.files.folders(T::NAME)?;
        let services = others.iter().filter_map(|folder| service_of(folder));
        for service in services.filter(|service| *service != partition.service) {
            if self.has::<T>(&Partition { service, day: partition.day.clone() }, name) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes a file of a table.
    pub fn write<T: TableRow>(&self, partition: &Partition, name: &str, rows: &[T]) -> Result<()> {
        self.write_with::<T>(partition, name, |out| table::write(rows, out))
    }

    /// Writes a file of a table, by what `write` says.
    pub fn write_with<T: TableRow>(
        &self,
        partition: &Partition,
        name: &str,
        write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<()> {
        self.files.put(&key::<T>(partition, name), |out| write(out))
    }

    /// Writes rows that many runs have in common: a file with the same rows is written once. Returns its name.
    pub fn write_common<T: TableRow>(&self, partition: &Partition, rows: &[T]) -> Result<String> {
        let mut bytes = Vec::new();
        table::write(rows, &mut bytes).context_with(|| format!("failed to pack rows of `{}`", T::NAME))?;
        let name = short_hash(&bytes);
        if !self.has::<T>(partition, &name) {
            self.write_with::<T>(partition, &name, |out| out.write_all(&bytes))?;
        }
        Ok(name)
    }

    /// Deletes a file of a table, if it is there.
    pub fn delete<T: TableRow>(&self, partition: &Partition, name: &str) -> Result<()> {
        self.files.delete(&key::<T>(partition, name))
    }

    /// Deletes a file, if it is there.
    pub(crate) fn delete_key(&self, key: &str) -> Result<()> {
        self.files.delete(key)
    }

    /// Deletes the files that a killed process left unfinished. The caller must hold the lock.
    pub fn sweep(&self) -> Result<()> {
        self.files.sweep()
    }

    /// The name of a file, for people.
    fn shown(&self, key: &str) -> String {
        self.root.join(key).display().to_string()
    }
}
