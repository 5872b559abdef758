//! Reads datasets for the commands that read traces.

use crate::shared::flags::filters::CallSelection;
use crate::shared::output;
use crate::shared::table::plural;
use anyhow::{Context, bail};
use kperf_dataset::{
    Choice, Damage, FunctionRow, Load, Part, Partition, PathRow, RunRow, StatRow, Store, find_damage,
    is_dataset,
};
use kperf_profile::{CallFilter, Profile};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

/// Which runs of a dataset.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Datasets")]
pub struct WhereArgs {
    /// The runs of a dataset to add up, by columns of its table `runs`: `"version = 'b' and calls > 1000"`. Operators are =, !=, <,
    /// <=, >, >=, `and`, `or`; texts are in single quotes.
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
}

impl WhereArgs {
    /// Fails if the path is a dataset: the flag is for traces.
    pub fn refuse(&self, path: &Path, flag: &str) -> anyhow::Result<()> {
        if is_dataset(path) {
            bail!(
                "{flag} needs a trace, and `{}` is a dataset; its views answer more (`kperf-wasm collect -o {} --sql`)",
                path.display(),
                path.display()
            );
        }
        Ok(())
    }

    /// The title of a picture of these runs.
    pub fn title(&self, dataset: &str) -> String {
        match &self.condition {
            Some(condition) => format!("{dataset} where {condition}"),
            None => dataset.to_owned(),
        }
    }

    /// The profile of a dataset's runs, if the path is one; `None` for a trace. Fails if --where is given for a trace.
    pub fn profile(&self, path: &Path, calls: &CallSelection<'_>) -> anyhow::Result<Option<Profile>> {
        if !is_dataset(path) {
            if self.condition.is_some() {
                bail!(
                    "--where chooses runs of a dataset, and `{}` is not one; `kperf-wasm collect` makes one",
                    path.display()
                );
            }
            return Ok(None);
        }
        let mut profiles = profiles(path, self.condition.as_deref(), false, calls)?;
        Ok(profiles.pop())
    }
}

/// The profiles of a dataset's runs: of all together, or of each.
pub fn profiles(
    path: &Path,
    condition: Option<&str>,
    each: bool,
    calls: &CallSelection<'_>,
) -> anyhow::Result<Vec<Profile>> {
    if let Some(flag) = calls.of_single_calls() {
        bail!("a dataset has sums of calls; remove {flag}");
    }
    let choice = match condition {
        Some(text) => Choice::parse(text).with_context(|| format!("failed to read --where `{text}`"))?,
        None => Choice::default(),
    };
    let store = Store::open(path)?;
    // While files are joined, rows move to new files, and old files are deleted.
    let files = || -> anyhow::Result<HashSet<String>> {
        let mut parts = store.parts::<RunRow>()?;
        parts.extend(store.parts::<StatRow>()?);
        parts.extend(store.parts::<PathRow>()?);
        parts.extend(store.parts::<FunctionRow>()?);
        Ok(parts.into_iter().map(|part| part.key).collect())
    };
    let mut before = files()?;
    let mut profiles = profiles_once(&store, &choice, each, calls, &Damage::default());
    for _ in 0..TRIES {
        let after = files()?;
        if before.is_subset(&after) {
            break;
        }
        before = after;
        profiles = profiles_once(&store, &choice, each, calls, &Damage::default());
    }
    let error = match profiles {
        Ok(profiles) => return Ok(profiles),
        Err(error) => error,
    };
    let damage = find_damage(&store)?;
    if damage.files.is_empty() {
        return Err(error);
    }
    warn_of(&store, &damage);
    profiles_once(&store, &choice, each, calls, &damage)
}

/// Warns of the files and runs that are left out.
fn warn_of(store: &Store, damage: &Damage) {
    for (file, why) in &damage.files {
        output::warn(format_args!("`{}` is damaged: {why}", store.root().join(file).display()));
    }
    let (files, runs) =
        (plural(damage.files.len() as u64, "damaged file"), plural(damage.runs.len() as u64, "run"));
    output::warn(format_args!(
        "without {files}, and without {runs} that can't be read without them{}; `kperf-wasm collect --repair -o {}` takes them out",
        names_of(damage),
        store.root().display()
    ));
}

/// The first names of the runs that aren't whole, after a colon.
pub fn names_of(damage: &Damage) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> = damage
        .runs
        .values()
        .take(SHOWN)
        .map(|name| format!("`{}`", kperf_profile::printable(name)))
        .collect();
    match damage.runs.len().saturating_sub(SHOWN) {
        _ if names.is_empty() => String::new(),
        0 => format!(": {}", names.join(", ")),
        more => format!(": {} and {more} more", names.join(", ")),
    }
}

/// How often a dataset is read again if it changes meanwhile.
const TRIES: usize = 10;

fn profiles_once(
    store: &Store,
    choice: &Choice,
    each: bool,
    calls: &CallSelection<'_>,
    damage: &Damage,
) -> anyhow::Result<Vec<Profile>> {
    let failed = || format!("failed to read the dataset `{}`", store.root().display());
    let mut load = Load::new(each);
    let mut places: HashMap<i64, (i32, Partition)> = HashMap::new();
    for part in store.parts::<RunRow>()?.into_iter().filter(|part| !damage.has(part)) {
        store.read(&part, |row: RunRow| {
            if damage.runs.contains_key(&row.run_id) {
                return Ok(());
            }
            // Of equal generations the first one counts: two processes may have collected a run for different services.
            if places.get(&row.run_id).is_none_or(|(generation, _)| *generation < row.generation) {
                places.insert(row.run_id, (row.generation, part.partition.clone()));
                load.run(row);
            }
            Ok(())
        })?;
    }
    load.choose(|run| {
        let place = places.get(&run.run_id);
        let (service, day) = place.map_or(("", ""), |(_, place)| (&place.service, &place.day));
        choice.has(run, service, day)
    });
    load.check().with_context(failed)?;
    let wanted: HashSet<Partition> = load
        .runs()
        .iter()
        .filter_map(|run| places.get(&run.run_id))
        .map(|(_, partition)| partition.clone())
        .collect();
    let is_wanted = |part: &Part| wanted.contains(&part.partition) && !damage.has(part);
    for part in store.parts::<StatRow>()?.iter().filter(|part| is_wanted(part)) {
        store.read(part, |row: StatRow| {
            let holds = places.get(&row.run_id).is_some_and(|(_, place)| *place == part.partition);
            if holds { load.stat(&row).map_err(io::Error::other) } else { Ok(()) }
        })?;
    }
    for part in store.parts::<PathRow>()?.iter().filter(|part| is_wanted(part)) {
        store.read(part, |row: PathRow| {
            load.path(row);
            Ok(())
        })?;
    }
    for part in store.parts::<FunctionRow>()?.iter().filter(|part| is_wanted(part)) {
        store.read(part, |row: FunctionRow| {
            load.function(row);
            Ok(())
        })?;
    }
    let profiles = load.finish().with_context(failed)?;
    if calls.are_all() {
        return Ok(profiles);
    }
    let filtered: Vec<Profile> = profiles
        .into_iter()
        .map(|profile| calls.with(|filter: &CallFilter<'_>| profile.filtered(filter)))
        .collect();
    if let Some(profile) = filtered.first().filter(|_| !each) {
        calls.check(&profile.symbols, &profile.health, &profile.lanes)?;
    }
    Ok(filtered)
}

/// A dataset, and the condition of its runs.
type Chosen<'a> = (&'a Path, Option<&'a str>);

/// The two sides that `diff` compares, if the first path is a dataset: the conditions of both.
pub fn sides<'a>(
    paths: (&'a [PathBuf], &'a [PathBuf]),
    conditions: &'a [String],
) -> anyhow::Result<Option<[Chosen<'a>; 2]>> {
    let is_one = |paths: &[PathBuf]| paths.iter().any(|path| is_dataset(path));
    let any = is_one(paths.0) || is_one(paths.1);
    let one = |paths: &'a [PathBuf]| match paths {
        [path] if is_dataset(path) => Ok(path.as_path()),
        _ => {
            bail!(
                "a dataset can only be compared with a dataset, itself or another; `collect` the traces first"
            )
        }
    };
    if !any {
        if conditions.is_empty() {
            return Ok(None);
        }
        bail!("--where chooses runs of a dataset, and no dataset is given; `kperf-wasm collect` makes one");
    }
    let (before, after) = (one(paths.0)?, one(paths.1)?);
    match conditions {
        [] if before != after => Ok(Some([(before, None), (after, None)])),
        [a, b] => Ok(Some([(before, Some(a)), (after, Some(b))])),
        _ => bail!(
            "give --where twice, for the runs before and for those after: --where \"version = 'a'\" --where \"version = 'b'\""
        ),
    }
}
