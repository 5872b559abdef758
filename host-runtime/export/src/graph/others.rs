//! Functions that aren't drawn: each box that called some gets one box for all of them.

use crate::graph::label::{self, Figures};
use crate::graph::picture::{Edge, Vertex};
use kperf_profile::{Accuracy, plural};
use rustc_hash::FxHashMap;

/// A box's callees that aren't drawn.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    callees: usize,
    calls: u64,
    total_nanos: f64,
    running_nanos: f64,
    self_nanos: f64,
}

/// Calls that aren't drawn, by the box of their caller.
#[derive(Debug)]
pub(super) struct Others<'a> {
    rests: FxHashMap<usize, Rest>,
    accuracy: &'a Accuracy,
}

impl<'a> Others<'a> {
    pub(super) fn new(accuracy: &'a Accuracy) -> Others<'a> {
        Others { rests: FxHashMap::default(), accuracy }
    }

    /// Adds the calls of a function that isn't drawn: its total, the part of that in which it ran, and its self time.
    pub(super) fn add(
        &mut self,
        caller: usize,
        calls: u64,
        (total_nanos, running_nanos, self_nanos): (f64, f64, f64),
    ) {
        let rest = self.rests.entry(caller).or_default();
        rest.callees += 1;
        rest.calls += calls;
        rest.total_nanos += total_nanos;
        rest.running_nanos += running_nanos;
        rest.self_nanos += self_nanos;
    }

    /// Adds the boxes and their arrows, of those with at least this share of the whole.
    pub(super) fn draw(
        self,
        vertices: &mut Vec<Vertex>,
        edges: &mut Vec<Edge>,
        whole_nanos: f64,
        min_share: f64,
    ) {
        let large = |rest: &Rest| label::share(rest.running_nanos, whole_nanos) >= min_share;
        let mut rests: Vec<(usize, Rest)> = self.rests.into_iter().filter(|(_, rest)| large(rest)).collect();
        rests.sort_by_key(|&(caller, _)| caller);
        for (caller, Rest { callees, calls, total_nanos, running_nanos, self_nanos }) in rests {
            let figures = Figures {
                func: None,
                func_share: None,
                calls,
                is_counted: false,
                total_nanos,
                running_nanos,
                self_nanos,
                whole_nanos,
                accuracy: self.accuracy,
            };
            let name = plural(callees as u64, "other");
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
