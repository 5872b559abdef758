//! `--graph` and `--flame`: what changed, in red and blue.

use super::{By, Opts, Side};
use crate::filters::{Calls, Known};
use crate::output::{Product, tell};
use crate::picture::{self, Layout};
use anyhow::{Context, bail};
use kperf_profile::export::{flame, graph};
use kperf_profile::{Metric, ProfileDiff};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A picture leaves out what has a smaller share than this, and has no more boxes than that.
const LEAST: f64 = 0.005;
const BOXES: usize = 60;

impl Opts {
    /// Draws what was asked for. What the table doesn't match by is read once more.
    pub(super) fn draw(
        &self,
        metric: Metric,
        sides: (&Side, &Side),
        paths: &(&[PathBuf], &[PathBuf]),
        calls: &Calls<'_>,
    ) -> anyhow::Result<()> {
        let matched = |by: By| -> anyhow::Result<Option<(Side, Side)>> {
            if by == self.by {
                return Ok(None);
            }
            let side = |paths| self.side(paths, by, calls, &mut Known::default());
            Ok(Some((side(paths.0)?, side(paths.1)?)))
        };
        if let Some(path) = &self.graph {
            let read = matched(By::Function)?;
            let (before, after) = read.as_ref().map_or(sides, |(before, after)| (before, after));
            let diff = ProfileDiff::new(&before.samples, &after.samples, Metric::Own);
            let title = vec![
                format!("A: {}", before.about),
                format!("B: {}", after.about),
                "red: more time in itself than in A, blue: less".to_owned(),
            ];
            let limits = (self.min_share.max(LEAST), BOXES);
            let picture = graph::diff_picture(&diff, &before.samples, &after.samples, limits, title);
            write_graph(&picture, path)?;
        }
        if let Some(path) = &self.flame {
            let read = matched(By::Path)?;
            let (before, after) = read.as_ref().map_or(sides, |(before, after)| (before, after));
            let diff = ProfileDiff::new(&before.samples, &after.samples, metric);
            let metric = if metric == Metric::Calls { Metric::Calls } else { Metric::Own };
            let mut out = Product::create(path, false)?;
            flame::write_diff(
                &graph::diff_lines(&diff, metric),
                "B, colored by the change since A",
                &mut out,
            )
            .with_context(|| format!("failed to write `{}`", path.display()))?;
            tell(format_args!("{}: red grew, blue shrank", out.name()));
        }
        Ok(())
    }
}

fn write_graph(picture: &graph::Picture, path: &Path) -> anyhow::Result<()> {
    let context = || format!("failed to write `{}`", path.display());
    let mut dot = Vec::new();
    graph::dot(picture, &mut dot)?;
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let drawn = || -> anyhow::Result<String> { picture::svg(std::str::from_utf8(&dot)?, Layout::default()) };
    let bytes = match ending {
        "dot" | "gv" => dot.clone(),
        "svg" => drawn()?.into_bytes(),
        "png" => picture::png(&drawn()?, 1.0)?,
        _ => {
            bail!("`{}` doesn't say which format it is to have; end it in .svg, .png or .dot", path.display())
        }
    };
    let mut out = Product::create(path, ending == "png")?;
    out.write_all(&bytes).and_then(|()| out.flush()).with_context(context)?;
    let graph::Picture { vertices, edges, .. } = picture;
    tell(format_args!("{}: {} boxes, {} arrows", out.name(), vertices.len(), edges.len()));
    Ok(())
}
