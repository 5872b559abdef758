//! The flat profile of a trace that was sampled: exact counts, times with their errors.

use super::{NAME, TableOptions, callers_text, fine_text, grouped, name_text, plural, write_table};
use kperf_profile::{Profile, Row, Sampling, Symbols, nanos_text};
use std::io::{self, Write};

/// Says how the times came about: instead of the clock.
pub fn text(sampling: &Sampling) -> String {
    let torn = match sampling.torn {
        0 => String::new(),
        torn => format!(", {} torn", grouped(torn)),
    };
    format!(
        "{}, one in {}{torn}: counts are exact, times are those of a sampler",
        plural(sampling.samples, "sample"),
        nanos_text(sampling.period_nanos)
    )
}

/// How long calls were open, and not, by the samples; and which are told one by one.
pub fn busy_text(profile: &Profile, sampling: &Sampling) -> String {
    let nanos = |ticks| nanos_text(profile.header.nanos(ticks));
    let spans = match sampling.span_min_nanos {
        0 => String::new(),
        least => format!(
            "; {} of {} or more told one by one",
            plural(profile.health.counts.spans, "call"),
            nanos_text(least)
        ),
    };
    format!("{} in calls, {} outside{spans}", nanos(sampling.busy_ticks), nanos(sampling.idle_ticks))
}

/// Writes the first `limit` rows (all for 0), and how many are left out. Shortest and longest calls are not known.
pub fn write_rows(
    symbols: &Symbols,
    sampling: &Sampling,
    rows: &[&Row],
    limit: usize,
    options: TableOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let titles = ["self %", "±", "self", "total", "calls", "avg", "function", "callers"];
    let cells = |row: &Row| {
        vec![
            format!("{:.1}", 100.0 * row.share),
            format!("{:.1}", 100.0 * sampling.error(row.share)),
            nanos_text(row.self_nanos.round() as u64),
            nanos_text(row.total_nanos.round() as u64),
            grouped(row.calls),
            fine_text(row.average_nanos),
            name_text(symbols.label(row.func), NAME, options),
            callers_text(symbols, &row.callers, options),
        ]
    };
    write_table(&titles, titles.len() - 2, rows, limit, cells, out)
}
