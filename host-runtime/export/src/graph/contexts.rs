//! The call tree: a box for each path of calls.

use crate::graph::draft::{self, Draft, Fact};
use crate::graph::label::{self, Figures};
use crate::graph::others::Others;
use crate::graph::picture::{Edge, Options, Picture, vertex};
use kperf_abi::FuncId;
use kperf_profile::{Accuracy, CallTree, FlatProfile, NodeId, NodeTimes, Profile, is_pause, plural};
use rustc_hash::FxHashMap;

pub(super) fn picture(profile: &Profile, options: &Options) -> Picture {
    let Profile { tree, symbols, header, .. } = profile;
    let nodes = NodeTimes::new(tree, symbols, header, options.compensate.as_ref());
    let self_time = |id: NodeId| nodes.of(id).0.max(0.0);
    let total = |id: NodeId| nodes.of(id).1.max(self_time(id));
    let is_pause = |id: NodeId| tree.get(id).is_some_and(|node| is_pause(node.func));
    let whole_of = |pauses: bool| -> f64 {
        tree.iter().filter(|(id, _)| pauses || !is_pause(*id)).map(|(id, _)| self_time(id)).sum()
    };
    let (whole_nanos, with_pauses) = (whole_of(false), whole_of(true));
    let accuracy = Accuracy::of(profile, whole_nanos).compensated(options.compensate.as_ref());
    let running = |id: NodeId| match is_pause(id) {
        true => 0.0,
        false => (nodes.of(id).1 - nodes.paused(id)).max(self_time(id)),
    };
    let flat = FlatProfile::new(tree, symbols, header, options.compensate.as_ref());
    let shares: FxHashMap<FuncId, f64> = flat.rows.iter().map(|row| (row.func, row.share)).collect();
    let all = tree.nodes().len() - 1;
    let mut ids: Vec<NodeId> = tree.iter().map(|(id, _)| id).collect();
    // Stable: parents stay before children of the same length.
    ids.sort_by(|&a, &b| total(b).total_cmp(&total(a)));
    let large = |id: &NodeId| {
        let (nanos, whole) = match is_pause(*id) {
            true => (total(*id), with_pauses),
            false => (running(*id), whole_nanos),
        };
        let counted = tree.get(*id).is_some_and(|node| symbols.is_counted(node.func));
        counted || nanos > 0.0 && label::share(nanos, whole) >= options.min_share || whole_nanos <= 0.0
    };
    ids.retain(large);
    draft::fitting(ids.len(), options, "path", |max| {
        let mut draft = Draft::default();
        let mut places: FxHashMap<NodeId, usize> = FxHashMap::default();
        for id in ids.iter().copied().take(max) {
            let Some(node) = tree.get(id) else { continue };
            // By compensation a child may be longer than its parent: without a parent it isn't drawn.
            if node.parent != CallTree::ROOT && !places.contains_key(&node.parent) {
                continue;
            }
            places.insert(id, draft.vertices.len());
            let is_counted = symbols.is_counted(node.func);
            let (calls, total_nanos, self_nanos) = (node.calls, total(id), self_time(id));
            let figures = Figures {
                func: Some(node.func),
                func_share: Some(shares.get(&node.func).copied().unwrap_or(0.0)),
                calls,
                is_counted,
                total_nanos,
                running_nanos: running(id),
                self_nanos,
                whole_nanos,
                accuracy: &accuracy,
            };
            draft.facts.push(Some(Fact { calls, self_share: label::share(self_nanos, whole_nanos) }));
            let mut drawn = vertex(symbols, node.func, figures);
            if is_pause(id) {
                // It is no part of what shares are of.
                drawn.lines = vec![accuracy.time_text(total_nanos)];
                drawn.tooltip = format!("{}\n{}", symbols.label(node.func), drawn.lines.join("\n"));
            }
            draft.vertices.push(drawn);
        }
        let mut others = Others::new(&accuracy);
        for (id, node) in tree.iter() {
            match (places.get(&node.parent), places.get(&id)) {
                (Some(&from), Some(&to)) => {
                    let share = label::share(running(id), whole_nanos);
                    let mut lines = if is_pause(id) { vec![] } else { vec![plural(node.calls, "call")] };
                    if !symbols.is_counted(node.func) {
                        lines.push(accuracy.time_text(total(id)));
                    }
                    draft.edges.push(Edge {
                        from,
                        to,
                        lines,
                        weight: share,
                        color: label::arrow_color(share),
                    });
                }
                (Some(&from), None) => others.add(from, node.calls, (total(id), running(id), self_time(id))),
                (None, _) => {}
            }
        }
        others.draw(&mut draft.vertices, &mut draft.edges, whole_nanos, options.min_share);
        draft.facts.resize(draft.vertices.len(), None);
        Draft { left_out: all - places.len(), ..draft }
    })
}
