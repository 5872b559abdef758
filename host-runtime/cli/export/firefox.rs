//! The Firefox Profiler's JSON.

use super::Opts;
use super::stream::{finish, tell_unit};
use crate::input;
use crate::product::Product;
use crate::traces::{Again, Trace};
use anyhow::Context;
use kperf_export::formats::firefox;

/// The most samples that the profiler loads without trouble.
const MOST_SAMPLES: u64 = 1_000_000;

/// Exports.
pub(super) fn run(opts: &Opts) -> anyhow::Result<()> {
    let calls = opts.calls.parse()?;
    let again = Again::new(&opts.trace)?;
    let interval = match opts.interval {
        Some(nanos) => nanos,
        None => (again.profile_of(&calls)?.wall_nanos() / MOST_SAMPLES).max(1_000),
    };
    let Trace { reader, progress } = again.open_for(&calls, false)?;
    tell_unit(reader.header());
    let mut out = Product::create(&opts.output, false)?;
    let program = input::module_name(&opts.trace);
    let advance = |bytes| progress.set_position(bytes);
    let exported = calls.with(|filter| firefox::write(reader, filter, interval, &program, &mut out, advance));
    progress.finish_and_clear();
    finish(&calls, &exported.context("failed to export the trace")?, out)
}
