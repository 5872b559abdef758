//! OpenTelemetry's own messages.

use super::{Format, Opts};
use crate::shared::flags::spans::{check_times, left_out, refuse_single_calls};
use crate::shared::input;
use crate::shared::output;
use crate::shared::product::Product;
use crate::shared::table::plural;
use crate::shared::traces::{self, Trace};
use anyhow::{Context, bail};
use kperf_otlp::{Limits, Request, Spans, json};
use std::io::Write;

/// Exports to a file, request by request. Protobuf messages one after the other are one message with the fields of all, so
/// the file is one `TracesData`.
pub(super) fn run(opts: &Opts) -> anyhow::Result<()> {
    let mut options = opts.spans.options(&opts.calls)?;
    options.metrics = opts.metrics;
    let Trace { reader, progress, .. } = traces::source(&opts.trace).symbols(&opts.calls.symbols).open()?;
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
    if opts.metrics {
        refuse_single_calls(&account, &opts.calls)?;
    }
    if account.calls == 0 && metrics.is_empty() {
        bail!("the trace has no calls to export");
    }
    out.finish()?;
    if opts.metrics {
        let points: u64 = metrics.iter().map(|request| request.spans).sum();
        output::status(format_args!("{name}: metrics, {}", plural(points, "point")));
    } else {
        let left_out = left_out(&account);
        output::status(format_args!(
            "{name}: {} of {}{left_out}",
            plural(account.spans, "span"),
            plural(account.calls, "call")
        ));
    }
    Ok(())
}

/// Bytes of a file of profiles, at most. Readers take no message of 2 GiB.
const MAX_PROFILES: usize = 1 << 29;

/// Exports the profile to a file. In protobuf it is one request: each has a dictionary with indices of its own, so several in
/// a row would read as one message with wrong indices. In JSON each request is a line.
pub(super) fn profiles(opts: &Opts) -> anyhow::Result<()> {
    let mut options = opts.spans.profile_options()?;
    let (profile, heap) = traces::linked_profile(&opts.trace, &opts.calls.parse()?)?;
    traces::report_health(&profile.health);
    if profile.calls() == 0 {
        bail!("the trace has no calls to export");
    }
    let is_json = opts.format == Format::OtlpJson;
    let mut out = Product::create(&opts.output, !is_json)?;
    let name = out.name();
    if !is_json {
        options.limits = Limits { bytes: MAX_PROFILES, spans: u64::MAX };
    }
    let mut profiles = 0;
    let write = |Request { body, spans, .. }: Request| -> anyhow::Result<()> {
        if is_json {
            writeln!(out, "{}", json::profiles(&body)?)?;
        } else if profiles == 0 {
            out.write_all(&body)?;
        } else {
            bail!(
                "it would have more than 512 MiB; take --format otlp-json, or less of the trace (--only, --depth)"
            );
        }
        profiles += spans;
        Ok(())
    };
    let shortened = kperf_otlp::profiles_with_memory(&profile, heap.as_ref(), &options, write)
        .with_context(|| format!("failed to write `{name}`"))?;
    out.finish()?;
    traces::warn_shortened(shortened);
    output::status(format_args!(
        "{name}: {} of {}",
        plural(profiles, "profile"),
        plural(profile.calls(), "call")
    ));
    Ok(())
}
