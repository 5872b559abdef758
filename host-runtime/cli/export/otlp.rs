//! OpenTelemetry's own messages.

use super::{Format, Opts};
use crate::input;
use crate::output::tell;
use crate::spans::left_out;
use crate::table::plural;
use crate::traces::{self, Trace};
use anyhow::{Context, bail};
use kperf_otlp::{Spans, json};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

/// Exports to a file, request by request. Protobuf messages that follow each other are one message with the fields of
/// all, so that the file is a whole `TracesData` however many requests went into it.
pub(super) fn run(opts: &Opts) -> anyhow::Result<()> {
    let mut options = opts.spans.options(&opts.calls)?;
    options.metrics = opts.metrics;
    let Trace { reader, progress } = traces::open(&opts.trace, false)?;
    let mut spans = Spans::new(reader, options);
    let is_json = opts.format == Format::OtlpJson;
    let mut out = create(&opts.output, is_json)?;
    let failed = || format!("failed to write `{}`", output_name(&opts.output));
    let reading = || format!("failed to read the trace `{}`", input::name(&opts.trace));
    let mut write = |body: &[u8]| match (is_json, opts.metrics) {
        (false, _) => out.write_all(body),
        (true, false) => writeln!(out, "{}", json::traces(body)?),
        (true, true) => writeln!(out, "{}", json::metrics(body)?),
    };
    while let Some(request) = spans.next().with_context(reading)? {
        if !opts.metrics {
            write(&request.body).with_context(failed)?;
        }
        progress.set_position(spans.offset());
    }
    progress.finish_and_clear();
    let metrics = spans.metrics();
    for request in &metrics {
        write(&request.body).with_context(failed)?;
    }
    out.flush().with_context(failed)?;
    let account = opts.spans.check(&opts.calls, &mut spans)?;
    if account.calls == 0 {
        bail!("the trace has no calls, so that there is nothing to export");
    }
    let name = output_name(&opts.output);
    if opts.metrics {
        let points: u64 = metrics.iter().map(|request| request.spans).sum();
        tell(format_args!(
            "{name}: metrics of {}, {}",
            plural(account.calls, "call"),
            plural(points, "point")
        ));
    } else {
        let left_out = left_out(&account);
        tell(format_args!(
            "{name}: {} of {}{left_out}",
            plural(account.spans, "span"),
            plural(account.calls, "call")
        ));
    }
    Ok(())
}

fn output_name(path: &Path) -> String {
    if path == Path::new("-") { "stdout".into() } else { path.display().to_string() }
}

fn create(path: &Path, is_text: bool) -> anyhow::Result<Box<dyn Write>> {
    if path != Path::new("-") {
        let file = File::create(path).with_context(|| format!("failed to create `{}`", path.display()))?;
        return Ok(Box::new(BufWriter::with_capacity(1 << 16, file)));
    }
    let stdout = io::stdout();
    if !is_text && stdout.is_terminal() {
        bail!("protobuf is binary and stdout is a terminal; name a file with -o FILE, or pipe it");
    }
    Ok(Box::new(BufWriter::with_capacity(1 << 16, stdout)))
}
