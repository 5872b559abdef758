//! Formats with one entry for each path of calls.

use super::Opts;
use crate::output::tell;
use crate::product::Product;
use crate::report::allocations;
use crate::table::plural;
use crate::traces;
use anyhow::{Context, bail};
use kperf_export::formats::{folded, pprof};
use kperf_profile::{Heap, Profile, Shortened};
use std::io;

pub(super) fn pprof(opts: &Opts) -> anyhow::Result<()> {
    write(opts, true, |profile, out| pprof::write(profile, out))
}

pub(super) fn pprof_heap(opts: &Opts) -> anyhow::Result<()> {
    let calls = opts.calls.parse()?;
    if let Some(flag) = calls.of_parts() {
        bail!("blocks are followed through the whole trace; leave {flag} out");
    }
    let (profile, heap) = traces::profile_observed(&opts.trace, &calls, Heap::default())?;
    allocations::check(&profile, &heap)?;
    traces::tell_warnings(&profile.health);
    heap.warnings().iter().for_each(|warning| tell(format_args!("warning: {warning}")));
    let mut out = Product::create(&opts.output, true)?;
    let name = out.name();
    let shortened = pprof::write_heap(&profile, &heap, &mut out);
    traces::tell_shortened(shortened.with_context(|| format!("failed to write `{name}`"))?);
    out.finish()?;
    tell(format_args!("{name}: {}", plural(heap.total().allocated().get(), "block")));
    Ok(())
}

pub(super) fn folded(opts: &Opts) -> anyhow::Result<()> {
    write(opts, false, |profile, out| folded::write(profile, folded::Weight::Nanos, out))
}

fn write(
    opts: &Opts,
    is_binary: bool,
    work: impl FnOnce(&Profile, &mut Product) -> io::Result<Shortened>,
) -> anyhow::Result<()> {
    let profile = traces::profile_of(&opts.trace, &opts.calls.parse()?)?;
    traces::tell_warnings(&profile.health);
    let mut out = Product::create(&opts.output, is_binary)?;
    let shortened = work(&profile, &mut out).with_context(|| format!("failed to write `{}`", out.name()))?;
    let name = out.name();
    out.finish()?;
    traces::tell_shortened(shortened);
    tell(format_args!("{name}: {}", plural(profile.calls(), "call")));
    Ok(())
}
