//! The flat profile of a sampled trace: exact counts, and times with errors.

use super::{NAME, TableOptions, callers_text, error_text, grouped, name_text, plural, write_table};
use kperf_profile::{Accuracy, Profile, Row, Sampling, Symbols, Unit, nanos_text};
use std::io::{self, Write};

/// How long calls were open and how long not, by the samples; and how many calls are listed one by one.
pub fn busy_text(profile: &Profile, sampling: &Sampling) -> String {
    let nanos = |ticks| Unit::of(&profile.header).text(profile.header.nanos(ticks));
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
    symbols: &Symbols,
    accuracy: &Accuracy,
    rows: &[&Row],
    limit: usize,
    options: TableOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let titles = ["self %", "±", "self", "total", "calls", "avg", "function", "callers"];
    let cells = |row: &Row| {
        vec![
            format!("{:.1}", 100.0 * row.share),
            error_text(accuracy, row).unwrap_or_default(),
            accuracy.time_text(row.self_nanos),
            accuracy.time_text(row.total_nanos),
            grouped(row.calls),
            accuracy.mean_text(row.average_nanos, row.total_nanos, row.calls),
            name_text(symbols.label(row.func), NAME, options),
            callers_text(symbols, &row.callers, options),
        ]
    };
    write_table(&titles, titles.len() - 2, (rows, limit), options, cells, out)
}
