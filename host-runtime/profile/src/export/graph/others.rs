//! What isn't drawn: for each box that called such functions, one more box that stands for them.

use super::label::{self, Figures};
use super::{Edge, Vertex};
use rustc_hash::FxHashMap;

/// What a box called that isn't drawn.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    callees: usize,
    calls: u64,
    total_nanos: f64,
    self_nanos: f64,
}

/// What isn't drawn, by the box that called it.
#[derive(Debug, Default)]
pub(super) struct Others(FxHashMap<usize, Rest>);

impl Others {
    /// Notes calls of one function that isn't drawn. `self_nanos` is what is below the box and in no other.
    pub(super) fn add(&mut self, caller: usize, calls: u64, total_nanos: f64, self_nanos: f64) {
        let rest = self.0.entry(caller).or_default();
        rest.callees += 1;
        rest.calls += calls;
        rest.total_nanos += total_nanos;
        rest.self_nanos += self_nanos;
    }

    /// Adds the boxes and their arrows.
    pub(super) fn draw(self, vertices: &mut Vec<Vertex>, edges: &mut Vec<Edge>, whole_nanos: f64) {
        let mut rests: Vec<(usize, Rest)> = self.0.into_iter().collect();
        rests.sort_by_key(|&(caller, _)| caller);
        for (caller, Rest { callees, calls, total_nanos, self_nanos }) in rests {
            let figures = Figures { calls, is_counted: false, total_nanos, self_nanos, whole_nanos };
            let name = label::count(callees as u64, "other");
            let mut lines = figures.lines();
            lines.retain(|line| !line.starts_with("self"));
            let tooltip = format!("{name}: too little time to be drawn one by one\n{}", lines.join("\n"));
            vertices.push(Vertex {
                name: vec![name],
                lines,
                tooltip,
                fill: label::REST.to_owned(),
                is_rest: true,
            });
            let share = figures.total_share();
            edges.push(Edge {
                from: caller,
                to: vertices.len() - 1,
                lines: Vec::new(),
                weight: share,
                color: label::arrow_color(share),
            });
        }
    }
}
