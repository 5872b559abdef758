//! Self time and calls by source line.
//!
//! There are two sources. Samples of native stacks know where in its code a function was: its own time goes to lines. Of a call
//! only the caller is known; the symbol table says where in the caller that function may be called. If there are several such
//! places the row is of all of them: `life.rs:12|40`, `life.rs:12|?` if the line of one isn't known.

use crate::code::inlined::{CallPlaces, Sites};
use crate::reading::profile::Profile;
use crate::symbols::{Symbols, is_outside};
use crate::tree::flat::NodeTimes;
use crate::tree::nodes::NodeId;
use kperf_abi::{FuncId, Source};
use kperf_trace::ProbeCost;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Figures of lines, those with the most self time first, then those whose calls took the longest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    /// A row for each line, or each set of lines, of each function.
    pub rows: Vec<LineRow>,
    /// The sum of all self times in nanoseconds, also of unknown lines.
    pub self_nanos: f64,
    /// The part of it in known lines.
    pub known_nanos: f64,
}

/// A line of a function, or several that share their call sites. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct LineRow {
    /// The function that contains the line's code. The line itself may be in another function, which was inlined.
    pub func: FuncId,
    /// The places that are known, in the order of their files and lines.
    pub places: Vec<SourcePlace>,
    /// Whether it may be a place that isn't known.
    pub or_unknown: bool,
    /// Through which inlined functions the function has these places: `outer > inner`. Empty if they are its own, or if it
    /// is unknown. A line that is inlined in several ways has several, at most eight.
    pub inlined: Vec<String>,
    /// How long the function itself was running there; `None` if that isn't known.
    pub self_nanos: Option<f64>,
    /// How many samples found it there.
    pub samples: u64,
    /// How many calls it made there.
    pub calls: u64,
    /// How long these took.
    pub total_nanos: f64,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourcePlace {
    /// The file's path.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

/// Rows are of a function and these places, or of one that isn't known.
type Key = (FuncId, Sites);

#[derive(Default)]
struct Sums {
    self_time: Option<f64>,
    samples: u64,
    calls: u64,
    total: f64,
    /// How many calls of the row the walk is in.
    open: u32,
    /// Ways in which the line is inlined in the function.
    inlined: BTreeSet<String>,
}

/// How many ways of a line are named.
const MAX_WAYS: usize = 8;

impl Lines {
    /// The lines of all functions, or of those that `wanted` lets through.
    pub fn new(profile: &Profile, compensate: Option<&ProbeCost>, wanted: impl Fn(FuncId) -> bool) -> Lines {
        let Profile { tree, symbols, header, .. } = profile;
        let nodes = NodeTimes::new(tree, symbols, header, compensate);
        let mut codes = CallPlaces::new(symbols);
        let mut sums: BTreeMap<Key, Sums> = BTreeMap::new();
        let mut self_time: FxHashMap<FuncId, f64> = FxHashMap::default();
        for (id, node) in tree.iter().filter(|(_, node)| !is_outside(node.func)) {
            *self_time.entry(node.func).or_default() += nodes.of(id).0;
        }
        let self_nanos = self_time.values().map(|self_time| self_time.max(0.0)).sum();
        let mut known_nanos = 0.0;
        let nanos_per_tick = 1e9 / header.clock.ticks_per_second;
        for (&(func, offset), place) in &profile.places {
            let nanos = place.ticks as f64 * nanos_per_tick;
            let source = codes.of(func).source(offset).filter(|source| source.line > 0);
            known_nanos += if source.is_some() { nanos } else { 0.0 };
            *self_time.entry(func).or_default() -= nanos;
            if wanted(func) {
                let sites = Sites { known: Vec::from_iter(source), or_unknown: source.is_none() };
                let sum = sums.entry((func, sites)).or_default();
                *sum.self_time.get_or_insert(0.0) += nanos;
                sum.samples += place.samples;
                sum.note(codes.way(func, offset));
            }
        }
        // Time without a known place. Where samples have places, the rest is rounding.
        for (func, rest) in self_time.into_iter().filter(|(func, rest)| wanted(*func) && *rest > 0.5) {
            let unknown = Sites { or_unknown: true, ..Sites::default() };
            *sums.entry((func, unknown)).or_default().self_time.get_or_insert(0.0) += rest;
        }
        let rows_of: Vec<Option<Key>> = tree
            .nodes()
            .iter()
            .map(|node| {
                let caller = tree.get(node.parent).map(|parent| parent.func)?;
                let is_call = node.parent != crate::CallTree::ROOT && !is_outside(node.func);
                if !is_call || is_outside(caller) || !wanted(caller) {
                    return None;
                }
                let mut sites = codes.call_places(caller, node.func);
                let ways = codes.ways(caller, node.func);
                // The call may be one of a function that a filter left out, which made it in turn.
                sites.or_unknown |= profile.hidden_calls > 0;
                let key = (caller, sites);
                if !ways.is_empty() {
                    let sum = sums.entry(key.clone()).or_default();
                    ways.into_iter().for_each(|way| sum.note(way));
                }
                Some(key)
            })
            .collect();
        let key = |id: NodeId| rows_of.get(id.index()).and_then(Option::as_ref);
        tree.walk(|id, entered| {
            let (Some(node), Some(key)) = (tree.get(id), key(id)) else { return };
            let sum = match sums.get_mut(key) {
                Some(sum) => sum,
                None => sums.entry(key.clone()).or_default(),
            };
            if !entered {
                sum.open -= 1;
                return;
            }
            sum.calls += node.calls;
            sum.total += if sum.open == 0 { nodes.of(id).1 } else { 0.0 };
            sum.open += 1;
        });
        let mut rows: Vec<LineRow> = sums.into_iter().map(|(key, sums)| row(symbols, key, sums)).collect();
        rows.sort_by(|a, b| {
            let self_time = |row: &LineRow| row.self_nanos.unwrap_or(0.0);
            self_time(b).total_cmp(&self_time(a)).then(b.total_nanos.total_cmp(&a.total_nanos))
        });
        Lines { rows, self_nanos, known_nanos }
    }
}

impl Sums {
    fn note(&mut self, way: String) {
        if !way.is_empty() && self.inlined.len() < MAX_WAYS {
            self.inlined.insert(way);
        }
    }
}

fn row(symbols: &Symbols, (func, sites): Key, sums: Sums) -> LineRow {
    let place = |source: &Source| SourcePlace {
        file: symbols.file(func, source.file).unwrap_or_default().to_owned(),
        line: source.line,
    };
    LineRow {
        func,
        places: sites.known.iter().map(place).collect(),
        or_unknown: sites.or_unknown,
        inlined: sums.inlined.into_iter().collect(),
        self_nanos: sums.self_time.map(|self_time| self_time.max(0.0)),
        samples: sums.samples,
        calls: sums.calls,
        total_nanos: sums.total.max(0.0),
    }
}

impl LineRow {
    /// The places in a few words: `src/life.rs:12|40`, `a.rs:3|b.rs:7|?`. Empty if none is known.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut file = None;
        for place in &self.places {
            if !text.is_empty() {
                text.push('|');
            }
            if file != Some(&place.file) {
                text.push_str(&place.file);
                text.push(':');
                file = Some(&place.file);
            }
            text.push_str(&place.line.to_string());
        }
        if self.or_unknown && !text.is_empty() {
            text.push_str("|?");
        }
        text
    }
}
