//! k-perf's text files: a pair for each lane, in a folder.

use super::stream::warn_of_unit;
use crate::shared::input;
use crate::shared::output;
use crate::shared::product::Product;
use crate::shared::traces::{self, Trace};
use anyhow::{Context, bail};
use kperf_export::formats::kperf;
use std::cell::RefCell;
use std::fs;
use std::io;

/// Exports.
pub(super) fn run(opts: &super::Opts) -> anyhow::Result<()> {
    let calls = opts.calls.parse()?;
    let folder = &opts.output;
    let Trace { reader, progress, .. } = traces::source(&opts.trace).calls(&calls).with_times().open()?;
    warn_of_unit(reader.header());
    fs::create_dir_all(folder)
        .with_context(|| format!("failed to make the folder `{}`", folder.display()))?;
    let program = input::module_name(&opts.trace);
    // The files are renamed to their names after all are complete.
    let products = RefCell::new(Vec::new());
    let create = |name: &str| {
        let product = Product::create(&folder.join(name), false).map_err(io::Error::other)?;
        let writer = product.writer();
        products.borrow_mut().push(product);
        writer
    };
    let options = kperf::Options { leave_ids: opts.leave_ids };
    let exported = calls.with(|filter| {
        let open = |lane| create(&kperf::trace_file_name(&program, lane));
        kperf::write_traces(reader, filter, &options, open, |bytes| progress.set_position(bytes))
    });
    progress.finish_and_clear();
    let exported = exported.context("failed to export the trace")?;
    calls.check(&exported.symbols, &exported.health, &exported.lanes)?;
    if exported.lanes.is_empty() {
        bail!("the trace has no calls to export");
    }
    let mut files = 0;
    for lane in exported.lanes.iter().filter(|lane| calls.want_lane(lane.id)) {
        let name = kperf::symbols_file_name(&kperf::trace_file_name(&program, lane.id));
        create(&name)
            .and_then(|out| kperf::write_symbols(&exported.symbols, out))
            .context("failed to write the symbols")?;
        files += 2;
    }
    for product in products.into_inner() {
        product.finish()?;
    }
    traces::report_health(&exported.health);
    output::status(format_args!("{}: {} calls in {files} files", folder.display(), exported.calls));
    Ok(())
}
