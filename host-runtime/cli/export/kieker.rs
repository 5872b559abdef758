//! Kieker's files, in a folder.

use super::Opts;
use super::stream::finish;
use crate::input;
use crate::traces::{self, Trace};
use anyhow::Context;
use kperf_profile::export::kieker;
use std::fs::{self, File};
use std::io::BufWriter;

/// Exports.
pub(super) fn run(opts: &Opts) -> anyhow::Result<()> {
    let calls = opts.calls.parse()?;
    let folder = &opts.output;
    let Trace { reader, progress } = traces::open(&opts.trace, false)?;
    fs::create_dir_all(folder)
        .with_context(|| format!("failed to make the folder `{}`", folder.display()))?;
    let create = |name: &str| {
        let path = folder.join(name);
        File::create(&path)
            .map(|file| BufWriter::with_capacity(1 << 16, file))
            .with_context(|| format!("failed to create `{}`", path.display()))
    };
    kieker::write_map(create(kieker::MAP_FILE)?).context("failed to write the map")?;
    let out = create(kieker::RECORDS_FILE)?;
    let program = input::module_name(&opts.trace);
    let advance = |bytes| progress.set_position(bytes);
    let exported = calls.with(|filter| kieker::write_records(reader, filter, &program, out, advance));
    progress.finish_and_clear();
    finish(&calls, &exported.context("failed to export the trace")?, &folder.display().to_string())
}
