//! speedscope's JSON.
//!
//! - It has the events lane by lane, so the trace is read once for each lane.

use super::Opts;
use super::stream::finish;
use crate::shared::input;
use crate::shared::product::Product;
use crate::shared::traces;
use anyhow::{Context, bail};
use kperf_export::formats::speedscope;
use kperf_trace::LaneId;
use std::io;

/// Exports.
pub(super) fn run(opts: &Opts) -> anyhow::Result<()> {
    let calls = opts.calls.parse()?;
    let trace = traces::source(&opts.trace).calls(&calls).rewindable()?;
    let profile = trace.profile()?;
    let lanes: Vec<LaneId> =
        profile.lanes.iter().map(|lane| lane.id).filter(|&lane| calls.want_lane(lane)).collect();
    let mut out = Product::create(&opts.output, false)?;
    let open = || trace.open().map(|trace| trace.reader).map_err(io::Error::other);
    let program = input::module_name(&opts.trace);
    let progress = trace.open()?.progress;
    let exported = calls.with(|filter| {
        speedscope::write(open, filter, &lanes, &program, &mut out, |bytes| progress.set_position(bytes))
    });
    progress.finish_and_clear();
    match exported.context("failed to export the trace")? {
        Some(exported) => finish(&calls, &exported, out),
        None => bail!("the trace has no calls to export"),
    }
}
