//! The Firefox Profiler's JSON.

use super::Opts;
use super::stream::{finish, warn_of_unit};
use crate::shared::input;
use crate::shared::product::Product;
use crate::shared::traces::{self, Trace};
use anyhow::Context;
use kperf_export::formats::firefox;

/// More samples are trouble for the profiler.
const MAX_SAMPLES: u64 = 1_000_000;

/// Exports.
pub(super) fn run(opts: &Opts) -> anyhow::Result<()> {
    let calls = opts.calls.parse()?;
    let trace = traces::source(&opts.trace).calls(&calls).rewindable()?;
    let interval = match opts.interval {
        Some(nanos) => nanos,
        None => (trace.profile()?.wall_nanos() / MAX_SAMPLES).max(1_000),
    };
    let Trace { reader, progress, .. } = trace.open()?;
    warn_of_unit(reader.header());
    let mut out = Product::create(&opts.output, false)?;
    let program = input::module_name(&opts.trace);
    let advance = |bytes| progress.set_position(bytes);
    let exported = calls.with(|filter| firefox::write(reader, filter, interval, &program, &mut out, advance));
    progress.finish_and_clear();
    finish(&calls, &exported.context("failed to export the trace")?, out)
}
