//! Names of a dataset's files and folders.

use crate::folder::Found;
use crate::tables::rows::RunRow;
use crate::tables::table::TableRow;
use crate::tables::times::day;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};

/// Characters that are not escaped in the name of a folder.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
/// What Hive writes for a value that is missing.
const HIVE_NULL: &str = "__HIVE_DEFAULT_PARTITION__";
/// Longest name of a service, in bytes, and longest in the name of a folder, where a byte may take three: `service=`
/// precedes it, and a folder's name has 255 at most.
const MAX_SERVICE: usize = 120;
const MAX_ENCODED: usize = 240;

/// A partition of the rows: `service=life/day=2026-11-24`.
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
    /// The partition of its rows.
    pub partition: Partition,
    /// The last part of it, without the ending.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

impl Part {
    /// A file of a table, without its length.
    pub fn new<T: TableRow>(partition: &Partition, name: &str) -> Part {
        Part { key: key::<T>(partition, name), partition: partition.clone(), name: name.to_owned(), bytes: 0 }
    }

    /// A file of a table, if that is what was found.
    pub(crate) fn of(Found { key, bytes }: Found) -> Option<Part> {
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
    /// The partition of a run. An empty service is `unknown`.
    pub fn new(service: &str, start_micros: i64) -> Partition {
        let mut service = service.get(..service.floor_char_boundary(MAX_SERVICE)).unwrap_or_default();
        while utf8_percent_encode(service, PLAIN).map(str::len).sum::<usize>() > MAX_ENCODED {
            service = service.get(..service.floor_char_boundary(service.len() - 1)).unwrap_or_default();
        }
        let service = if service.is_empty() { "unknown" } else { service };
        Partition { service: service.to_owned(), day: day(start_micros) }
    }
}

/// The service of a folder `service=..`.
pub(crate) fn service_of(folder: &str) -> Option<String> {
    Some(percent_decode_str(folder.strip_prefix("service=")?).decode_utf8_lossy().into_owned())
}

/// The name of a file of a table.
pub(crate) fn key<T: TableRow>(partition: &Partition, name: &str) -> String {
    let Partition { service, day } = partition;
    let mut service = utf8_percent_encode(service, PLAIN).to_string();
    if service == HIVE_NULL {
        // Engines take that for no service.
        service.replace_range(..1, "%5F");
    }
    format!("{}/service={service}/day={day}/{name}.parquet", T::NAME)
}

/// The name of the files of one run.
pub fn file_name(run: &RunRow) -> String {
    name_of(run.run_id, run.generation)
}

/// The same, of a run's id and generation.
pub(crate) fn name_of(run_id: i64, generation: i32) -> String {
    format!("r-{run_id:016x}-{generation}")
}

/// The run and the generation of a single run's file.
pub fn run_of(name: &str) -> Option<(i64, i32)> {
    let (id, generation) = name.strip_prefix("r-")?.split_once('-')?;
    Some((u64::from_str_radix(id, 16).ok()?.cast_signed(), generation.parse().ok()?))
}

/// The first 16 hex digits of a hash of these bytes.
pub fn short_hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_s_name_is_no_longer_than_a_folder_s() {
        for (name, kept) in [
            ("漢".repeat(40), 26 * 3),
            (" ".repeat(200), 80),
            ("a".repeat(200), 120),
            (format!("{}é", "a".repeat(119)), 119),
            (String::new(), "unknown".len()),
        ] {
            let partition = Partition::new(&name, 0);
            assert_eq!(partition.service.len(), kept, "{name}");
            let key = key::<RunRow>(&partition, "r");
            assert!(key.split('/').all(|part| part.len() <= 255), "{key}");
        }
    }

    #[test]
    fn a_file_s_name_says_whose_it_is() {
        let row = RunRow { run_id: -2, generation: 7, ..RunRow::default() };
        assert_eq!(run_of(&file_name(&row)), Some((-2, 7)));
        for name in ["c-0123456789abcdef", "r-", "r-1", "r-x-1", "r-0000000000000001-"] {
            assert_eq!(run_of(name), None, "{name}");
        }
    }
}
