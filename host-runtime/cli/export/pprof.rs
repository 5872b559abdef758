//! Formats with a line per path of calls.

use super::Opts;
use crate::output::{Product, tell};
use crate::table::plural;
use crate::traces;
use anyhow::Context;
use kperf_profile::Profile;
use kperf_profile::export::{folded, pprof};
use std::io;

pub(super) fn pprof(opts: &Opts) -> anyhow::Result<()> {
    write(opts, true, |profile, out| pprof::write(profile, out))
}

pub(super) fn folded(opts: &Opts) -> anyhow::Result<()> {
    write(opts, false, |profile, out| folded::write(profile, folded::Weight::Nanos, out))
}

fn write(
    opts: &Opts,
    is_binary: bool,
    work: impl FnOnce(&Profile, &mut Product) -> io::Result<()>,
) -> anyhow::Result<()> {
    let profile = traces::profile_of(&opts.trace, &opts.calls.parse()?)?;
    traces::tell_warnings(&profile.health);
    let mut out = Product::create(&opts.output, is_binary)?;
    work(&profile, &mut out).with_context(|| format!("failed to write `{}`", out.name()))?;
    tell(format_args!("{}: {}", out.name(), plural(profile.calls(), "call")));
    Ok(())
}
