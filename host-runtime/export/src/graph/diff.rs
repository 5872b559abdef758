//! Folded stacks of a comparison.

use kperf_profile::{Change, DiffRow, Metric, ProfileDiff, Sample};

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
