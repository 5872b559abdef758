//! The flat profile of a sampled trace: exact counts, and times with errors.

use super::{
    NAME, TableOptions, callers_text, error_text, grouped, name_text, plural, sampled_times, write_table,
};
use kperf_profile::{Precision, Profile, Row, RunErrors, Sampling, WindowProfile, nanos_text};
use std::io::{self, Write};

/// The line about sampling, in place of the clock's.
pub fn text(profile: &Profile, sampling: &Sampling) -> String {
    let distance = match sampling.samples {
        0 => sampling.period_nanos,
        samples => profile.header.nanos(sampling.busy_ticks.saturating_add(sampling.idle_ticks)) / samples,
    };
    let torn = match sampling.torn {
        0 => String::new(),
        torn => format!(", {} torn", grouped(torn)),
    };
    format!(
        "{}, one in {}{torn}: counts of functions are exact; times, and counts by caller, are sampled",
        plural(sampling.samples, "sample"),
        nanos_text(distance)
    )
}

/// The line about a program that ran several times.
pub fn runs_text(profile: &Profile, runs: &[WindowProfile], sampling: &Sampling) -> String {
    let runs = plural(runs.len() as u64, "run");
    // Samples of the runs with probes are not counted.
    let samples = sampling.effective_samples().round() as u64;
    let busy = profile.header.nanos(sampling.busy_ticks);
    format!(
        "means of {runs} without probes, {}, one in {}; counts: means of {runs} with probes",
        plural(samples, "sample"),
        nanos_text(busy.checked_div(samples).unwrap_or(sampling.period_nanos))
    )
}

/// How long calls were open and how long not, by the samples; and how many calls are listed one by one.
pub fn busy_text(profile: &Profile, sampling: &Sampling) -> String {
    let nanos = |ticks| nanos_text(profile.header.nanos(ticks));
    let spans = match sampling.span_min_nanos {
        0 => String::new(),
        min => format!(
            "; {} of {} or more listed one by one",
            plural(profile.health.counts.spans, "call"),
            nanos_text(min)
        ),
    };
    format!("{} in calls, {} outside{spans}", nanos(sampling.busy_ticks), nanos(sampling.idle_ticks))
}

/// Writes the first `limit` rows (all for 0), and how many are left out. There are no columns for the shortest and the longest
/// call, which samples don't show.
pub fn write_rows(
    profile: &Profile,
    precision: &Precision,
    rows: &[&Row],
    limit: usize,
    options: TableOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let (symbols, runs) = (&profile.symbols, RunErrors::of(profile));
    let error = |row: &Row| match &runs {
        Some(runs) => format!("{:.1}", 100.0 * runs.share_error(row.func)),
        None => error_text(precision, row),
    };
    let titles = ["self %", "±", "self", "total", "calls", "avg", "function", "callers"];
    let cells = |row: &Row| {
        let [self_time, total, average] = sampled_times(precision, row);
        vec![
            format!("{:.1}", 100.0 * row.share),
            error(row),
            self_time,
            total,
            grouped(row.calls),
            average,
            name_text(symbols.label(row.func), NAME, options),
            callers_text(symbols, &row.callers, options),
        ]
    };
    write_table(&titles, titles.len() - 2, (rows, limit), options, cells, out)
}
