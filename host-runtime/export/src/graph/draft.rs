//! Fits a picture into the limit of boxes, and folds chains of calls into one box.

use crate::graph::label;
use crate::graph::picture::{Edge, Options, Picture, Vertex};
use kperf_profile::plural;

/// A box with a larger share of self time than this isn't folded into its caller.
const THIN: f64 = 0.01;
/// How many names of a chain are written into its box.
const NAMES: usize = 4;

/// Boxes and arrows before chains are folded.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) vertices: Vec<Vertex>,
    pub(super) edges: Vec<Edge>,
    /// By vertex; those of [`Vertex::is_rest`] have none.
    pub(super) facts: Vec<Option<Fact>>,
    /// How many functions (or paths) have too little time, or are too many, to be drawn.
    pub(super) left_out: usize,
}

/// The figures that decide whether a box is part of a chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fact {
    pub(super) calls: u64,
    /// Its own part of the whole time, 0 to 1.
    pub(super) self_share: f64,
}

/// Draws the most important of `candidates` boxes, as many as fit; `draw` drafts the first `n`. `noun`: "function" or
/// "path".
pub(super) fn fitting(
    candidates: usize,
    options: &Options,
    noun: &str,
    draw: impl Fn(usize) -> Draft,
) -> Picture {
    let max = options.max_vertices.max(1);
    // Most pictures are done at once; chains and rests make it a guess.
    let mut drawn = candidates.min(max.saturating_mul(8)).max(1);
    loop {
        let mut draft = draw(drawn);
        let left_out = draft.left_out;
        let thin = drop_thin(&mut draft, options.min_share / 10.0);
        let (vertices, edges, folded) = fold(draft);
        if vertices.len() <= max || drawn == 1 {
            let mut title = options.title.clone();
            title.extend(left_out_text((folded, left_out, thin), noun, options.min_share));
            return Picture { title, vertices, edges };
        }
        drawn = drawn.saturating_sub(((vertices.len() - max) / 2).max(1)).max(1);
    }
}

/// The line of the title about what has no box of its own.
fn left_out_text(
    (folded, left_out, thin): (usize, usize, usize),
    noun: &str,
    min_share: f64,
) -> Option<String> {
    let percent = |share: f64| (share * 1e8).round() / 1e6;
    let mut parts = Vec::new();
    if folded > 0 {
        let are = if folded == 1 { "is" } else { "are" };
        parts.push(format!("{} {are} in the box of what it calls alone", plural(folded as u64, noun)));
    }
    if left_out > 0 {
        let few = plural(left_out as u64, noun);
        let have = if left_out == 1 { "has" } else { "have" };
        parts.push(format!("{few} {have} no box: below {} %, or beyond --boxes", percent(min_share)));
    }
    if thin > 0 {
        let are = if thin == 1 { "is" } else { "are" };
        parts.push(format!(
            "{} below {} % {are} not drawn",
            plural(thin as u64, "arrow"),
            percent(min_share / 10.0)
        ));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Removes arrows with less than this share where a heavier one ends at the same box. Returns how many.
fn drop_thin(draft: &mut Draft, min: f64) -> usize {
    let mut heaviest = vec![0.0f64; draft.vertices.len()];
    for edge in &draft.edges {
        heaviest[edge.to] = heaviest[edge.to].max(edge.weight);
    }
    let before = draft.edges.len();
    draft.edges.retain(|edge| edge.weight >= min || edge.weight >= heaviest[edge.to]);
    before - draft.edges.len()
}

/// Makes one box of each chain: boxes with hardly any self time, each call of which makes a single call of the next, which
/// has no other caller. Returns the boxes, the arrows, and how many boxes are in others.
fn fold(draft: Draft) -> (Vec<Vertex>, Vec<Edge>, usize) {
    let Draft { vertices, edges, facts, .. } = draft;
    let mut callers = vec![0u32; vertices.len()];
    let mut callees = vec![0u32; vertices.len()];
    for edge in &edges {
        callees[edge.from] += 1;
        callers[edge.to] += 1;
    }
    let mut next: Vec<Option<usize>> = vec![None; vertices.len()];
    let mut is_inner = vec![false; vertices.len()];
    for &Edge { from, to, .. } in &edges {
        let (Some(caller), Some(callee)) = (facts[from], facts[to]) else { continue };
        let single = callees[from] == 1 && callers[to] == 1 && caller.calls == callee.calls;
        if single && from != to && caller.self_share < THIN {
            next[from] = Some(to);
            is_inner[to] = true;
        }
    }
    // Where each box went. A ring of such boxes has no first one, and stays as it is.
    let mut places = vec![usize::MAX; vertices.len()];
    let mut kept: Vec<Vertex> = Vec::new();
    let mut folded = 0;
    for first in (0..vertices.len()).filter(|&n| !is_inner[n]) {
        let mut chain = vec![first];
        while let Some(inner) = chain.last().and_then(|&last| next[last]) {
            chain.push(inner);
        }
        chain.iter().for_each(|&n| places[n] = kept.len());
        folded += chain.len() - 1;
        kept.push(one_of(chain.iter().map(|&n| &vertices[n]).collect()));
    }
    for (n, vertex) in
        vertices.iter().enumerate().filter(|(n, _)| places[*n] == usize::MAX).collect::<Vec<_>>()
    {
        places[n] = kept.len();
        kept.push(vertex.clone());
        next[n] = None;
    }
    let within = |edge: &Edge| next[edge.from] == Some(edge.to);
    let edges = edges.into_iter().filter(|edge| !within(edge));
    let edges = edges.map(|edge| Edge { from: places[edge.from], to: places[edge.to], ..edge }).collect();
    (kept, edges, folded)
}

/// The box of a chain: the names of all, or of the first and the last ones, and the figures of the last.
fn one_of(chain: Vec<&Vertex>) -> Vertex {
    let Some((last, outer)) = chain.split_last() else { return Vertex::default() };
    let mut name: Vec<String> =
        outer.iter().map(|vertex| format!("{} >", label::line(vertex.whole_name()))).collect();
    if name.len() >= NAMES {
        let left_out = name.len() + 2 - NAMES;
        name.splice(1..=left_out, [format!("({left_out} more) >")]);
    }
    name.extend(last.name.iter().cloned());
    let first = outer.first().unwrap_or(last);
    let names: Vec<&str> = outer.iter().map(|vertex| vertex.whole_name()).collect();
    let tooltip = names.iter().map(|name| format!("{name} >\n")).collect::<String>() + &last.tooltip;
    Vertex { name, tooltip: label::whole(&tooltip), fill: first.fill.clone(), ..(*last).clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(boxes: &[(&str, u64, f64)], arrows: &[(usize, usize)]) -> Draft {
        let vertex = |name: &str| Vertex {
            name: vec![name.to_owned()],
            tooltip: format!("{name}\nx"),
            ..Vertex::default()
        };
        Draft {
            vertices: boxes.iter().map(|(name, ..)| vertex(name)).collect(),
            edges: arrows.iter().map(|&(from, to)| Edge { from, to, ..Edge::default() }).collect(),
            facts: boxes.iter().map(|&(_, calls, self_share)| Some(Fact { calls, self_share })).collect(),
            left_out: 0,
        }
    }

    fn text(draft: Draft) -> String {
        let (vertices, edges, folded) = fold(draft);
        let boxes: Vec<String> = vertices.iter().map(|vertex| vertex.name.join(" ")).collect();
        let arrows: Vec<String> = edges.iter().map(|edge| format!("{}-{}", edge.from, edge.to)).collect();
        format!("{} | {} | {folded}", boxes.join(", "), arrows.join(" "))
    }

    #[test]
    fn chains_of_single_calls_are_one_box() {
        let chain = [("a", 1, 0.0), ("b", 1, 0.0), ("c", 1, 0.5), ("d", 9, 0.4), ("e", 9, 0.1)];
        let arrows = [(0, 1), (1, 2), (2, 3), (3, 4)];
        assert_eq!(text(draft(&chain, &arrows)), "a > b > c, d, e | 0-1 1-2 | 2");
        let long: Vec<_> = ["a", "b", "c", "d", "e", "f", "g"].map(|name| (name, 1, 0.0)).to_vec();
        let arrows: Vec<_> = (0..6).map(|n| (n, n + 1)).collect();
        assert_eq!(text(draft(&long, &arrows)), "a > (4 more) > f > g |  | 6");
    }

    #[test]
    fn forks_joins_and_rings_stay() {
        let boxes = [("a", 1, 0.0), ("b", 1, 0.0), ("c", 1, 0.0)];
        assert_eq!(text(draft(&boxes, &[(0, 1), (0, 2)])), "a, b, c | 0-1 0-2 | 0");
        assert_eq!(text(draft(&boxes, &[(0, 2), (1, 2)])), "a, b, c | 0-2 1-2 | 0");
        assert_eq!(text(draft(&boxes, &[(0, 1), (1, 2), (2, 0)])), "a, b, c | 0-1 1-2 2-0 | 0");
        assert_eq!(text(draft(&boxes, &[(0, 0), (0, 1)])), "a, b, c | 0-0 0-1 | 0");
    }

    #[test]
    fn arrows_without_weight_beside_others_are_left_out() {
        let mut draft = draft(&[("a", 1, 0.0), ("b", 1, 0.0), ("c", 2, 1.0)], &[(0, 1), (0, 2), (1, 2)]);
        [0.0, 0.5, 0.0001].iter().zip(&mut draft.edges).for_each(|(&weight, edge)| edge.weight = weight);
        assert_eq!(drop_thin(&mut draft, 0.001), 1);
        assert_eq!(text(draft), "a, b, c | 0-1 0-2 | 0");
    }

    #[test]
    fn as_many_boxes_as_fit() {
        let names: Vec<String> = (0..500).map(|n| n.to_string()).collect();
        let boxes: Vec<_> = names.iter().map(|name| (name.as_str(), 1, 0.5)).collect();
        for max in [1, 7, 40, 600] {
            let options = Options { max_vertices: max, ..Options::default() };
            let picture = fitting(500, &options, "function", |n| Draft {
                left_out: 500 - n,
                ..draft(&boxes[..n], &[])
            });
            assert_eq!(picture.vertices.len(), max.min(500));
            assert_eq!(picture.title.len(), usize::from(max < 500));
        }
    }
}
