//! The call tree: a box for each path of calls.

use crate::graph::draft::{self, Draft, Fact};
use crate::graph::label::{self, Figures};
use crate::graph::others::Others;
use crate::graph::picture::{Edge, Options, Picture, vertex};
use kperf_profile::{CallTree, NodeId, NodeTimes, Profile, Unit, plural};
use rustc_hash::FxHashMap;

pub(super) fn picture(profile: &Profile, options: &Options) -> Picture {
    let Profile { tree, symbols, header, .. } = profile;
    let unit = Unit::of(header);
    let nodes = NodeTimes::new(tree, symbols, header, options.compensate.as_ref());
    let self_time = |id: NodeId| nodes.of(id).0.max(0.0);
    let total = |id: NodeId| nodes.of(id).1.max(self_time(id));
    let whole_nanos: f64 = tree.iter().map(|(id, _)| self_time(id)).sum();
    let all = tree.nodes().len() - 1;
    let mut ids: Vec<NodeId> = tree.iter().map(|(id, _)| id).collect();
    // Stable: parents stay before children of the same length.
    ids.sort_by(|&a, &b| total(b).total_cmp(&total(a)));
    let large = |id: &NodeId| {
        let nanos = total(*id);
        let counted = tree.get(*id).is_some_and(|node| symbols.is_counted(node.func));
        counted || nanos > 0.0 && label::share(nanos, whole_nanos) >= options.min_share || whole_nanos <= 0.0
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
            let figures = Figures { calls, is_counted, total_nanos, self_nanos, whole_nanos, unit };
            draft.facts.push(Some(Fact { calls, self_share: label::share(self_nanos, whole_nanos) }));
            draft.vertices.push(vertex(symbols, node.func, figures));
        }
        let mut others = Others::new(unit);
        for (id, node) in tree.iter() {
            match (places.get(&node.parent), places.get(&id)) {
                (Some(&from), Some(&to)) => {
                    let share = label::share(total(id), whole_nanos);
                    let mut lines = vec![plural(node.calls, "call")];
                    if !symbols.is_counted(node.func) {
                        lines.push(unit.text(total(id).round() as u64));
                    }
                    draft.edges.push(Edge {
                        from,
                        to,
                        lines,
                        weight: share,
                        color: label::arrow_color(share),
                    });
                }
                (Some(&from), None) => others.add(from, node.calls, total(id), self_time(id)),
                (None, _) => {}
            }
        }
        others.draw(&mut draft.vertices, &mut draft.edges, whole_nanos, options.min_share);
        draft.facts.resize(draft.vertices.len(), None);
        Draft { left_out: all - places.len(), ..draft }
    })
}
