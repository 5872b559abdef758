//! Finds the damaged files of a dataset, and takes them out with the runs that can't be read without them.
//!
//! - A run is whole if its row can be read, its rows in `stats` have all its calls, and their paths and functions are there.
//! - Of a file with the rows of several runs, the rows of the whole ones move to a new file, with the next generation.

use crate::add::{calls_name, joined_generation};
use crate::error::Result;
use crate::layout::{Part, Partition, run_of, short_hash};
use crate::store::Store;
use crate::tables::rows::{CallRow, FunctionRow, PathRow, RunRow, SpanRow, StatRow};
use crate::tables::table::TableRow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What is damaged in a dataset.
#[derive(Clone, Debug, Default)]
pub struct Damage {
    /// The files that can't be read, as keys within the dataset, with the reasons.
    pub files: BTreeMap<String, String>,
    /// The runs that aren't whole, with their names.
    pub runs: BTreeMap<i64, String>,
    /// The runs without all of their rows in `spans`.
    without_spans: BTreeMap<i64, String>,
}

impl Damage {
    /// Whether a file can be read.
    pub fn has(&self, part: &Part) -> bool {
        self.files.contains_key(&part.key)
    }

    /// The rows of a file; none if it is damaged.
    fn read<T: TableRow>(&mut self, store: &Store, part: &Part) -> Result<Vec<T>> {
        Ok(store.try_read(part)?.unwrap_or_else(|why| {
            self.files.insert(part.key.clone(), why);
            Vec::new()
        }))
    }
}

/// The row of a run that holds, and its file.
struct Held {
    row: RunRow,
    part: Part,
    calls: u64,
    lacks_paths: bool,
}

/// Reads all of a dataset.
///
/// # Errors
///
/// If files can't be opened, or go meanwhile.
pub fn find_damage(store: &Store) -> Result<Damage> {
    let mut damage = Damage::default();
    let mut functions: HashSet<i64> = HashSet::new();
    for part in store.parts::<FunctionRow>()? {
        functions.extend(damage.read(store, &part)?.iter().map(|row: &FunctionRow| row.function_id));
    }
    let mut paths: HashSet<i64> = HashSet::new();
    for part in store.parts::<PathRow>()? {
        let rows: Vec<PathRow> = damage.read(store, &part)?;
        paths.extend(rows.iter().filter(|row| functions.contains(&row.function_id)).map(|row| row.path_id));
    }
    let mut runs: HashMap<i64, Held> = HashMap::new();
    for part in store.parts::<RunRow>()? {
        for row in damage.read::<RunRow>(store, &part)? {
            if runs.get(&row.run_id).is_none_or(|known| known.row.generation < row.generation) {
                let part = part.clone();
                runs.insert(row.run_id, Held { row, part, calls: 0, lacks_paths: false });
            }
        }
    }
    for part in store.parts::<StatRow>()? {
        for row in damage.read::<StatRow>(store, &part)? {
            let run = runs
                .get_mut(&row.run_id)
                .filter(|run| run.row.generation == row.generation && run.part.partition == part.partition);
            if let Some(run) = run {
                run.calls = run.calls.saturating_add(row.calls);
                run.lacks_paths |= !paths.contains(&row.path_id);
            }
        }
    }
    for part in store.parts::<SpanRow>()? {
        damage.read::<SpanRow>(store, &part)?;
    }
    for part in store.parts::<CallRow>()? {
        damage.read::<CallRow>(store, &part)?;
    }
    for (id, run) in &runs {
        // In a damaged trace, `stats` also have calls with a lost enter.
        let is_sound = run.row.problems == 0 && run.row.lost_events == 0;
        let lacks_rows = run.row.calls != run.calls && (is_sound || run.calls == 0);
        if lacks_rows || run.lacks_paths {
            damage.runs.insert(*id, run.row.name.clone());
        }
        if damage.has(&Part::new::<SpanRow>(&run.part.partition, &run.part.name)) {
            damage.without_spans.insert(*id, run.row.name.clone());
        }
    }
    Ok(damage)
}

/// Takes the damaged files out, and the runs that need them. Returns what was taken out: these traces may be collected again.
///
/// # Errors
///
/// If files can't be read, written or deleted. Then it may be repeated.
pub fn repair(store: &Store) -> Result<Damage> {
    let _lock = store.lock()?;
    store.sweep()?;
    let mut damage = find_damage(store)?;
    damage.runs.append(&mut damage.without_spans);
    let gone: BTreeSet<i64> = damage.runs.keys().copied().collect();
    let mut by_part: BTreeMap<(Partition, String), Part> = BTreeMap::new();
    for part in store.parts::<RunRow>()? {
        if damage.has(&part) {
            continue;
        }
        let rows = store.try_read::<RunRow>(&part)?.unwrap_or_default();
        if rows.iter().any(|row| gone.contains(&row.run_id)) {
            by_part.insert((part.partition.clone(), part.name.clone()), part);
        }
    }
    for ((partition, name), part) in by_part {
        if run_of(&name).is_none() {
            keep_others(store, &part, &gone, &damage)?;
        }
        // First the row that makes the others valid.
        store.delete::<RunRow>(&partition, &name)?;
        store.delete::<StatRow>(&partition, &name)?;
        store.delete::<SpanRow>(&partition, &name)?;
        for run in gone.iter().filter(|run| run_of(&name).is_none_or(|(id, _)| id == **run)) {
            store.delete::<CallRow>(&partition, &calls_name(*run))?;
        }
    }
    for key in damage.files.keys() {
        store.delete_key(key)?;
    }
    Ok(damage)
}

/// Writes the rows of a joined file again, without those of some runs.
fn keep_others(store: &Store, part: &Part, gone: &BTreeSet<i64>, damage: &Damage) -> Result<()> {
    let rows = |rows: Vec<RunRow>| -> Vec<RunRow> {
        let kept = rows.into_iter().filter(|row| !gone.contains(&row.run_id));
        kept.map(|row| RunRow { generation: joined_generation(row.generation), ..row }).collect()
    };
    let runs = rows(store.try_read(part)?.unwrap_or_default());
    if runs.is_empty() {
        return Ok(());
    }
    let partition = &part.partition;
    let mut stats: Vec<StatRow> = Vec::new();
    let mut spans: Vec<SpanRow> = Vec::new();
    let of_stats = Part::new::<StatRow>(partition, &part.name);
    if store.has::<StatRow>(partition, &part.name) && !damage.has(&of_stats) {
        stats = store.try_read(&of_stats)?.unwrap_or_default();
    }
    let of_spans = Part::new::<SpanRow>(partition, &part.name);
    if store.has::<SpanRow>(partition, &part.name) && !damage.has(&of_spans) {
        spans = store.try_read(&of_spans)?.unwrap_or_default();
    }
    stats.retain(|row| !gone.contains(&row.run_id));
    spans.retain(|row| !gone.contains(&row.run_id));
    stats.iter_mut().for_each(|row| row.generation = joined_generation(row.generation));
    spans.iter_mut().for_each(|row| row.generation = joined_generation(row.generation));
    let named: String = runs.iter().map(|row| format!("{:x} {};", row.run_id, row.generation)).collect();
    let name = format!("c-{}", short_hash(named.as_bytes()));
    store.write(partition, &name, &stats)?;
    if !spans.is_empty() {
        store.write(partition, &name, &spans)?;
    }
    store.write(partition, &name, &runs)
}
