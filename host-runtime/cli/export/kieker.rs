//! Kieker's files, in a folder.

use super::Opts;
use super::stream::{check, report_calls, warn_of_unit};
use crate::shared::input;
use crate::shared::product::Product;
use crate::shared::traces::{self, Trace};
use anyhow::Context;
use kperf_export::formats::kieker;
use std::fs;

/// Exports.
pub(super) fn run(opts: &Opts) -> anyhow::Result<()> {
    let calls = opts.calls.parse()?;
    let folder = &opts.output;
    let Trace { reader, progress, .. } = traces::source(&opts.trace).calls(&calls).open()?;
    warn_of_unit(reader.header());
    fs::create_dir_all(folder)
        .with_context(|| format!("failed to make the folder `{}`", folder.display()))?;
    let mut map = Product::create(&folder.join(kieker::MAP_FILE), false)?;
    kieker::write_map(&mut map).context("failed to write the map")?;
    let mut out = Product::create(&folder.join(kieker::RECORDS_FILE), false)?;
    let program = input::module_name(&opts.trace);
    let advance = |bytes| progress.set_position(bytes);
    let exported = calls.with(|filter| kieker::write_records(reader, filter, &program, &mut out, advance));
    progress.finish_and_clear();
    let exported = exported.context("failed to export the trace")?;
    check(&calls, &exported)?;
    map.finish()?;
    out.finish()?;
    report_calls(&exported, &folder.display().to_string());
    Ok(())
}
