//! `report --histogram`: how long calls took.

use super::percentiles::{self, PERCENTILES};
use crate::shared::records::{self, Cell, Column, Format};
use crate::shared::table::{TableOptions, grouped, plural};
use kperf_profile::{Accuracy, Histogram, Histograms, Profile, Row, Unit};
use std::io::{self, Write};

/// The greatest number of rows in a histogram.
const ROWS: usize = 20;
/// Width of the longest bar.
const BAR: usize = 50;

const COLUMNS: [Column; 4] =
    [("function", "function"), ("start_nanos", "from"), ("end_nanos", "to"), ("calls", "calls")];

/// Writes a histogram for each function. The other formats have a record for each bucket that has calls.
pub fn write(
    profile: &Profile,
    histograms: &Histograms,
    rows: &[&Row],
    accuracy: &Accuracy,
    format: Format,
    out: &mut impl Write,
) -> io::Result<()> {
    if format != Format::Table {
        let timed = rows.iter().filter(|row| !row.is_counted);
        let records = timed.filter_map(|row| Some((row, histograms.get(row.func)?)));
        let records = records.flat_map(|(row, histogram)| {
            histogram.buckets().map(|bucket| {
                let nanos = |ticks| Cell::Nanos(profile.header.nanos(ticks) as f64);
                let name = Cell::Name(profile.symbols.label(row.func));
                vec![name, nanos(bucket.start_ticks), nanos(bucket.end_ticks), Cell::Count(bucket.count)]
            })
        });
        let records: Vec<_> = records.collect();
        let options = TableOptions { unit: Unit::of(&profile.header), ..TableOptions::default() };
        return records::write(format, &COLUMNS, &records, 0, options, out);
    }
    for (n, row) in rows.iter().enumerate() {
        let Some(histogram) = histograms.get(row.func) else { continue };
        if n > 0 {
            writeln!(out)?;
        }
        let label = profile.symbols.label(row.func);
        let calls = plural(histogram.count(), "call");
        if row.is_counted {
            writeln!(out, "# {label}: {calls}, counted only")?;
            continue;
        }
        writeln!(out, "# {label}: {calls}")?;
        write_one(profile, histogram, accuracy, out)?;
    }
    Ok(())
}

fn write_one(
    profile: &Profile,
    histogram: &Histogram,
    accuracy: &Accuracy,
    out: &mut impl Write,
) -> io::Result<()> {
    let text = |ticks| Unit::of(&profile.header).text(profile.header.nanos(ticks));
    let known = |ticks| accuracy.call_text(profile.header.nanos(ticks) as f64);
    let buckets = histogram.rows(ROWS);
    let max = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0).max(1);
    let digits = grouped(max).len().max(5);
    writeln!(out, "{:>11}    {:>11}  {:>digits$}", "from", "to", "calls")?;
    for bucket in &buckets {
        // In eighths of a character. A bucket with calls has at least one.
        let eighths = (bucket.count as f64 / max as f64 * (BAR * 8) as f64).round() as usize;
        let eighths = if bucket.count > 0 { eighths.max(1) } else { 0 };
        let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"].get(eighths % 8).copied().unwrap_or_default();
        let line = format!(
            "{:>11} .. {:>11}  {:>digits$}  {}{part}",
            text(bucket.start_ticks),
            text(bucket.end_ticks),
            grouped(bucket.count),
            "█".repeat(eighths / 8),
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    let percentiles = PERCENTILES.map(|(name, part)| format!("{name} {}", known(histogram.percentile(part))));
    writeln!(out, "# {}; each {}", percentiles.join(", "), percentiles::error_text(accuracy))
}
