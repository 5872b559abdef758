//! OpenTelemetry's own messages.

use super::{Format, Opts};
use crate::input;
use crate::output::tell;
use crate::product::Product;
use crate::spans::{check_times, left_out};
use crate::table::plural;
use crate::traces::{self, Trace};
use anyhow::{Context, bail};
use kperf_otlp::{Request, Spans, json};
use std::io::Write;

/// Exports to a file, request by request. Protobuf messages one after the other are one message with the fields of all, so
/// the file is one `TracesData`.
pub(super) fn run(opts: &Opts) -> anyhow::Result<()> {
    let mut options = opts.spans.options(&opts.calls)?;
    options.metrics = opts.metrics;
    let Trace { reader, progress } = traces::open(&opts.trace, &opts.calls.symbols, false)?;
    check_times(reader.header())?;
    let mut spans = Spans::new(reader, options);
    let is_json = opts.format == Format::OtlpJson;
    let mut out = Product::create(&opts.output, !is_json)?;
    let name = out.name();
    let failed = || format!("failed to write `{name}`");
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
    let account = opts.spans.check(&opts.calls, &mut spans)?;
    if account.calls == 0 {
        bail!("the trace has no calls to export");
    }
    out.finish()?;
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

/// Exports the profile to a file, request by request, as [`run`] does it.
pub(super) fn profiles(opts: &Opts) -> anyhow::Result<()> {
    let options = opts.spans.profile_options()?;
    let profile = traces::profile_of(&opts.trace, &opts.calls.parse()?)?;
    traces::tell_warnings(&profile.health);
    if profile.calls() == 0 {
        bail!("the trace has no calls to export");
    }
    let is_json = opts.format == Format::OtlpJson;
    let mut out = Product::create(&opts.output, !is_json)?;
    let name = out.name();
    let mut samples = 0;
    let write = |Request { body, spans, .. }: Request| -> anyhow::Result<()> {
        samples += spans;
        if is_json {
            writeln!(out, "{}", json::profiles(&body)?)?;
        } else {
            out.write_all(&body)?;
        }
        Ok(())
    };
    let shortened = kperf_otlp::profiles(&profile, &options, write)
        .with_context(|| format!("failed to write `{name}`"))?;
    out.finish()?;
    traces::tell_shortened(shortened);
    tell(format_args!("{name}: {} of {}", plural(samples, "sample"), plural(profile.calls(), "call")));
    Ok(())
}
