//! The rows of one trace.

use crate::tables::buckets::PathBuckets;
use crate::tables::ids::{function_id, path_id};
use crate::tables::rows::{FunctionRow, PathRow, RunRow, SpanRow, StatRow};
use kperf_abi::FuncId;
use kperf_profile::{
    Call, CallFilter, CallObserver, CallTree, NodeId, Profile, Symbols, Unit, WindowChoice, is_outside,
    is_pause,
};
use kperf_trace::{AnomalyKind, ClockKind, Header, TraceReader};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{self, ErrorKind, Read};

/// Values of the rows that are not in the trace.
#[derive(Clone, Debug)]
pub struct RowOptions {
    /// The run's id: [`run_id`](crate::run_id) or [`named_run_id`](crate::named_run_id).
    pub run_id: i64,
    /// Which rows of the run hold: those with the highest number.
    pub generation: i32,
    /// A name for people.
    pub name: String,
    /// The version of the service; the beginning of the module's hash if there is none.
    pub version: Option<String>,
    /// The machine's name; empty if it isn't known.
    pub host: String,
    /// More about the run, as a JSON object.
    pub attributes: String,
    /// Calls that took at least this many nanoseconds get a row of their own.
    pub span_min_nanos: u64,
    /// How many of these there are at most: the longest.
    pub max_spans: usize,
}

/// The rows of a run. Each table is sorted as DATASET.md says.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// The run.
    pub run: RunRow,
    /// Its functions.
    pub functions: Vec<FunctionRow>,
    /// Its paths.
    pub paths: Vec<PathRow>,
    /// The figures of the paths.
    pub stats: Vec<StatRow>,
    /// Its slow calls.
    pub spans: Vec<SpanRow>,
    /// Reasons why the figures may be wrong. Each is a sentence without its full stop.
    pub warnings: Vec<String>,
    /// The name of the first module; empty if there is none.
    pub module: String,
}

/// Reads a trace to its end and makes its rows. Fails only where reading does.
pub fn collect<R: Read>(
    reader: TraceReader<R>,
    options: &RowOptions,
    progress: impl FnMut(u64),
) -> io::Result<Collected> {
    let header = reader.header().clone();
    let watch = Watch {
        header,
        min_nanos: options.span_min_nanos,
        max_slow: options.max_spans,
        buckets: PathBuckets::default(),
        slow: BinaryHeap::new(),
    };
    let filter = CallFilter { windows: WindowChoice::Each, ..CallFilter::default() };
    let (profile, watch) = Profile::read_observed(reader, watch, Some(&filter), progress)?;
    if profile.health.anomalies.iter().any(|anomaly| anomaly.kind == AnomalyKind::NoHeader) {
        let what = "its header can't be read, so its run and the unit of its times are unknown; `kperf-wasm report` shows it";
        return Err(io::Error::new(ErrorKind::InvalidData, what));
    }
    let mut rows = Rows::new(&profile, options);
    if profile.sampling().is_none() {
        rows.add(&profile.tree, 0, Some(&watch.buckets));
    } else if profile.health.over_limit.windows > 0 || profile.windows.is_empty() || profile.runs().is_some()
    {
        // Of a program that ran several times: the means.
        rows.add(&profile.tree, 0, None);
    } else {
        for window in &profile.windows {
            rows.add(&window.tree, window.number, None);
        }
    }
    rows.spans(watch.slow, profile.sampling().is_none());
    let mut collected = rows.finish();
    collected.run = run(&profile, options, watch.buckets.left_out);
    collected.module.clone_from(&collected.run.module);
    collected.warnings = profile.health.warnings();
    if profile.symbols.tables().iter().any(|table| table.module.allocations.is_some()) {
        let what = "the dataset keeps its calls, not what was allocated; `report --by allocations` shows that of the trace";
        collected.warnings.push(what.to_owned());
    }
    Ok(collected)
}

fn run(profile: &Profile, options: &RowOptions, uncounted_durations: u64) -> RunRow {
    let Profile { header, health, symbols, tree, .. } = profile;
    let module = symbols.tables().first().map(|table| &table.module);
    let sha256 = module.map(|module| module.sha256.clone()).unwrap_or_default();
    let short = sha256.get(..12).unwrap_or(&sha256).to_owned();
    let stalls = health.stalls.ticker.nanos.saturating_add(health.stalls.writer.nanos);
    let unit = Unit::of(header);
    let clock = match header.clock.kind {
        ClockKind::Precise => "precise",
        ClockKind::Ticker => "ticker",
        ClockKind::Instructions => "instructions",
    };
    RunRow {
        run_id: options.run_id,
        generation: options.generation,
        name: options.name.clone(),
        start: micros(header.unix_nanos(profile.start_ticks)),
        duration_nanos: profile.wall_nanos(),
        version: options.version.clone().unwrap_or(short),
        module: module.map(|module| module.name.clone()).unwrap_or_default(),
        module_sha256: sha256,
        host: options.host.clone(),
        runtime: [&*header.host.name, &*header.host.version].join(" ").trim().to_owned(),
        os: header.host.os.clone(),
        arch: header.host.arch.clone(),
        command: header.command.join(" "),
        kind: if profile.sampling().is_some() { "profile" } else { "events" }.into(),
        clock: clock.into(),
        clock_source: header.clock.source.clone(),
        unit: if unit == Unit::Time { "ns" } else { "instructions" }.into(),
        resolution_nanos: header.clock.resolution_nanos,
        outcome: health.outcome().unwrap_or_default().to_owned(),
        complete: health.summary.is_some(),
        calls: profile.calls(),
        self_nanos: header.nanos(tree.total_ticks()),
        cpu_nanos: health.summary.as_ref().and_then(|summary| i64::try_from(summary.cpu_nanos?).ok()),
        lost_events: health.lost_events(),
        problems: health.anomalies.len() as u64 + health.problems.count(),
        stall_nanos: stalls,
        windows: profile.sampling().map_or(0, |sampling| sampling.windows),
        effective_samples: profile
            .sampling()
            .filter(|sampling| !sampling.is_counted())
            .map(|sampling| sampling.effective_samples()),
        probe_nanos: header.probe_cost.map(|cost| cost.inside_nanos + cost.outside_nanos),
        uncounted_durations,
        trace_bytes: profile.bytes,
        attributes: options.attributes.clone(),
        kperf_version: env!("CARGO_PKG_VERSION").into(),
    }
}

fn micros(unix_nanos: u64) -> i64 {
    // A u64 of nanoseconds has room in an i64 of microseconds.
    (unix_nanos / 1000).cast_signed()
}

/// Sees each call.
struct Watch {
    header: Header,
    min_nanos: u64,
    max_slow: usize,
    buckets: PathBuckets,
    /// The slowest calls, the shortest of them first.
    slow: BinaryHeap<Reverse<Slow>>,
}

/// A slow call. Longer ones are greater, then earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Slow {
    nanos: u64,
    earlier: Reverse<u64>,
    recorder: u32,
    stack: u32,
    depth: usize,
    func: u32,
    node: Option<NodeId>,
    ending: &'static str,
}

impl CallObserver for Watch {
    #[inline]
    fn call(&mut self, call: &Call) {
        if is_pause(call.func) {
            return;
        }
        let nanos = self.header.nanos(call.ticks());
        if !call.is_shared {
            self.buckets.add(call.node, nanos);
        }
        if nanos < self.min_nanos {
            return;
        }
        let slow = Slow {
            nanos,
            earlier: Reverse(call.start_ticks),
            recorder: call.lane.recorder,
            stack: call.lane.stack,
            depth: call.depth,
            func: call.func.0,
            node: (!call.is_shared).then_some(call.node),
            ending: call.ending.as_str().unwrap_or("leave"),
        };
        self.slow.push(Reverse(slow));
        if self.slow.len() > self.max_slow {
            self.slow.pop();
        }
    }
}

/// The rows that grow.
struct Rows<'a> {
    profile: &'a Profile,
    options: &'a RowOptions,
    functions: FxHashMap<FuncId, i64>,
    paths: FxHashMap<i64, PathRow>,
    stats: BTreeMap<(i64, i64, u64), Sum>,
    /// The paths of the nodes of the tree that was added last.
    of_nodes: Vec<i64>,
    spans: Vec<SpanRow>,
}

/// The sums of nodes with the same path.
#[derive(Default)]
struct Sum {
    row: StatRow,
    counts: BTreeMap<i32, u64>,
}

impl<'a> Rows<'a> {
    fn new(profile: &'a Profile, options: &'a RowOptions) -> Rows<'a> {
        Rows {
            profile,
            options,
            functions: FxHashMap::default(),
            paths: FxHashMap::default(),
            stats: BTreeMap::new(),
            of_nodes: Vec::new(),
            spans: Vec::new(),
        }
    }

    fn function(&mut self, func: FuncId) -> i64 {
        let symbols: &Symbols = &self.profile.symbols;
        *self.functions.entry(func).or_insert_with(|| function_id(&symbols.name(func)))
    }

    fn add(&mut self, tree: &CallTree, window: u64, buckets: Option<&PathBuckets>) {
        self.of_nodes = vec![0; tree.nodes().len()];
        let mut depths = vec![0i32; tree.nodes().len()];
        for (id, node) in tree.iter() {
            let function_id = self.function(node.func);
            let parent_id = self.of_nodes.get(node.parent.index()).copied().unwrap_or(0);
            let path_id = path_id(parent_id, function_id);
            let depth = if parent_id == 0 { 0 } else { depths[node.parent.index()].saturating_add(1) };
            (self.of_nodes[id.index()], depths[id.index()]) = (path_id, depth);
            let path = PathRow { path_id, parent_id, function_id, depth, outermost: true };
            self.paths.entry(path_id).or_insert(path);
        }
        // How many calls of a function are open around a node.
        let mut open: FxHashMap<i64, u32> = FxHashMap::default();
        let of_nodes = std::mem::take(&mut self.of_nodes);
        let header = &self.profile.header;
        tree.walk(|id, entered| {
            let (Some(node), Some(&path_id)) = (tree.get(id), of_nodes.get(id.index())) else { return };
            let function_id = self.functions.get(&node.func).copied().unwrap_or(0);
            let around = open.entry(function_id).or_default();
            if !entered {
                *around -= 1;
                return;
            }
            let outermost = *around == 0;
            *around += 1;
            if !outermost && let Some(path) = self.paths.get_mut(&path_id) {
                path.outermost = false;
            }
            let Sum { row, counts } = self.stats.entry((function_id, path_id, window)).or_default();
            let is_first = row.path_id == 0;
            row.path_id = path_id;
            row.function_id = function_id;
            row.outermost = outermost;
            row.calls = row.calls.saturating_add(node.calls);
            row.self_nanos = row.self_nanos.saturating_add(header.nanos(node.self_ticks));
            row.total_nanos = row.total_nanos.saturating_add(header.nanos(node.total_ticks));
            if !is_outside(node.func) {
                let min_nanos = header.nanos(node.min_ticks.min(node.max_ticks));
                row.min_nanos = if is_first { min_nanos } else { row.min_nanos.min(min_nanos) };
                row.max_nanos = row.max_nanos.max(header.nanos(node.max_ticks));
            }
            row.unwound += u64::from(node.unwound);
            row.unfinished += u64::from(node.unfinished);
            // How long counted calls took is unknown.
            let buckets = buckets.filter(|_| !self.profile.symbols.is_counted(node.func));
            for (bucket, count) in buckets.into_iter().flat_map(|buckets| buckets.of(id)) {
                *counts.entry(bucket).or_default() += count;
            }
        });
        self.of_nodes = of_nodes;
    }

    /// Adds the slow calls. `in_tree`: whether their nodes are of the tree that was added last.
    fn spans(&mut self, slow: BinaryHeap<Reverse<Slow>>, in_tree: bool) {
        for Reverse(slow) in slow {
            let function_id = self.function(FuncId(slow.func));
            let lane = kperf_trace::LaneId { recorder: slow.recorder, stack: slow.stack };
            let path_id = slow.node.filter(|_| in_tree).and_then(|node| self.of_nodes.get(node.index()));
            self.spans.push(SpanRow {
                run_id: self.options.run_id,
                generation: self.options.generation,
                function_id,
                path_id: path_id.copied(),
                lane: lane.to_string(),
                depth: i32::try_from(slow.depth).unwrap_or(i32::MAX),
                start: micros(self.profile.header.unix_nanos(slow.earlier.0)),
                duration_nanos: slow.nanos,
                ending: slow.ending.to_owned(),
            });
        }
        self.spans.sort_by(|a, b| {
            let key = |row: &SpanRow| (row.function_id, row.start, row.depth);
            key(a).cmp(&key(b)).then_with(|| a.lane.cmp(&b.lane))
        });
    }

    fn finish(self) -> Collected {
        let Rows { profile, options, functions, paths, stats, spans, .. } = self;
        let symbols = &profile.symbols;
        let mut by_id: BTreeMap<i64, FunctionRow> = BTreeMap::new();
        let mut ids: Vec<(FuncId, i64)> = functions.into_iter().collect();
        ids.sort();
        for (func, function_id) in ids {
            let table = symbols.tables().iter().find(|table| table.get(func).is_some());
            let symbol = symbols.get(func);
            let source = symbols.source(func);
            by_id.entry(function_id).or_insert_with(|| FunctionRow {
                function_id,
                name: symbols.name(func).into_owned(),
                module: table.map(|table| table.module.name.clone()).unwrap_or_default(),
                file: source.map(|(file, _)| file.to_owned()),
                line: source.map(|(_, line)| i64::from(line)).filter(|line| *line > 0),
                imported: symbol.is_some_and(|symbol| symbol.imported),
                counted: symbol.is_some_and(|symbol| symbol.counted),
            });
        }
        let mut paths: Vec<PathRow> = paths.into_values().collect();
        paths.sort_by_key(|path| (path.depth, path.path_id));
        let stats = stats.into_iter().map(|((_, _, window), Sum { row, counts })| StatRow {
            run_id: options.run_id,
            generation: options.generation,
            window: i64::try_from(window).unwrap_or(i64::MAX),
            buckets: counts.keys().copied().collect(),
            counts: counts.values().map(|&count| i64::try_from(count).unwrap_or(i64::MAX)).collect(),
            ..row
        });
        Collected {
            functions: by_id.into_values().collect(),
            paths,
            stats: stats.collect(),
            spans,
            ..Collected::default()
        }
    }
}
