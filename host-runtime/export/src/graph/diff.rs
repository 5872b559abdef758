//! Pictures of a comparison: red takes longer than before, blue less.

use crate::graph::label;
use crate::graph::picture::{Edge, Picture, Vertex};
use kperf_profile::{Change, DiffRow, Figures, Metric, ProfileDiff, Sample, Unit};
use std::collections::BTreeMap;

/// The call graph of both sides together: a box for each function, colored by how much its self time changed, an arrow for
/// each two, colored by the change of what these calls took. Functions below `min_share` of the whole time on both sides
/// are left out, and so are those over `max_vertices`.
pub fn diff_picture(
    diff: &ProfileDiff,
    before: &[Sample],
    after: &[Sample],
    (min_share, max_vertices): (f64, usize),
    title: Vec<String>,
) -> Picture {
    let whole = diff.whole.self_nanos;
    let whole = whole.before.max(whole.after);
    let size = |row: &&DiffRow| row.total_nanos.before.max(row.total_nanos.after);
    let mut rows: Vec<&DiffRow> =
        diff.rows.iter().filter(|row| label::share(size(row), whole) >= min_share).collect();
    rows.sort_by(|a, b| size(b).total_cmp(&size(a)).then_with(|| a.name.cmp(&b.name)));
    rows.truncate(max_vertices);
    let max = rows.iter().map(|row| row.self_nanos.difference().abs()).fold(0.0, f64::max);
    let vertices = rows.iter().map(|row| vertex(row, max, diff.unit)).collect();
    let places: BTreeMap<&str, usize> = rows.iter().zip(0..).map(|(row, n)| (row.name.as_str(), n)).collect();
    let edges = edges(before, after, &places, whole);
    Picture { title, vertices, edges }
}

fn vertex(row: &DiffRow, max: f64, unit: Unit) -> Vertex {
    let time = |what: &str, change: &Change| {
        let text = |nanos: f64| unit.text(nanos.round() as u64);
        format!("{what} {} to {}{}", text(change.before), text(change.after), ratio(change))
    };
    let lines = vec![time("total", &row.total_nanos), time("self", &row.self_nanos), calls(&row.calls)];
    let tooltip = format!("{}\n{}", label::whole(&row.name), lines.join("\n"));
    let change = row.self_nanos.difference() / max.max(f64::MIN_POSITIVE);
    Vertex {
        name: label::wrapped(&row.name),
        lines,
        tooltip,
        fill: label::change_color(change),
        is_rest: false,
    }
}

fn edges(before: &[Sample], after: &[Sample], places: &BTreeMap<&str, usize>, whole: f64) -> Vec<Edge> {
    let mut arcs: BTreeMap<(usize, usize), [Figures; 2]> = BTreeMap::new();
    for (side, samples) in [before, after].into_iter().enumerate() {
        for ((caller, callee), figures) in samples.iter().flat_map(|sample| &sample.arcs) {
            let (Some(&from), Some(&to)) = (places.get(caller.as_str()), places.get(callee.as_str())) else {
                continue;
            };
            let sum = &mut arcs.entry((from, to)).or_default()[side];
            sum.calls += figures.calls / samples.len() as f64;
            sum.total_nanos += figures.total_nanos / samples.len() as f64;
        }
    }
    let change = |sums: &[Figures; 2]| sums[1].total_nanos - sums[0].total_nanos;
    let max = arcs.values().map(|sums| change(sums).abs()).fold(f64::MIN_POSITIVE, f64::max);
    let edge = |((from, to), sums): ((usize, usize), [Figures; 2])| {
        let [was, is] = sums;
        let calls = calls(&Change { before: was.calls, after: is.calls, test: None });
        let weight = label::share(was.total_nanos.max(is.total_nanos), whole);
        Edge { from, to, lines: vec![calls], weight, color: label::change_arrow_color(change(&sums) / max) }
    };
    arcs.into_iter().map(edge).collect()
}

fn calls(change: &Change) -> String {
    let text = |calls: f64| label::count(calls.round() as u64, "call");
    if change.before == change.after {
        return text(change.after);
    }
    let before = text(change.before);
    let before = before.trim_end_matches(" calls").trim_end_matches(" call");
    format!("{before} to {}", text(change.after))
}

fn ratio(change: &Change) -> String {
    change.ratio().map(|ratio| format!(" (x{ratio:.2})")).unwrap_or_default()
}

/// Folded stacks with two numbers each, before and after, as differential flame graphs want them.
pub fn diff_lines(by_path: &ProfileDiff, metric: Metric) -> Vec<String> {
    let line = |row: &DiffRow| {
        let Change { before, after, .. } = *row.change(metric);
        let stack: Vec<String> =
            row.name.split(Sample::SEPARATOR).map(|name| name.replace(';', ",")).collect();
        format!("{} {:.0} {:.0}", stack.join(";"), before, after)
    };
    let seen = |row: &&DiffRow| row.change(metric).before.round() + row.change(metric).after.round() > 0.0;
    by_path.rows.iter().filter(seen).map(line).collect()
}
