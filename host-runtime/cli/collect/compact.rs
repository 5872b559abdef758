//! `collect --compact`: joins the small files of a day.
//!
//! - The joined rows get the next generation of their runs.
//! - The file of `runs` is written last. It makes the new rows valid, and the old files are deleted after it.
//! - A killed process leaves rows that are not valid, or duplicate files. The next one deletes them.

use crate::shared::table::plural;
use anyhow::Context;
use kperf_dataset::table::TableRow;
use kperf_dataset::{
    FunctionRow, KnownRun, Part, Partition, PathRow, RunRow, SpanRow, StatRow, Store, file_name,
    joined_generation, run_of, short_hash,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

/// Bytes of `stats` to join at a time. They take about ten times as much memory.
const MAX_BYTES: u64 = 16 << 20;
/// A day with more files of functions or paths than this has them joined.
const COMMON: usize = 4;

/// Compacts a dataset. Returns a summary for people.
pub fn compact(store: &Store) -> anyhow::Result<String> {
    let _lock = store.lock()?;
    store.sweep()?;
    let known = store.runs()?;
    remove_old(store, &known)?;
    let single = names(&store.parts::<RunRow>()?);
    let lengths: HashMap<String, u64> =
        store.parts::<StatRow>()?.into_iter().map(|part| (part.name, part.bytes)).collect();
    let mut small: BTreeMap<Partition, Vec<&KnownRun>> = BTreeMap::new();
    for known in known.values().filter(|known| known.row.complete) {
        if single.contains(&file_name(&known.row)) {
            small.entry(known.partition.clone()).or_default().push(known);
        }
    }
    let (mut runs, mut files) = (0, 0);
    for (partition, mut of_day) in small.into_iter().filter(|(_, of_day)| of_day.len() > 1) {
        of_day.sort_by_key(|known| (known.row.start, known.row.run_id));
        let mut batch: Vec<&KnownRun> = Vec::new();
        let mut bytes = 0;
        for known in of_day {
            let name = file_name(&known.row);
            let length =
                *lengths.get(&name).with_context(|| format!("the file `{name}` of `stats` is missing"))?;
            if bytes + length > MAX_BYTES && !batch.is_empty() {
                join(store, &partition, &batch)?;
                files += 1;
                batch.clear();
                bytes = 0;
            }
            bytes += length;
            batch.push(known);
            runs += 1;
        }
        join(store, &partition, &batch)?;
        files += 1;
    }
    join_common::<FunctionRow, _>(store, |row| row.function_id)?;
    join_common::<PathRow, _>(store, |row| row.path_id)?;
    Ok(format!("{} joined in {} a table", plural(runs, "run"), plural(files, "file")))
}

fn names(parts: &[Part]) -> HashSet<String> {
    parts.iter().map(|part| part.name.clone()).collect()
}

/// Deletes the files of single runs that a later generation has replaced.
fn remove_old(store: &Store, known: &HashMap<i64, KnownRun>) -> anyhow::Result<()> {
    let is_replaced = |name: &str| {
        let (id, generation) = run_of(name)?;
        Some(generation < known.get(&id)?.row.generation)
    };
    let joined = names(&store.parts::<RunRow>()?);
    // A killed process leaves files without runs. A single run gets its row when it is collected again.
    // Joined files are deleted: they would count twice when their runs are joined again.
    let is_half = |part: &Part| part.name.starts_with("c-") && !joined.contains(&part.name);
    let is_old = |part: &Part| is_replaced(&part.name) == Some(true) || is_half(part);
    for part in store.parts::<RunRow>()?.into_iter().filter(is_old) {
        store.delete::<RunRow>(&part.partition, &part.name)?;
    }
    for part in store.parts::<StatRow>()?.into_iter().filter(is_old) {
        store.delete::<StatRow>(&part.partition, &part.name)?;
    }
    for part in store.parts::<SpanRow>()?.into_iter().filter(is_old) {
        store.delete::<SpanRow>(&part.partition, &part.name)?;
    }
    Ok(())
}

/// Joins the files of these runs.
fn join(store: &Store, partition: &Partition, batch: &[&KnownRun]) -> anyhow::Result<()> {
    let mut named = String::new();
    let mut runs: Vec<RunRow> = Vec::new();
    for KnownRun { row, .. } in batch {
        named.push_str(&file_name(row));
        runs.push(RunRow { generation: joined_generation(row.generation), ..row.clone() });
    }
    let name = format!("c-{}", short_hash(named.as_bytes()));
    let mut stats: Vec<StatRow> = Vec::new();
    let mut spans: Vec<SpanRow> = Vec::new();
    for KnownRun { row, .. } in batch {
        let name = file_name(row);
        store.read(&Part::new::<StatRow>(partition, &name), |row: StatRow| {
            stats.push(StatRow { generation: joined_generation(row.generation), ..row });
            Ok(())
        })?;
        if store.has::<SpanRow>(partition, &name) {
            store.read(&Part::new::<SpanRow>(partition, &name), |row: SpanRow| {
                spans.push(SpanRow { generation: joined_generation(row.generation), ..row });
                Ok(())
            })?;
        }
    }
    stats.sort_by_key(|row| (row.function_id, row.path_id, row.run_id, row.window));
    spans.sort_by_key(|row| (row.function_id, row.start, row.run_id));
    store.write(partition, &name, &stats)?;
    if !spans.is_empty() {
        store.write(partition, &name, &spans)?;
    }
    store.write(partition, &name, &runs)?;
    for KnownRun { row, .. } in batch {
        let name = file_name(row);
        store.delete::<RunRow>(partition, &name)?;
        store.delete::<StatRow>(partition, &name)?;
        store.delete::<SpanRow>(partition, &name)?;
    }
    Ok(())
}

/// Joins the files of a table with rows that many runs share.
fn join_common<T: TableRow, K: Hash + Eq + Ord + Copy>(
    store: &Store,
    key: impl Fn(&T) -> K,
) -> anyhow::Result<()> {
    let mut by_day: BTreeMap<Partition, Vec<Part>> = BTreeMap::new();
    for part in store.parts::<T>()? {
        by_day.entry(part.partition.clone()).or_default().push(part);
    }
    for (partition, parts) in by_day.into_iter().filter(|(_, parts)| parts.len() > COMMON) {
        let mut rows: BTreeMap<K, T> = BTreeMap::new();
        for part in &parts {
            store.read(part, |row: T| {
                rows.entry(key(&row)).or_insert(row);
                Ok(())
            })?;
        }
        let rows: Vec<T> = rows.into_values().collect();
        let name = store.write_common(&partition, &rows)?;
        for part in parts.iter().filter(|part| part.name != name) {
            store.delete::<T>(&partition, &part.name)?;
        }
    }
    Ok(())
}
