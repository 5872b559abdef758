//! The call graph: a box for each function.

use crate::graph::draft::{self, Draft, Fact};
use crate::graph::label::{self, Figures};
use crate::graph::others::Others;
use crate::graph::picture::{Edge, Options, Picture, vertex};
use kperf_abi::FuncId;
use kperf_profile::{Accuracy, Arc, CallGraph, Profile, Row, Symbols, is_outside, plural};
use rustc_hash::FxHashMap;

pub(super) fn picture(profile: &Profile, options: &Options) -> Picture {
    let Profile { tree, symbols, header, .. } = profile;
    let graph = CallGraph::new(tree, symbols, header, options.compensate.as_ref());
    let whole_nanos = graph.flat.self_nanos;
    let accuracy = Accuracy::of(profile, whole_nanos).compensated(options.compensate.as_ref());
    let mut rows: Vec<_> = graph.flat.rows.iter().collect();
    rows.sort_by(|a, b| b.total_nanos.total_cmp(&a.total_nanos).then(a.func.cmp(&b.func)));
    let large = |nanos: f64| nanos > 0.0 && label::share(nanos, whole_nanos) >= options.min_share;
    // A trace without time (a coarse clock, a short run) is drawn by its calls alone.
    rows.retain(|row| large(row.running_nanos()) || row.is_counted || whole_nanos <= 0.0);
    let all = graph.flat.rows.len();
    draft::fitting(rows.len(), options, "function", |max| {
        let rows = rows.get(..max).unwrap_or(&rows);
        let draft = draft_of(&graph, symbols, rows, options.min_share, &accuracy);
        Draft { left_out: all - rows.len(), ..draft }
    })
}

/// The boxes of these functions.
fn draft_of(
    graph: &CallGraph,
    symbols: &Symbols,
    rows: &[&Row],
    min_share: f64,
    accuracy: &Accuracy,
) -> Draft {
    let whole_nanos = graph.flat.self_nanos;
    let mut facts = Vec::new();
    let mut vertices = Vec::new();
    let mut places: FxHashMap<FuncId, usize> = FxHashMap::default();
    for row in rows {
        places.insert(row.func, vertices.len());
        let &Row { func, calls, is_counted, total_nanos, self_nanos, .. } = *row;
        let figures = Figures {
            func: Some(func),
            func_share: None,
            calls,
            is_counted,
            total_nanos,
            running_nanos: row.running_nanos(),
            self_nanos,
            whole_nanos,
            accuracy,
        };
        facts.push(Some(Fact { calls, self_share: label::share(self_nanos, whole_nanos) }));
        vertices.push(vertex(symbols, row.func, figures));
    }
    let mut edges = Vec::new();
    let mut others = Others::new(accuracy);
    for arc in graph.arcs.iter().filter(|arc| !is_outside(arc.caller)) {
        match (places.get(&arc.caller), places.get(&arc.callee)) {
            (Some(&from), Some(&to)) => {
                edges.push(edge((from, to), arc, whole_nanos, symbols.is_counted(arc.callee), accuracy));
            }
            (Some(&from), None) => {
                others.add(from, arc.calls, (arc.total_nanos, arc.running_nanos(), arc.self_nanos))
            }
            // A function that isn't drawn calls something: that is too little to be seen.
            (None, _) => {}
        }
    }
    others.draw(&mut vertices, &mut edges, whole_nanos, min_share);
    facts.resize(vertices.len(), None);
    Draft { vertices, edges, facts, left_out: 0 }
}

fn edge(
    (from, to): (usize, usize),
    arc: &Arc,
    whole_nanos: f64,
    is_counted: bool,
    accuracy: &Accuracy,
) -> Edge {
    let share = label::share(arc.running_nanos(), whole_nanos);
    let again = if arc.is_recursive() { "recursive: " } else { "" };
    let calls = format!("{again}{}", plural(arc.calls, "call"));
    let mut lines = vec![calls];
    if !is_counted {
        lines.push(accuracy.time_text(arc.total_nanos));
    }
    Edge { from, to, lines, weight: share, color: label::arrow_color(share) }
}
