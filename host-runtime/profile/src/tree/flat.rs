//! The flat profile: a row per function.

use crate::symbols::{HOST, OTHER, PAUSES, Symbols, UNSEEN, is_outside, is_pause};
use crate::tree::nodes::{CallTree, Node, NodeId};
use crate::tree::unplaced::Unplaced;
use crate::unit::Unit;
use kperf_abi::FuncId;
use kperf_trace::{Header, ProbeCost};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The figures of each function, summed up over all paths on which it was called. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct FlatProfile {
    /// Ordered by self time, the longest first; by id where that is equal.
    pub rows: Vec<Row>,
    /// Sum of all self times.
    pub self_nanos: f64,
    /// For how long guests' threads worked for the recorder, or waited for it. It is in totals, and in no self time.
    pub recorder_nanos: f64,
    /// For how long guests' threads were ready to run, and others had the processors. It is in totals, and in no self time; so is the
    /// next.
    pub processor_nanos: f64,
    /// For how long guests' threads waited themselves: for input, for a lock, for a time.
    pub waiting_nanos: f64,
    /// Sum of all calls.
    pub calls: u64,
}

/// One function.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its id.
    pub func: FuncId,
    /// Its name as the source has it; not unique.
    pub name: Arc<str>,
    /// How often it was called.
    pub calls: u64,
    /// Whether its calls were only counted. Then its times are unknown: they are 0 here, and part of its callers' times.
    pub is_counted: bool,
    /// How long its calls were open. Recursion counts once: a call inside a call of the same function adds nothing. Never more
    /// than the wall time of its lanes.
    pub total_nanos: f64,
    /// The part of the total in which it didn't run: the recorder's work and waits, in its calls and in those that they made.
    pub paused_nanos: f64,
    /// How long it was running itself, without the calls that it made.
    pub self_nanos: f64,
    /// Mean length of a call. Calls inside a call of the same function count too.
    pub average_nanos: f64,
    /// Length of the shortest call.
    pub min_nanos: f64,
    /// Length of the longest call.
    pub max_nanos: f64,
    /// Its part of all self time, 0 to 1.
    pub share: f64,
    /// How many calls ended by an exception that was caught further out.
    pub unwound: u64,
    /// How many calls were cut short: by a trap, an exit, a gap or the end of the trace.
    pub unfinished: u64,
    /// Who called it, the most frequent caller first.
    pub callers: Vec<Caller>,
}

impl Row {
    /// The part of the total in which it or a function that it called ran. At most the sum of all self times.
    pub fn running_nanos(&self) -> f64 {
        (self.total_nanos - self.paused_nanos).max(self.self_nanos)
    }
}

/// A function's caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Which function; [`HOST`] for calls from outside the guest.
    pub func: FuncId,
    /// How many of the calls it made.
    pub calls: u64,
}

/// The sums of a function; they may be negative where more is compensated than was measured.
#[derive(Default)]
struct Sums {
    calls: u64,
    total: f64,
    paused: f64,
    self_time: f64,
    of_all_calls: f64,
    min: Option<f64>,
    max: f64,
    unwound: u64,
    unfinished: u64,
    callers: FxHashMap<FuncId, u64>,
    /// How many of its frames are open on the path of the walk.
    open: u32,
}

impl FlatProfile {
    /// Sum of all self times, and of the times that are no function's.
    pub fn whole_nanos(&self) -> f64 {
        self.self_nanos + self.recorder_nanos + self.processor_nanos + self.waiting_nanos
    }

    /// The times that are no function's, for people: `1.000 s of waits apart`. `None` for less than a hundredth of all time.
    pub fn apart_text(&self, unit: Unit) -> Option<String> {
        let parts = [
            (self.processor_nanos + self.waiting_nanos, "of waits"),
            (self.recorder_nanos, "in the recorder"),
        ];
        let shown = parts.iter().filter(|(nanos, _)| *nanos > 0.0 && nanos * 100.0 >= self.whole_nanos());
        let texts: Vec<String> =
            shown.map(|(nanos, what)| format!("{} {what}", unit.text(nanos.round() as u64))).collect();
        (!texts.is_empty()).then(|| format!("{} apart", texts.join(" and ")))
    }

    /// The self time of the host's functions; `None` if none of those with probes was called.
    pub fn host_nanos(&self, symbols: &Symbols) -> Option<f64> {
        let imported = |row: &&Row| symbols.get(row.func).is_some_and(|symbol| symbol.imported);
        let mut rows = self.rows.iter().filter(imported).peekable();
        rows.peek()?;
        Some(rows.map(|row| row.self_nanos).sum())
    }

    /// Sums up a tree.
    ///
    /// With `compensate`, the cost of the probes is taken off:
    ///
    /// * A self time loses, for each call of the function, the cost between its own enter and leave, and for each call that it
    ///   makes, the cost that falls to the caller. A call that was only counted costs its caller just the latter.
    /// * A total loses the cost of all calls inside it.
    /// * The shortest and the longest call lose the mean cost on their path: which calls these two made is unknown.
    ///
    /// Figures are summed up before any is cut at 0, so that the errors of a coarse clock cancel out.
    pub fn new(
        tree: &CallTree,
        symbols: &Symbols,
        header: &Header,
        compensate: Option<&ProbeCost>,
    ) -> FlatProfile {
        let nodes = NodeTimes::new(tree, symbols, header, compensate);
        let mut sums: FxHashMap<FuncId, Sums> = FxHashMap::default();
        for (id, node) in tree.iter().filter(|(_, node)| !is_outside(node.func)) {
            let sum = sums.entry(node.func).or_default();
            let (self_time, total, cost_per_call) = nodes.of(id);
            sum.calls += node.calls;
            sum.self_time += self_time;
            sum.of_all_calls += total;
            sum.unwound += u64::from(node.unwound);
            sum.unfinished += u64::from(node.unfinished);
            let caller = tree.get(node.parent).map_or(HOST, |parent| parent.func);
            *sum.callers.entry(caller).or_default() += node.calls;
            // Calls that no sample saw are counted, and their times are not known: none of them is the shortest.
            if caller != UNSEEN {
                let min = nodes.nanos(node.min_ticks) - cost_per_call;
                sum.min = Some(sum.min.map_or(min, |other| other.min(min)));
            }
            sum.max = sum.max.max(nodes.nanos(node.max_ticks) - cost_per_call);
        }
        sum_outermost(tree, &nodes, &mut sums);
        // The probe cost of such calls isn't known, so with compensation they stay in OTHER.
        let unplaced = if compensate.is_none() { Some(tree.unplaced()) } else { None };
        let mut pauses = unplaced.map_or([0.0; 3], |unplaced| add_unplaced(unplaced, &nodes, &mut sums));
        let mut rows: Vec<Row> = sums.into_iter().map(|(func, sums)| sums.row(func, symbols)).collect();
        rows.sort_by(|a, b| b.self_nanos.total_cmp(&a.self_nanos).then(a.func.cmp(&b.func)));
        let self_nanos: f64 = rows.iter().map(|row| row.self_nanos).sum();
        if self_nanos > 0.0 {
            rows.iter_mut().for_each(|row| row.share = row.self_nanos / self_nanos);
        }
        let calls = rows.iter().map(|row| row.calls).sum();
        for (_, node) in tree.iter() {
            if let Some(n) = PAUSES.iter().position(|&pause| pause == node.func) {
                pauses[n] += nodes.nanos(node.self_ticks);
            }
        }
        let [recorder_nanos, processor_nanos, waiting_nanos] = pauses;
        FlatProfile { rows, self_nanos, recorder_nanos, processor_nanos, waiting_nanos, calls }
    }
}

/// Adds the calls in nodes of [`OTHER`] to their functions. Returns the parts of [`PAUSES`], in nanoseconds.
fn add_unplaced(
    unplaced: &Unplaced,
    nodes: &NodeTimes,
    sums: &mut FxHashMap<FuncId, Sums>,
) -> [f64; PAUSES.len()] {
    let (mut calls, mut self_time, mut pauses) = (0, 0.0, [0.0; PAUSES.len()]);
    for (func, caller, part) in unplaced.iter() {
        let part_self = nodes.nanos(part.self_ticks);
        self_time += part_self;
        if let Some(n) = PAUSES.iter().position(|&pause| pause == func) {
            pauses[n] += part_self;
            continue;
        }
        calls += part.calls;
        let sum = sums.entry(func).or_default();
        sum.calls += part.calls;
        sum.self_time += part_self;
        sum.total += nodes.nanos(part.total_ticks);
        sum.of_all_calls += nodes.nanos(part.all_ticks);
        let min = nodes.nanos(part.min_ticks);
        sum.min = Some(sum.min.map_or(min, |other| other.min(min)));
        sum.max = sum.max.max(nodes.nanos(part.max_ticks));
        sum.unwound += part.unwound;
        sum.unfinished += part.unfinished;
        *sum.callers.entry(caller).or_default() += part.calls;
    }
    if let Some(other) = sums.get_mut(&OTHER) {
        other.calls = other.calls.saturating_sub(calls);
        other.self_time -= self_time;
        if other.calls == 0 {
            sums.remove(&OTHER);
        }
    }
    pauses
}

/// For each function adds up the totals of its outermost nodes: those with no node of the same function above them.
fn sum_outermost(tree: &CallTree, nodes: &NodeTimes, sums: &mut FxHashMap<FuncId, Sums>) {
    tree.walk(|id, entered| {
        let Some(sum) = tree.get(id).and_then(|node| sums.get_mut(&node.func)) else { return };
        if !entered {
            sum.open -= 1;
            return;
        }
        if sum.open == 0 {
            sum.total += nodes.of(id).1;
            sum.paused += nodes.paused(id);
        }
        sum.open += 1;
    });
}

impl Sums {
    fn row(self, func: FuncId, symbols: &Symbols) -> Row {
        let mut callers: Vec<Caller> =
            self.callers.into_iter().map(|(func, calls)| Caller { func, calls }).collect();
        callers.sort_by(|a, b| b.calls.cmp(&a.calls).then(a.func.cmp(&b.func)));
        Row {
            func,
            name: symbols.shared_name(func),
            calls: self.calls,
            is_counted: symbols.is_counted(func),
            // Calls below nothing may have taken more from the total than was in it.
            total_nanos: self.total.max(self.self_time).max(0.0),
            paused_nanos: self.paused,
            self_nanos: self.self_time.max(0.0),
            average_nanos: (self.of_all_calls / self.calls.max(1) as f64).max(0.0),
            min_nanos: self.min.unwrap_or(0.0).max(0.0),
            max_nanos: self.max.max(0.0),
            share: 0.0,
            unwound: self.unwound,
            unfinished: self.unfinished,
            callers,
        }
    }
}

/// The nodes' times in nanoseconds, compensated or not. All vectors are indexed by node.
pub struct NodeTimes {
    nanos_per_tick: f64,
    self_time: Vec<f64>,
    total: Vec<f64>,
    /// The part of the total in the recorder and in waits.
    paused: Vec<f64>,
    cost_per_call: Vec<f64>,
}

impl NodeTimes {
    /// Those of a tree, less `compensate` for the probes of each call.
    pub fn new(
        tree: &CallTree,
        symbols: &Symbols,
        header: &Header,
        compensate: Option<&ProbeCost>,
    ) -> NodeTimes {
        let nanos_per_tick = 1e9 / header.clock.ticks_per_second;
        let ProbeCost { inside_nanos, outside_nanos } = compensate.copied().unwrap_or_default();
        let nodes = tree.nodes();
        // Calls that a filter left out cost their node all that a probe costs.
        let hidden = |node: &Node| node.hidden_calls as f64 * (inside_nanos + outside_nanos);
        // A counted function has one event, which costs its caller about as much as an enter or a leave.
        let inside = |node: &Node| if symbols.is_counted(node.func) { 0.0 } else { inside_nanos };
        let mut costs: Vec<f64> =
            nodes.iter().map(|node| node.calls as f64 * inside(node) + hidden(node)).collect();
        for (_, node) in tree.iter() {
            costs[node.parent.index()] += node.calls as f64 * outside_nanos;
        }
        let self_time = nodes
            .iter()
            .zip(&costs)
            .map(|(node, cost)| node.self_ticks as f64 * nanos_per_tick - cost)
            .collect();
        // From the leaves to the root: parents come before their children.
        for (id, node) in tree.iter().rev() {
            costs[node.parent.index()] += costs[id.index()];
        }
        let total = nodes
            .iter()
            .zip(&costs)
            .map(|(node, cost)| node.total_ticks as f64 * nanos_per_tick - cost)
            .collect();
        let cost_per_call =
            nodes.iter().zip(&costs).map(|(node, cost)| cost / node.calls.max(1) as f64).collect();
        let of_pause =
            |node: &Node| if is_pause(node.func) { node.total_ticks as f64 * nanos_per_tick } else { 0.0 };
        let mut paused: Vec<f64> = nodes.iter().map(of_pause).collect();
        for (id, node) in tree.iter().rev() {
            paused[node.parent.index()] += paused[id.index()];
        }
        NodeTimes { nanos_per_tick, self_time, total, paused, cost_per_call }
    }

    /// A time of the tree in nanoseconds.
    pub fn nanos(&self, ticks: u64) -> f64 {
        ticks as f64 * self.nanos_per_tick
    }

    /// The part of a node's total in which neither it nor what it called ran, in nanoseconds.
    pub fn paused(&self, id: NodeId) -> f64 {
        self.paused[id.index()]
    }

    /// Self time, total and mean cost of the probes in a call, of a node of the tree.
    pub fn of(&self, id: NodeId) -> (f64, f64, f64) {
        let index = id.index();
        (self.self_time[index], self.total[index], self.cost_per_call[index])
    }
}
