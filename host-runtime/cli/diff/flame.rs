//! `--flame`: a flame graph of changes, in red and blue.

use super::{By, Opts, Side};
use crate::shared::flags::filters::{CallSelection, TraceContents};
use crate::shared::output;
use crate::shared::product::Product;
use anyhow::Context;
use kperf_export::formats::flame;
use kperf_export::graph;
use kperf_profile::{Metric, ProfileDiff};
use std::path::PathBuf;

impl Opts {
    /// Draws the flame graph if it is wanted. Reads the traces again if the table compares functions.
    pub(super) fn draw(
        &self,
        metric: Metric,
        sides: (&Side, &Side),
        paths: &(&[PathBuf], &[PathBuf]),
        calls: &CallSelection<'_>,
    ) -> anyhow::Result<()> {
        let Some(path) = &self.flame else { return Ok(()) };
        let side = |paths| self.side(paths, By::Path, calls, &mut TraceContents::default());
        let read = if self.by == By::Path { None } else { Some((side(paths.0)?, side(paths.1)?)) };
        let (before, after) = read.as_ref().map_or(sides, |(before, after)| (before, after));
        let diff = ProfileDiff::new(&before.samples, &after.samples, metric);
        let metric = if metric == Metric::Calls { Metric::Calls } else { Metric::SelfTime };
        let mut out = Product::create(path, false)?;
        flame::write_diff(&graph::diff_lines(&diff, metric), "B, colored by the change since A", &mut out)
            .with_context(|| format!("failed to write `{}`", path.display()))?;
        out.finish()?;
        output::status(format_args!("{}: red grew, blue shrank", path.display()));
        Ok(())
    }
}
