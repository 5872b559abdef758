//! The call graph, with gprof's terms.

use crate::symbols::{HOST, OTHER, Symbols, is_outside};
use crate::tree::flat::{FlatProfile, NodeTimes, Row};
use crate::tree::nodes::{CallTree, NodeId};
use kperf_abi::FuncId;
use kperf_trace::{Header, ProbeCost};
use rustc_hash::FxHashMap;

/// Functions, and who calls whom. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct CallGraph {
    /// The functions.
    pub flat: FlatProfile,
    /// Who calls whom. Ordered by caller (the host last), then by total, the longest first.
    pub arcs: Vec<Arc>,
}

/// All calls of one function by another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arc {
    /// The caller; [`HOST`] for calls from outside the guest, [`UNSEEN`](crate::UNSEEN) if it is unknown.
    pub caller: FuncId,
    /// The function that is called.
    pub callee: FuncId,
    /// How many calls these are.
    pub calls: u64,
    /// How long these calls took. Recursion counts once: a call adds nothing if it is inside a call of the same callee by the
    /// same caller.
    pub total_nanos: f64,
    /// The part of the total in the recorder and in waits.
    pub paused_nanos: f64,
    /// How long the callee was running itself in these calls.
    pub self_nanos: f64,
}

impl Arc {
    /// Whether a function calls itself.
    pub fn is_recursive(&self) -> bool {
        self.caller == self.callee
    }

    /// The part of the total in which the callee or a function that it called ran.
    pub fn running_nanos(&self) -> f64 {
        (self.total_nanos - self.paused_nanos).max(self.self_nanos)
    }
}

/// The sums of an arc.
#[derive(Default)]
struct Sums {
    calls: u64,
    total: f64,
    paused: f64,
    self_time: f64,
    /// How many calls of this arc are open on the path of the walk.
    open: u32,
}

/// Adds the calls in nodes of [`OTHER`] with a known caller. If all have one, [`OTHER`] has no arcs.
fn add_unplaced(
    tree: &CallTree,
    nodes: &NodeTimes,
    has_others: bool,
    sums: &mut FxHashMap<(FuncId, FuncId), Sums>,
) {
    for (func, caller, part) in tree.unplaced().iter().filter(|(func, ..)| !is_outside(*func)) {
        let sum = sums.entry((caller, func)).or_default();
        sum.calls += part.calls;
        sum.self_time += nodes.nanos(part.self_ticks);
        sum.total += nodes.nanos(part.arc_ticks);
    }
    if !has_others {
        sums.retain(|(_, callee), _| *callee != OTHER);
    }
}

impl CallGraph {
    /// Sums up a tree; `compensate` as in [`FlatProfile::new`].
    pub fn new(
        tree: &CallTree,
        symbols: &Symbols,
        header: &Header,
        compensate: Option<&ProbeCost>,
    ) -> CallGraph {
        let flat = FlatProfile::new(tree, symbols, header, compensate);
        let nodes = NodeTimes::new(tree, symbols, header, compensate);
        let arc = |id: NodeId| {
            let node = tree.get(id)?;
            Some((tree.get(node.parent)?.func, node.func)).filter(|(_, callee)| !is_outside(*callee))
        };
        let mut sums: FxHashMap<(FuncId, FuncId), Sums> = FxHashMap::default();
        tree.walk(|id, entered| {
            let Some(sum) = arc(id).map(|arc| sums.entry(arc).or_default()) else { return };
            if !entered {
                sum.open -= 1;
                return;
            }
            let (self_time, total, _) = nodes.of(id);
            sum.calls += tree.get(id).map_or(0, |node| node.calls);
            sum.self_time += self_time;
            if sum.open == 0 {
                sum.total += total;
                sum.paused += nodes.paused(id);
            }
            sum.open += 1;
        });
        if compensate.is_none() {
            let has_others = flat.rows.iter().any(|row| row.func == OTHER);
            add_unplaced(tree, &nodes, has_others, &mut sums);
        }
        let mut arcs: Vec<Arc> = sums
            .into_iter()
            .map(|((caller, callee), sums)| Arc {
                caller,
                callee,
                calls: sums.calls,
                total_nanos: sums.total.max(sums.self_time).max(0.0),
                paused_nanos: sums.paused,
                self_nanos: sums.self_time.max(0.0),
            })
            .collect();
        arcs.sort_by(|a, b| {
            let by_total = b.total_nanos.total_cmp(&a.total_nanos);
            a.caller.cmp(&b.caller).then(by_total).then(a.callee.cmp(&b.callee))
        });
        CallGraph { flat, arcs }
    }

    /// A function's figures.
    pub fn row(&self, func: FuncId) -> Option<&Row> {
        self.flat.rows.iter().find(|row| row.func == func)
    }

    /// The functions that a function calls, the longest first.
    pub fn callees(&self, caller: FuncId) -> &[Arc] {
        let start = self.arcs.partition_point(|arc| arc.caller < caller);
        let end = self.arcs.partition_point(|arc| arc.caller <= caller);
        self.arcs.get(start..end).unwrap_or_default()
    }

    /// The functions that call a function, the longest first.
    pub fn callers(&self, callee: FuncId) -> Vec<&Arc> {
        let mut arcs: Vec<&Arc> = self.arcs.iter().filter(|arc| arc.callee == callee).collect();
        arcs.sort_by(|a, b| b.total_nanos.total_cmp(&a.total_nanos));
        arcs
    }

    /// The functions that the host called, the longest first.
    pub fn roots(&self) -> &[Arc] {
        self.callees(HOST)
    }
}
