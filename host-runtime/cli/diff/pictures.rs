//! `--graph` and `--flame`: pictures of changes, in red and blue.

use super::{By, Opts, Side};
use crate::removed;
use crate::shared::flags::filters::{CallSelection, TraceContents};
use crate::shared::output;
use crate::shared::picture::{self, Layout};
use crate::shared::product::Product;
use anyhow::{Context, bail};
use kperf_export::formats::flame;
use kperf_export::graph;
use kperf_profile::{Metric, ProfileDiff};
use std::path::{Path, PathBuf};

/// The least share of a function in a picture, and the greatest number of boxes.
const LEAST: f64 = 0.005;
const BOXES: usize = 60;

impl Opts {
    /// Draws the pictures that the flags ask for. Reads the traces again if a picture compares paths and the
    /// table functions, or the reverse.
    pub(super) fn draw(
        &self,
        metric: Metric,
        sides: (&Side, &Side),
        paths: &(&[PathBuf], &[PathBuf]),
        calls: &CallSelection<'_>,
    ) -> anyhow::Result<()> {
        let matched = |by: By| -> anyhow::Result<Option<(Side, Side)>> {
            if by == self.by {
                return Ok(None);
            }
            let side = |paths| self.side(paths, by, calls, &mut TraceContents::default());
            Ok(Some((side(paths.0)?, side(paths.1)?)))
        };
        if let Some(path) = &self.graph {
            let read = matched(By::Function)?;
            let (before, after) = read.as_ref().map_or(sides, |(before, after)| (before, after));
            let diff = ProfileDiff::new(&before.samples, &after.samples, Metric::SelfTime);
            let title = vec![
                format!("A: {}", before.about),
                format!("B: {}", after.about),
                "red: more time in itself than in A, blue: less".to_owned(),
            ];
            let limits = (self.min_share.unwrap_or(0.0).max(LEAST), BOXES);
            let picture = graph::diff_picture(&diff, &before.samples, &after.samples, limits, title);
            write_graph(&picture, path)?;
        }
        if let Some(path) = &self.flame {
            let read = matched(By::Path)?;
            let (before, after) = read.as_ref().map_or(sides, |(before, after)| (before, after));
            let diff = ProfileDiff::new(&before.samples, &after.samples, metric);
            let metric = if metric == Metric::Calls { Metric::Calls } else { Metric::SelfTime };
            let mut out = Product::create(path, false)?;
            flame::write_diff(
                &graph::diff_lines(&diff, metric),
                "B, colored by the change since A",
                &mut out,
            )
            .with_context(|| format!("failed to write `{}`", path.display()))?;
            out.finish()?;
            output::status(format_args!("{}: red grew, blue shrank", path.display()));
        }
        Ok(())
    }
}

fn write_graph(picture: &graph::Picture, path: &Path) -> anyhow::Result<()> {
    let mut dot = Vec::new();
    graph::dot(picture, &mut dot)?;
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let drawn = || -> anyhow::Result<String> { picture::svg(std::str::from_utf8(&dot)?, Layout::default()) };
    let bytes = match ending {
        "dot" | "gv" => dot.clone(),
        "svg" => drawn()?.into_bytes(),
        _ => match removed::instead("diff", ending) {
            Some(instead) => bail!(instead),
            None => bail!("the ending of `{}` is not a known format; use .svg or .dot", path.display()),
        },
    };
    Product::write(path, false, &bytes)?;
    let graph::Picture { vertices, edges, .. } = picture;
    output::status(format_args!("{}: {} boxes, {} arrows", path.display(), vertices.len(), edges.len()));
    Ok(())
}
