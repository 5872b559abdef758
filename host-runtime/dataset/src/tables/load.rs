//! Profiles of many runs, from the rows of a dataset.

use crate::tables::rows::{FunctionRow, PathRow, RunRow, StatRow};
use crate::tables::times::date_text;
use kperf_abi::symbols::ModuleIdentity;
use kperf_abi::{FuncId, FuncIndex, Symbol, SymbolTable};
use kperf_profile::{
    CallTree, HOST, Health, LOST, Node, NodeId, OTHER, Profile, RECORDER, SampledPlaces, Sampling, Symbols,
    TreePlaces, UNSEEN, WAITING, WAITING_FOR_PROCESSOR,
};
use kperf_trace::{ClockInfo, ClockKind, Header, HostInfo, Summary};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt;

/// Gathers the rows of the wanted runs: first the runs, then the figures of their paths, then these paths and the functions. Memory
/// grows with the runs and with the paths of all of them together; the paths have a limit.
#[derive(Debug, Default)]
pub struct Load {
    /// The generation that holds, and the place in `chosen`, of each run that is wanted.
    runs: FxHashMap<i64, (i32, usize)>,
    chosen: Vec<RunRow>,
    /// Whether there was nothing to choose from.
    is_empty: bool,
    functions: FxHashMap<i64, FuncId>,
    /// With the names of their modules.
    symbols: Vec<(String, Symbol)>,
    files: Vec<String>,
    by_file: FxHashMap<String, u32>,
    paths: FxHashMap<i64, PathRow>,
    sums: FxHashMap<(usize, i64), Sum>,
    /// The paths of the sums, and whether their rows were read.
    needed: FxHashMap<i64, bool>,
    /// How many calls the rows of each run have, by its place in `chosen`.
    calls: Vec<u64>,
    /// Whether each run has sums of its own.
    each: bool,
}

/// The figures of a path.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    calls: u64,
    self_nanos: u64,
    total_nanos: u64,
    min_nanos: u64,
    max_nanos: u64,
    unwound: u64,
    unfinished: u64,
}

/// Why no profile can be made of these runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// There is no run.
    Empty,
    /// No run is wanted.
    Nothing,
    /// The runs differ in this column, and their times can't be added up.
    Mixed {
        /// The column.
        column: &'static str,
        /// Two of its values.
        values: [String; 2],
    },
    /// There are more paths, or paths of runs, than are kept.
    TooMuch,
    /// Rows of a run are missing: of what its paths did, or of these paths.
    Missing {
        /// The run's name.
        run: String,
        /// How many of its calls are there.
        there: u64,
        /// How many it has.
        calls: u64,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Empty => f.write_str("the dataset has no runs; `kperf-wasm collect` adds some"),
            LoadError::Nothing => f.write_str("no run matches the condition"),
            LoadError::Mixed { column, values: [a, b] } => write!(
                f,
                "the runs differ in `{column}` ('{a}' and '{b}'), and their times mean different things; choose those with `{column} = '{a}'`"
            ),
            LoadError::TooMuch => {
                f.write_str("the runs have too many paths of calls to be kept; choose fewer runs")
            }
            LoadError::Missing { run, there, calls } if there != calls => write!(
                f,
                "rows of the run `{run}` are missing, or there too often: `stats` has {there} of its {calls} calls; delete the run's file \
                 in `runs`, and collect its trace again"
            ),
            LoadError::Missing { run, .. } => write!(
                f,
                "rows of the run `{run}` are missing: not all of its paths are in `paths`; delete the run's file in `runs`, and collect \
                 its trace again"
            ),
        }
    }
}

impl std::error::Error for LoadError {}

/// How many sums are kept, if each run has its own: some 300 MB.
const MAX_SUMS: usize = 1 << 22;
/// How many paths all runs have. One alone has fewer: a tree of [`MAX_PATHS`](kperf_profile::MAX_PATHS) and an `[other]` for each of them at most.
const MAX_PATHS: usize = 1 << 20;

impl Load {
    /// Nothing yet. With `each`, every run gets a profile of its own.
    pub fn new(each: bool) -> Load {
        Load { each, ..Load::default() }
    }

    /// Adds a run that is wanted. Of several rows of one run the last generation holds, and of equal ones the first.
    pub fn run(&mut self, run: RunRow) {
        match self.runs.get(&run.run_id).copied() {
            Some((generation, _)) if generation >= run.generation => {}
            Some((_, place)) => {
                self.runs.insert(run.run_id, (run.generation, place));
                if let Some(known) = self.chosen.get_mut(place) {
                    *known = run;
                }
            }
            None => {
                self.runs.insert(run.run_id, (run.generation, self.chosen.len()));
                self.chosen.push(run);
            }
        }
    }

    /// Keeps the wanted runs. Call it after all runs were added, as the last generation of a run counts.
    pub fn choose(&mut self, wanted: impl Fn(&RunRow) -> bool) {
        self.is_empty = self.chosen.is_empty();
        self.chosen.retain(|run| wanted(run));
        self.chosen.sort_by_key(|run| (run.start, run.run_id));
        let place = |(place, run): (usize, &RunRow)| (run.run_id, (run.generation, place));
        self.runs = self.chosen.iter().enumerate().map(place).collect();
        self.calls = vec![0; self.chosen.len()];
    }

    /// The runs that are wanted.
    pub fn runs(&self) -> &[RunRow] {
        &self.chosen
    }

    /// Adds a function.
    pub fn function(&mut self, row: FunctionRow) {
        if self.functions.contains_key(&row.function_id) {
            return;
        }
        let special = [
            ("[host]", HOST),
            ("[lost]", LOST),
            ("[unseen]", UNSEEN),
            ("[other]", OTHER),
            ("[recorder]", RECORDER),
            ("[waiting for a processor]", WAITING_FOR_PROCESSOR),
            ("[waiting]", WAITING),
        ];
        let special = special.into_iter().find(|(name, _)| *name == row.name && row.module.is_empty());
        if let Some((_, func)) = special {
            self.functions.insert(row.function_id, func);
            return;
        }
        let number = self.symbols.len() as u32;
        let next = self.files.len() as u32;
        let source = row.file.map(|file| {
            let number = *self.by_file.entry(file.clone()).or_insert(next);
            if number == next {
                self.files.push(file);
            }
            let line = row.line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
            kperf_abi::Source { file: number, line }
        });
        let symbol = Symbol {
            id: FuncId(number),
            func_index: FuncIndex(number),
            name: row.name.into(),
            imported: row.imported,
            counted: row.counted,
            source,
            ..Symbol::default()
        };
        self.symbols.push((row.module, symbol));
        self.functions.insert(row.function_id, FuncId(number));
    }

    /// Adds a path, if a run that is wanted has it.
    pub fn path(&mut self, row: PathRow) {
        if let Some(is_loaded) = self.needed.get_mut(&row.path_id) {
            *is_loaded = true;
            self.paths.insert(row.path_id, row);
        }
    }

    /// Adds what a path did, if its run is wanted. Fails if there is too much.
    pub fn stat(&mut self, row: &StatRow) -> Result<(), LoadError> {
        let Some(&(generation, place)) = self.runs.get(&row.run_id) else { return Ok(()) };
        if generation != row.generation {
            return Ok(());
        }
        if let Some(calls) = self.calls.get_mut(place) {
            *calls = calls.saturating_add(row.calls);
        }
        self.needed.entry(row.path_id).or_insert(false);
        if self.needed.len() > MAX_PATHS {
            return Err(LoadError::TooMuch);
        }
        let place = if self.each { place } else { 0 };
        let sum =
            self.sums.entry((place, row.path_id)).or_insert(Sum { min_nanos: u64::MAX, ..Sum::default() });
        for (sum, more) in [
            (&mut sum.calls, row.calls),
            (&mut sum.self_nanos, row.self_nanos),
            (&mut sum.total_nanos, row.total_nanos),
            (&mut sum.unwound, row.unwound),
            (&mut sum.unfinished, row.unfinished),
        ] {
            *sum = sum.saturating_add(more);
        }
        sum.min_nanos = sum.min_nanos.min(row.min_nanos);
        sum.max_nanos = sum.max_nanos.max(row.max_nanos);
        if self.sums.len() > MAX_SUMS { Err(LoadError::TooMuch) } else { Ok(()) }
    }

    /// Whether the runs' times can be added up.
    ///
    /// # Errors
    ///
    /// If there are no runs, or if they differ in a column that can't be mixed.
    pub fn check(&self) -> Result<(), LoadError> {
        let nothing = if self.is_empty { LoadError::Empty } else { LoadError::Nothing };
        let first = self.chosen.first().ok_or(nothing)?;
        type Column = (&'static str, fn(&RunRow) -> &str);
        let columns: [Column; 3] =
            [("unit", |run| &run.unit), ("kind", |run| &run.kind), ("clock", |run| &run.clock)];
        for (column, value) in columns {
            if let Some(other) = self.chosen.iter().find(|run| value(run) != value(first)) {
                return Err(LoadError::Mixed {
                    column,
                    values: [first, other].map(|run| value(run).to_owned()),
                });
            }
        }
        Ok(())
    }

    /// The profiles: one of all runs, or one of each.
    ///
    /// # Errors
    ///
    /// If rows of a run are missing: in a dataset that was copied in part.
    pub fn finish(self) -> Result<Vec<Profile>, LoadError> {
        self.check_rows()?;
        let Load { chosen, functions, symbols, files, paths, sums, each, .. } = self;
        let mut by_place: Vec<Vec<(PathRow, Sum)>> = Vec::new();
        by_place.resize_with(if each { chosen.len() } else { 1 }, Vec::new);
        // Parents come before their children; equal depths have the order of their ids.
        let mut needed: Vec<((usize, i64), Sum)> = sums.into_iter().collect();
        needed.sort_by_key(|((place, path), _)| {
            (*place, paths.get(path).map_or((i32::MAX, *path), |row| (row.depth, *path)))
        });
        for ((place, path), sum) in needed {
            let row = paths.get(&path).copied().unwrap_or(PathRow { path_id: path, ..PathRow::default() });
            if let Some(rows) = by_place.get_mut(place) {
                rows.push((row, sum));
            }
        }
        let (names, ids) = tables_of(&chosen, symbols, &files);
        let functions: FxHashMap<i64, FuncId> = functions
            .into_iter()
            .map(|(id, func)| (id, ids.get(func.0 as usize).copied().unwrap_or(func)))
            .collect();
        let profile = |(place, rows): (usize, Vec<(PathRow, Sum)>)| {
            let runs = if each { chosen.get(place..=place) } else { Some(&chosen[..]) };
            let runs = runs.unwrap_or_default();
            let is_sampled = runs.first().is_some_and(is_sampled);
            profile_of(runs, names.clone(), tree_of(&rows, &functions, is_sampled))
        };
        Ok(by_place.into_iter().enumerate().map(profile).collect())
    }

    fn check_rows(&self) -> Result<(), LoadError> {
        let missing =
            |run: &RunRow, there| LoadError::Missing { run: run.name.clone(), there, calls: run.calls };
        for (run, there) in self.chosen.iter().zip(&self.calls) {
            // In a damaged trace, `stats` also have calls with a lost enter.
            let is_sound = run.problems == 0 && run.lost_events == 0;
            if run.calls != *there && (is_sound || *there == 0) {
                return Err(missing(run, *there));
            }
        }
        match self.chosen.first() {
            Some(run) if self.needed.values().any(|is_loaded| !is_loaded) => Err(missing(run, run.calls)),
            _ => Ok(()),
        }
    }
}

/// A symbol table for each module, the first run's module first; and the new ids of functions, by the old ones.
fn tables_of(runs: &[RunRow], symbols: Vec<(String, Symbol)>, files: &[String]) -> (Symbols, Vec<FuncId>) {
    let first = runs.first().map(|run| (run.module.as_str(), run.module_sha256.as_str())).unwrap_or_default();
    let mut by_module: BTreeMap<(bool, String), Vec<Symbol>> = BTreeMap::new();
    for (module, symbol) in symbols {
        by_module.entry((module != first.0, module)).or_default().push(symbol);
    }
    let mut ids = vec![FuncId(0); by_module.values().map(Vec::len).sum()];
    let (mut names, mut id_base) = (Symbols::default(), 0);
    for ((is_other, name), mut symbols) in by_module {
        for (id, symbol) in (id_base..).zip(&mut symbols) {
            if let Some(known) = ids.get_mut(symbol.id.0 as usize) {
                *known = FuncId(id);
            }
            symbol.id = FuncId(id);
        }
        let sha256 = if is_other { String::new() } else { first.1.to_owned() };
        let module = ModuleIdentity { name, sha256, ..ModuleIdentity::default() };
        let next = id_base + symbols.len() as u32;
        names.add(SymbolTable { module, id_base, symbols, files: files.to_vec(), ..SymbolTable::default() });
        id_base = next;
    }
    (names, ids)
}

/// Whether a run was sampled.
fn is_sampled(run: &RunRow) -> bool {
    run.kind == "profile"
}

fn tree_of(rows: &[(PathRow, Sum)], functions: &FxHashMap<i64, FuncId>, is_sampled: bool) -> CallTree {
    let mut nodes = vec![Node::new(CallTree::ROOT, HOST)];
    let mut places: FxHashMap<i64, NodeId> = FxHashMap::default();
    for (row, sum) in rows {
        let parent = places.get(&row.parent_id).copied().unwrap_or(CallTree::ROOT);
        let func = functions.get(&row.function_id).copied().unwrap_or(LOST);
        places.insert(row.path_id, NodeId(nodes.len() as u32));
        // Samples show no single call. Rows have the means of windows.
        let mean = sum.total_nanos.checked_div(sum.calls).unwrap_or(0);
        let (min_ticks, max_ticks) = if is_sampled { (mean, mean) } else { (sum.min_nanos, sum.max_nanos) };
        nodes.push(Node {
            calls: sum.calls,
            total_ticks: sum.total_nanos,
            self_ticks: sum.self_nanos,
            min_ticks,
            max_ticks,
            unwound: u32::try_from(sum.unwound).unwrap_or(u32::MAX),
            unfinished: u32::try_from(sum.unfinished).unwrap_or(u32::MAX),
            ..Node::new(parent, func)
        });
    }
    CallTree::new(nodes)
}

fn profile_of(runs: &[RunRow], symbols: Symbols, tree: CallTree) -> Profile {
    let first = runs.first().cloned().unwrap_or_default();
    let sum = |value: fn(&RunRow) -> u64| runs.iter().fold(0u64, |sum, run| sum.saturating_add(value(run)));
    let (kind, resolution) = match first.clock.as_str() {
        "ticker" => (ClockKind::Ticker, first.resolution_nanos),
        "instructions" => (ClockKind::Instructions, 1.0),
        _ => (ClockKind::Precise, first.resolution_nanos),
    };
    let (name, version) = first.runtime.split_once(' ').unwrap_or((&first.runtime, ""));
    let host = HostInfo {
        name: name.to_owned(),
        version: version.to_owned(),
        os: first.os.clone(),
        arch: first.arch.clone(),
        ..HostInfo::default()
    };
    let clock = ClockInfo {
        kind,
        source: first.clock_source.clone(),
        resolution_nanos: resolution,
        ..ClockInfo::default()
    };
    let cut_off = runs.iter().filter(|run| !run.complete).count();
    let last = runs.last().map_or(0, |run| run.start);
    let [from, to] = [first.start, last].map(|start| date_text(start.div_euclid(86_400_000_000)));
    let outcome = match runs.len() {
        1 => first.outcome.clone(),
        runs => format!("the sum of {runs} runs, {from} to {to}"),
    };
    let mut notes = Vec::new();
    if cut_off > 0 {
        notes.push(format!("{cut_off} of the runs were cut off"));
    }
    type Doubt = (fn(&RunRow) -> u64, &'static str);
    let doubts: [Doubt; 3] = [
        (
            |run| run.problems,
            "have traces that are damaged or don't fit together (`problems > 0`): figures may be too small",
        ),
        // Short ones are everywhere.
        (
            |run| run.stall_nanos / (run.duration_nanos / 100).max(1),
            "had a clock that stood still (`stall_nanos`): times are coarse there",
        ),
        (
            |run| run.uncounted_durations,
            "have more durations than histograms keep (`uncounted_durations > 0`)",
        ),
    ];
    for (count, what) in doubts {
        let doubtful = runs.iter().filter(|run| count(run) > 0).count();
        if doubtful > 0 {
            notes.push(format!("{doubtful} of the runs {what}"));
        }
    }
    let sampling = is_sampled(&first).then(|| sampling_of(runs));
    let dropped_events = sum(|run| run.lost_events);
    let calls = tree.iter().fold(0u64, |sum, (_, node)| sum.saturating_add(node.calls));
    let summary = Summary { outcome, dropped_events, notes, ..Summary::default() };
    Profile {
        header: Header { clock, host, command: Vec::new(), ..Header::default() },
        symbols,
        tree,
        lanes: Vec::new(),
        health: Health { summary: Some(summary), sampling, ..Health::default() },
        bytes: sum(|run| run.trace_bytes),
        start_ticks: 0,
        end_ticks: sum(|run| run.duration_nanos),
        counted_calls: calls,
        hidden_calls: 0,
        windows: Vec::new(),
        links: Vec::new(),
        places: SampledPlaces::default(),
        tree_places: TreePlaces::default(),
    }
}

/// The samples of all runs together. Each run has its number of effective samples, which is all that errors need.
fn sampling_of(runs: &[RunRow]) -> Sampling {
    let mut all = Sampling::default();
    let (mut samples, mut nanos) = (0.0, 0);
    for run in runs {
        let (busy, worth) = (run.self_nanos as f64, run.effective_samples.unwrap_or(0.0));
        all.windows = all.windows.saturating_add(run.windows);
        all.max_windows = all.max_windows.max(run.windows);
        all.busy_ticks = all.busy_ticks.saturating_add(run.self_nanos);
        all.idle_ticks = all.idle_ticks.saturating_add(run.duration_nanos.saturating_sub(run.self_nanos));
        if worth > 0.0 {
            all.squares += busy * busy / worth;
            samples += worth;
            nanos += run.self_nanos;
        }
    }
    all.samples = samples.round() as u64;
    all.period_nanos = nanos.checked_div(all.samples).unwrap_or(0);
    all
}
