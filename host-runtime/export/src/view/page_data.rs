//! The page's JSON: the trace, its functions, edges and lanes.

use kperf_abi::FuncId;
use kperf_profile::{
    Accuracy, Arc, CallGraph, CallPlaces, CallTree, FlatProfile, HOST, Heap, LeftOut, Level, Node, OTHER,
    PAUSES, Precision, Profile, Sampling, Timeline, UNSEEN, Unit, is_pause, printable, times_text,
};
use kperf_trace::{ClockInfo, ClockKind, Header, HostInfo};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use std::collections::BTreeMap;

/// The section `profile`. Functions are numbered from 0 in the order of their self times; vectors of functions, edges and
/// lanes are columns.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageData<'a> {
    title: &'a str,
    version: &'static str,
    command: String,
    host: &'a HostInfo,
    clock: &'a ClockInfo,
    outcome: Option<&'a str>,
    began_unix_nanos: String,
    nanos_per_tick: f64,
    wall_nanos: u64,
    wall_ticks: u64,
    /// Sum of all self times: shares are of it.
    self_nanos: f64,
    /// What errors are made of; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    precision: Option<Precision>,
    /// How many runs the figures are means of, if the program ran several times.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<usize>,
    calls: u64,
    warnings: Vec<String>,
    /// Notes about omitted calls and about the precision of figures.
    notes: Vec<Note>,
    modules: Vec<String>,
    /// Places in the source as text; the first is empty.
    places: Vec<String>,
    functions: Functions,
    edges: Edges,
    lanes: Vec<Lane>,
    /// None of a profile that has no single calls: the page has no timeline then.
    levels: Vec<LevelInfo>,
    /// If allocations were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Memory>,
    /// The numbers of the recorder and of waits, which are no functions: their times are in totals, and in no share.
    pauses: Vec<u64>,
    /// The number of `[other]`, the function of paths over the limit, if there are any.
    other: Option<u64>,
    #[serde(skip)]
    indices: FxHashMap<FuncId, u64>,
}

/// A sentence without its full stop, and the tabs that it is about.
#[derive(Debug, Serialize)]
struct Note {
    tabs: &'static [&'static str],
    text: String,
}

const TIMELINE: &[&str] = &["timeline"];
const ALL: &[&str] = &["timeline", "flame", "table", "graph"];
const FIGURES: &[&str] = &["flame", "table", "graph"];

impl Note {
    fn new(tabs: &'static [&'static str], text: impl Into<String>) -> Note {
        Note { tabs, text: text.into() }
    }
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Functions {
    name: Vec<String>,
    /// Index into the modules; -1 where no table has it.
    module: Vec<i64>,
    imported: Vec<bool>,
    /// Where it is declared: index into the places.
    place: Vec<u32>,
    /// Whether its times are unknown.
    counted: Vec<bool>,
    calls: Vec<u64>,
    total_nanos: Vec<f64>,
    /// The part of the total in the recorder and in waits.
    paused_nanos: Vec<f64>,
    self_nanos: Vec<f64>,
    /// How far the shares of self time may be off, if they aren't exact.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    share_error: Vec<f64>,
    /// What isn't known is no number, which is `null` in JSON.
    min_nanos: Vec<f64>,
    max_nanos: Vec<f64>,
    average_nanos: Vec<f64>,
    /// Calls that didn't end by a leave.
    cut_short: Vec<u64>,
}

impl Functions {
    /// Adds what is no function.
    fn push_sums(&mut self, name: String, sums: &Node, header: &Header) {
        let [total, own] = [sums.total_ticks, sums.self_ticks].map(|ticks| header.nanos(ticks) as f64);
        self.name.push(name);
        self.module.push(-1);
        self.imported.push(false);
        self.place.push(0);
        self.counted.push(false);
        self.calls.push(sums.calls);
        self.total_nanos.push(total);
        self.paused_nanos.push(if is_pause(sums.func) { total } else { 0.0 });
        if !self.share_error.is_empty() {
            self.share_error.push(0.0);
        }
        self.self_nanos.push(own);
        self.min_nanos.push(f64::NAN);
        self.max_nanos.push(f64::NAN);
        self.average_nanos.push(if sums.calls > 0 { total / sums.calls as f64 } else { f64::NAN });
        self.cut_short.push(0);
    }
}

/// Callers and callees by number. The host's number follows the last function's.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Edges {
    caller: Vec<u64>,
    callee: Vec<u64>,
    calls: Vec<u64>,
    total_nanos: Vec<f64>,
    /// Where the caller calls it: index into the places.
    place: Vec<u32>,
}

#[derive(Debug, Serialize)]
struct Lane {
    name: String,
    calls: u64,
}

/// How many bytes there were over time, as columns.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Memory {
    /// Since the beginning.
    ticks: Vec<u64>,
    live_bytes: Vec<u64>,
    /// The most since the moment before.
    max_bytes: Vec<u64>,
    /// Bytes of collected objects that were made by then.
    object_bytes: Vec<u64>,
    /// The most at any time, exactly.
    peak_bytes: u64,
    sampled: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct LevelInfo {
    resolution_ticks: u64,
    spans: usize,
}

impl<'a> PageData<'a> {
    pub(super) fn new(
        profile: &'a Profile,
        title: &'a str,
        levels: &[Level],
        left_out: LeftOut,
        heap: &Heap,
    ) -> PageData<'a> {
        let Profile { header, symbols, tree, health, .. } = profile;
        let graph = CallGraph::new(tree, symbols, header, None);
        let flat = &graph.flat;
        let without_row = without_row(tree, flat);
        let funcs = flat.rows.iter().map(|row| row.func).chain(without_row.keys().copied());
        let mut indices: FxHashMap<FuncId, u64> = funcs.zip(0..).collect();
        let outside = indices.len() as u64;
        indices.extend([HOST, UNSEEN].map(|func| (func, outside)));
        let nanos_per_tick = 1e9 / header.clock.ticks_per_second;
        let mut places = Places::new();
        let accuracy = Accuracy::of(profile, flat.self_nanos);
        let mut functions = functions((flat, &accuracy), profile, &mut places);
        without_row.iter().for_each(|(func, node)| functions.push_sums(symbols.label(*func), node, header));
        let edges = edges(&graph, &indices, profile, &mut places);
        let lanes = levels.first().map_or(&[][..], |level| &level.lanes);
        let lanes = lanes.iter().filter_map(|spans| profile.lanes.iter().find(|lane| lane.id == spans.lane));
        let command: Vec<_> = header.command.iter().map(|word| printable(word)).collect();
        PageData {
            title,
            version: env!("CARGO_PKG_VERSION"),
            command: command.join(" "),
            host: &header.host,
            clock: &header.clock,
            outcome: health.outcome(),
            began_unix_nanos: header.unix_nanos(profile.start_ticks).to_string(),
            nanos_per_tick,
            wall_nanos: profile.wall_nanos(),
            wall_ticks: profile.end_ticks.saturating_sub(profile.start_ticks),
            self_nanos: flat.self_nanos,
            precision: accuracy.share_precision().copied(),
            runs: profile.runs().map(<[_]>::len),
            calls: profile.calls(),
            warnings: health.warnings(),
            notes: {
                let mut notes =
                    left_out_notes(left_out, levels, |ticks| Unit::of(header).text(header.nanos(ticks)));
                if levels.is_empty() {
                    notes.push(Note::new(
                        FIGURES,
                        "there is no timeline: a dataset has sums of calls, not single ones",
                    ));
                }
                if header.clock.kind == ClockKind::Ticker && profile.sampling().is_none() {
                    notes.push(Note::new(ALL, times_text(profile)));
                }
                match profile.sampling() {
                    Some(_) if profile.runs().is_some() => {
                        notes.push(Note::new(FIGURES, times_text(profile)))
                    }
                    sampling => notes.extend(sampling.into_iter().flat_map(sampled_notes)),
                }
                notes.extend(kperf_profile::go(profile).map(|text| Note::new(FIGURES, text)));
                notes.extend(heap.warnings().into_iter().map(|text| Note::new(TIMELINE, text)));
                notes
            },
            modules: symbols
                .tables()
                .iter()
                .map(|table| printable(&table.module.name).into_owned())
                .collect(),
            places: places.texts,
            functions,
            edges,
            lanes: lanes.map(|lane| Lane { name: lane.id.to_string(), calls: lane.calls }).collect(),
            levels: levels
                .iter()
                .map(|level| LevelInfo { resolution_ticks: level.resolution_ticks, spans: level.spans() })
                .collect(),
            pauses: PAUSES.iter().filter_map(|pause| indices.get(pause).copied()).collect(),
            other: indices.get(&OTHER).copied(),
            memory: memory(profile, heap),
            indices,
        }
    }

    /// The function's number. One that has none is shown as outside of the guest.
    pub(super) fn index_of(&self, func: FuncId) -> u64 {
        self.indices.get(&func).copied().unwrap_or(self.functions.name.len() as u64)
    }
}

fn memory(profile: &Profile, heap: &Heap) -> Option<Memory> {
    let moments = heap.moments();
    let tables = profile.symbols.tables().iter().filter_map(|table| table.module.allocations.as_ref());
    let since = |ticks: u64| ticks.saturating_sub(profile.start_ticks);
    (!moments.is_empty()).then(|| Memory {
        ticks: moments.iter().map(|moment| since(moment.ticks)).collect(),
        live_bytes: moments.iter().map(|moment| moment.live_bytes).collect(),
        max_bytes: moments.iter().map(|moment| moment.max_bytes).collect(),
        object_bytes: moments.iter().map(|moment| moment.object_bytes).collect(),
        peak_bytes: heap.peak().0,
        sampled: tables.into_iter().any(|allocations| allocations.sample > 0),
    })
}

/// Notes about a sampled profile.
fn sampled_notes(sampling: &Sampling) -> [Note; 2] {
    let timeline = match sampling.span_min_nanos {
        0 => "this is a profile without single calls".to_owned(),
        min => {
            format!(
                "this is a profile: its single calls are those of {} or more",
                Unit::Time.text(min).replace(" us", " µs")
            )
        }
    };
    let figures = format!(
        "times are those of {} samples, which don't show the shortest and the longest call; counts are exact for each \
         function, and shared out among its callers by time",
        sampling.samples
    );
    [Note::new(TIMELINE, timeline), Note::new(FIGURES, figures)]
}

/// The sums of what the tree has and the flat profile hasn't: the recorder, and calls over the limit of paths.
fn without_row(tree: &CallTree, flat: &FlatProfile) -> BTreeMap<FuncId, Node> {
    let with_row: FxHashSet<FuncId> = flat.rows.iter().map(|row| row.func).chain([HOST, UNSEEN]).collect();
    let mut sums = BTreeMap::new();
    for (_, node) in tree.iter().filter(|(_, node)| !with_row.contains(&node.func)) {
        let sum = sums.entry(node.func).or_insert_with(|| Node::new(CallTree::ROOT, node.func));
        sum.calls = sum.calls.saturating_add(node.calls);
        sum.self_ticks = sum.self_ticks.saturating_add(node.self_ticks);
        sum.total_ticks = sum.total_ticks.saturating_add(node.total_ticks);
    }
    sums
}

fn functions(
    (flat, accuracy): (&FlatProfile, &Accuracy),
    profile: &Profile,
    places: &mut Places,
) -> Functions {
    let symbols = &profile.symbols;
    // Samples don't show single calls.
    let of_call = |nanos: f64| if profile.sampling().is_some() { f64::NAN } else { nanos };
    let mut columns = Functions::default();
    for row in &flat.rows {
        let symbol = symbols.get(row.func);
        let module = symbols.tables().iter().position(|table| table.get(row.func).is_some());
        columns.name.push(symbols.label(row.func));
        columns.module.push(module.map_or(-1, |module| module as i64));
        columns.imported.push(symbol.is_some_and(|symbol| symbol.imported));
        columns.place.push(places.number(match symbols.source(row.func) {
            Some((file, line)) if line > 0 => printable(&format!("{file}:{line}")).into_owned(),
            Some((file, _)) => printable(file).into_owned(),
            None => String::new(),
        }));
        columns.counted.push(row.is_counted);
        columns.calls.push(row.calls);
        columns.total_nanos.push(row.total_nanos);
        columns.paused_nanos.push(row.paused_nanos);
        columns.share_error.extend(accuracy.share_error(row.func, row.share, row.calls));
        columns.self_nanos.push(row.self_nanos);
        columns.min_nanos.push(of_call(row.min_nanos));
        columns.max_nanos.push(of_call(row.max_nanos));
        columns.average_nanos.push(row.average_nanos);
        columns.cut_short.push(row.unwound + row.unfinished);
    }
    columns
}

fn edges(
    graph: &CallGraph,
    indices: &FxHashMap<FuncId, u64>,
    profile: &Profile,
    places: &mut Places,
) -> Edges {
    let mut arcs: Vec<&Arc> = graph.arcs.iter().collect();
    arcs.sort_by(|a, b| b.total_nanos.total_cmp(&a.total_nanos));
    let index = |func| indices.get(&func).copied().unwrap_or(0);
    let mut codes = CallPlaces::new(&profile.symbols);
    // With a filter, the caller may have called something in between.
    let is_whole = profile.hidden_calls == 0;
    let place = |arc: &&Arc| places.number(codes.text(arc.caller, arc.callee, is_whole));
    Edges {
        caller: arcs.iter().map(|arc| index(arc.caller)).collect(),
        callee: arcs.iter().map(|arc| index(arc.callee)).collect(),
        calls: arcs.iter().map(|arc| arc.calls).collect(),
        total_nanos: arcs.iter().map(|arc| arc.total_nanos).collect(),
        place: arcs.iter().map(place).collect(),
    }
}

/// Texts of places, each once.
struct Places {
    texts: Vec<String>,
    numbers: FxHashMap<String, u32>,
}

impl Places {
    fn new() -> Places {
        Places { texts: vec![String::new()], numbers: [(String::new(), 0)].into_iter().collect() }
    }

    fn number(&mut self, text: String) -> u32 {
        let texts = &mut self.texts;
        *self.numbers.entry(text).or_insert_with_key(|text| {
            texts.push(text.clone());
            texts.len() as u32 - 1
        })
    }
}

fn left_out_notes(left_out: LeftOut, levels: &[Level], nanos_text: impl Fn(u64) -> String) -> Vec<Note> {
    let LeftOut { calls_of_lanes, deeper_calls } = left_out;
    let mut notes = Vec::new();
    if let Some(finest) = levels.first().filter(|finest| finest.resolution_ticks > 1) {
        notes.push(Note::new(
            TIMELINE,
            format!(
                "single calls are those of {} or more; shorter ones are drawn together, hatched",
                nanos_text(finest.resolution_ticks)
            ),
        ));
    }
    if calls_of_lanes > 0 {
        let lanes = Timeline::LANES;
        notes.push(Note::new(
            TIMELINE,
            format!("the first {lanes} lanes are here; {calls_of_lanes} calls are on others"),
        ));
    }
    if deeper_calls > 0 {
        let depth = Timeline::DEPTH;
        notes.push(Note::new(
            TIMELINE,
            format!("the outer {depth} calls are here; {deeper_calls} are deeper"),
        ));
    }
    notes
}
