//! Formats with a record for each call or event: one file, written while the trace is read.

use super::{Format, Opts};
use crate::shared::flags::filters::CallSelection;
use crate::shared::output;
use crate::shared::product::Product;
use crate::shared::table::plural;
use crate::shared::traces::{self, Input, Trace};
use anyhow::Context;
use kperf_profile::{CallFilter, Exported, Unit};
use kperf_trace::{Header, TraceReader};
use std::io;

/// Opens the trace and the file, and calls `work` with them.
pub(super) fn write(
    opts: &Opts,
    is_binary: bool,
    work: impl FnOnce(
        TraceReader<Input>,
        &CallFilter<'_>,
        &mut Product,
        &mut dyn FnMut(u64),
    ) -> io::Result<Exported>,
) -> anyhow::Result<()> {
    let calls = opts.calls.parse()?;
    // Times in these formats count from the first lane's beginning, and their columns name the unit.
    let has_times = matches!(opts.format, Format::Csv | Format::Parquet);
    let source = traces::source(&opts.trace).calls(&calls);
    let Trace { reader, progress, .. } = if has_times { source.with_times() } else { source }.open()?;
    let mut out = Product::create(&opts.output, is_binary)?;
    if !has_times {
        warn_of_unit(reader.header());
    }
    let mut advance = |bytes| progress.set_position(bytes);
    let exported = calls.with(|filter| work(reader, filter, &mut out, &mut advance));
    progress.finish_and_clear();
    finish(&calls, &exported.context("failed to export the trace")?, out)
}

/// Warns if the clock is instructions and the format has only times.
pub(super) fn warn_of_unit(header: &Header) {
    if Unit::of(header) == Unit::Instructions {
        output::status(
            "warning: the trace counts instructions, and the format has only times: each is written as a nanosecond",
        );
    }
}

/// Renames the complete file to its name, and prints the number of calls.
pub(super) fn finish(calls: &CallSelection<'_>, exported: &Exported, out: Product) -> anyhow::Result<()> {
    check(calls, exported)?;
    let name = out.name();
    out.finish()?;
    report_calls(exported, &name);
    Ok(())
}

/// Warns of what the trace lacks. Fails if a filter matches nothing.
pub(super) fn check(calls: &CallSelection<'_>, exported: &Exported) -> anyhow::Result<()> {
    traces::report_health(&exported.health);
    calls.check(&exported.symbols, &exported.health, &exported.lanes)
}

pub(super) fn report_calls(exported: &Exported, name: &str) {
    if exported.health.sampling.is_some() {
        output::status(
            "warning: this is a profile. The file has only the slow calls that samples saw, and the time between them looks like their own; \
             `--format folded` and `--format pprof` have the samples",
        );
    }
    output::status(format_args!("{name}: {}", plural(exported.calls, "call")));
}
