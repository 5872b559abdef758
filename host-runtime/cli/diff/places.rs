//! The paths of calls on which functions grew.

use super::verdict::Finding;
use super::{By, Opts};
use crate::shared::flags::filters::{CallSelection, TraceContents};
use crate::shared::traces;
use kperf_profile::{Metric, ProfileDiff, Sample, Unit, printable};
use std::collections::HashMap;
use std::path::PathBuf;

/// The greatest number of calls of a path to name, from the innermost.
const MAX_NAMED: usize = 24;

impl Opts {
    /// Adds to each function that grew the path on which it grew most. Reads the traces again.
    pub(super) fn add_places(
        &self,
        grown: &mut [Finding],
        metric: Metric,
        (before, after): &(&[PathBuf], &[PathBuf]),
        calls: &CallSelection<'_>,
    ) -> anyhow::Result<()> {
        let again = before.iter().chain(*after).all(|path| traces::can_be_read_twice(path));
        if self.by == By::Path || !again || grown.iter().all(|grown| grown.function.is_none()) {
            return Ok(());
        }
        let side = |paths: &[PathBuf]| self.side(paths, By::Path, calls, &mut TraceContents::default());
        let (before, after) = (side(before)?, side(after)?);
        let diff = ProfileDiff::new(&before.samples, &after.samples, metric);
        let mut wanted: HashMap<&str, Option<(f64, &str)>> =
            grown.iter().filter_map(|grown| Some((grown.function.as_deref()?, None))).collect();
        for row in &diff.rows {
            let difference = row.change(metric).difference();
            // A function's name may contain the separator.
            for (at, _) in std::iter::once((0, "")).chain(row.name.match_indices(Sample::SEPARATOR)) {
                let last = row.name.get(at..).unwrap_or_default();
                let last = last.strip_prefix(Sample::SEPARATOR).unwrap_or(last);
                if let Some(largest) = wanted.get_mut(last)
                    && difference > largest.map_or(0.0, |(largest, _)| largest)
                {
                    *largest = Some((difference, &row.name));
                }
            }
        }
        let found: Vec<_> = grown
            .iter()
            .map(|grown| wanted.get(grown.function.as_deref()?).copied().flatten())
            .map(|largest| largest.map(|(difference, path)| place(difference, path, metric, diff.unit)))
            .collect();
        for (grown, place) in grown.iter_mut().zip(found) {
            grown.place = place;
        }
        Ok(())
    }
}

fn place(difference: f64, path: &str, metric: Metric, unit: Unit) -> String {
    let much = match metric {
        Metric::Calls => format!("{difference}"),
        Metric::SelfTime | Metric::Total => unit.text(difference.round() as u64),
    };
    let names: Vec<&str> = path.split(Sample::SEPARATOR).collect();
    let shown = names.get(names.len().saturating_sub(MAX_NAMED)..).unwrap_or_default();
    let cut = if shown.len() < names.len() { ".. > " } else { "" };
    format!("{much} of it in {cut}{}", printable(&shown.join(Sample::SEPARATOR)))
}
