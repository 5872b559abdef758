//! Formats with one entry for each path of calls.

use super::Opts;
use crate::shared::allocations;
use crate::shared::output;
use crate::shared::product::Product;
use crate::shared::table::plural;
use crate::shared::traces;
use anyhow::{Context, bail};
use kperf_export::formats::pprof;
use kperf_profile::{Heap, Profile, Shortened};
use std::io;

pub(super) fn heap(opts: &Opts) -> anyhow::Result<()> {
    let calls = opts.calls.parse()?;
    if let Some(flag) = calls.of_parts() {
        bail!("blocks are followed through the whole trace; remove {flag}");
    }
    let (profile, heap) = traces::source(&opts.trace).calls(&calls).observed(Heap::default())?;
    allocations::check(&profile, &heap)?;
    traces::report_health(&profile.health);
    heap.warnings().iter().for_each(output::warn);
    let mut out = Product::create(&opts.output, true)?;
    let name = out.name();
    let shortened = pprof::write_heap(&profile, &heap, &mut out);
    traces::warn_shortened(shortened.with_context(|| format!("failed to write `{name}`"))?);
    out.finish()?;
    output::status(format_args!("{name}: {}", plural(heap.total().allocated().get(), "block")));
    Ok(())
}

/// Writes a format of a profile's paths.
pub(super) fn write(
    opts: &Opts,
    is_binary: bool,
    work: impl FnOnce(&Profile, &mut Product) -> io::Result<Shortened>,
) -> anyhow::Result<()> {
    let profile = traces::source(&opts.trace).calls(&opts.calls.parse()?).profile()?;
    traces::report_health(&profile.health);
    let mut out = Product::create(&opts.output, is_binary)?;
    let shortened = work(&profile, &mut out).with_context(|| format!("failed to write `{}`", out.name()))?;
    let name = out.name();
    out.finish()?;
    traces::warn_shortened(shortened);
    output::status(format_args!("{name}: {}", plural(profile.calls(), "call")));
    Ok(())
}
