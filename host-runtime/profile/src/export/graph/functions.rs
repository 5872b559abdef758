//! The call graph: a box for each function.

use super::label::{self, Figures};
use super::others::Others;
use super::{Edge, Options, Picture, vertex};
use crate::callgraph::{Arc, CallGraph};
use crate::profile::Profile;
use crate::symbols::is_outside;
use crate::text::nanos_text;
use kperf_abi::FuncId;
use rustc_hash::FxHashMap;

pub(super) fn picture(profile: &Profile, options: &Options) -> Picture {
    let Profile { tree, symbols, header, .. } = profile;
    let graph = CallGraph::new(tree, symbols, header, options.compensate.as_ref());
    let whole_nanos = graph.flat.self_nanos;
    let mut rows: Vec<_> = graph.flat.rows.iter().collect();
    rows.sort_by(|a, b| b.total_nanos.total_cmp(&a.total_nanos).then(a.func.cmp(&b.func)));
    let large = |nanos: f64| nanos > 0.0 && label::share(nanos, whole_nanos) >= options.min_share;
    // A trace without time (a coarse clock, a short run) is drawn by its calls alone.
    let drawn = rows
        .iter()
        .filter(|row| large(row.total_nanos) || row.is_counted || whole_nanos <= 0.0)
        .take(options.max_vertices);
    let mut vertices = Vec::new();
    let mut places: FxHashMap<FuncId, usize> = FxHashMap::default();
    for row in drawn {
        places.insert(row.func, vertices.len());
        let (calls, is_counted) = (row.calls, row.is_counted);
        let (total_nanos, self_nanos) = (row.total_nanos, row.self_nanos);
        let figures = Figures { calls, is_counted, total_nanos, self_nanos, whole_nanos };
        vertices.push(vertex(symbols, row.func, figures));
    }
    let mut edges = Vec::new();
    let mut others = Others::default();
    for arc in graph.arcs.iter().filter(|arc| !is_outside(arc.caller)) {
        match (places.get(&arc.caller), places.get(&arc.callee)) {
            (Some(&from), Some(&to)) => {
                edges.push(edge(from, to, arc, whole_nanos, symbols.is_counted(arc.callee)));
            }
            (Some(&from), None) => others.add(from, arc.calls, arc.total_nanos, arc.self_nanos),
            // What isn't drawn calls something: too little to be seen.
            (None, _) => {}
        }
    }
    others.draw(&mut vertices, &mut edges, whole_nanos);
    Picture { title: options.title.clone(), vertices, edges }
}

fn edge(from: usize, to: usize, arc: &Arc, whole_nanos: f64, is_counted: bool) -> Edge {
    let share = label::share(arc.total_nanos, whole_nanos);
    let again = if arc.is_recursive() { "recursive: " } else { "" };
    let calls = format!("{again}{}", label::count(arc.calls, "call"));
    let mut lines = vec![calls];
    if !is_counted {
        lines.push(nanos_text(arc.total_nanos.round() as u64));
    }
    Edge { from, to, lines, weight: share, color: label::arrow_color(share) }
}
