//! `report --window`: the sum of all windows, one of them, or each.

use crate::shared::records::{self, Cell, Column, Format};
use crate::shared::table::{TableOptions, grouped, plural};
use anyhow::bail;
use kperf_profile::{Accuracy, FlatProfile, Profile, Row, WindowChoice, nanos_text};
use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

/// `--window`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window(pub WindowChoice);

impl FromStr for Window {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Window, Self::Err> {
        Ok(Window(match text {
            "sum" => WindowChoice::Sum,
            "last" => WindowChoice::Last,
            "series" => WindowChoice::Each,
            number => match number.parse() {
                Ok(number @ 1..) => WindowChoice::Nth(number),
                _ => return Err("give `sum`, `last`, `series`, or a number from 1"),
            },
        }))
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            WindowChoice::Sum => f.write_str("sum"),
            WindowChoice::Last => f.write_str("last"),
            WindowChoice::Each => f.write_str("series"),
            WindowChoice::Nth(number) => number.fmt(f),
        }
    }
}

impl Window {
    /// Whether each window has its own rows.
    pub fn is_series(self) -> bool {
        self.0 == WindowChoice::Each
    }

    /// Fails if the trace doesn't have the window that was asked for.
    pub fn check(self, profile: &Profile) -> anyhow::Result<()> {
        match (self.0, profile.sampling()) {
            (WindowChoice::Sum, _) => {}
            (_, None) => {
                bail!("--window is for profiles, and this trace has calls; choose a time with --range")
            }
            (WindowChoice::Nth(number), Some(sampling)) if sampling.windows == 0 => {
                bail!(
                    "there is no --window {number}: no lane has more than {}",
                    plural(sampling.max_windows, "window")
                );
            }
            _ => {}
        }
        Ok(())
    }

    /// Says which windows are reported, unless all are.
    pub fn write_head(self, profile: &Profile, out: &mut impl Write) -> io::Result<()> {
        let Some(sampling) = profile.sampling().filter(|_| self.0 != WindowChoice::Sum) else {
            return Ok(());
        };
        let which = match self.0 {
            WindowChoice::Nth(number) => format!("number {number} of {}", grouped(sampling.max_windows)),
            WindowChoice::Last => format!("the last of {}", grouped(sampling.max_windows)),
            _ => format!("all {}", grouped(sampling.windows)),
        };
        let since_start =
            |ticks: u64| nanos_text(profile.header.nanos(ticks.saturating_sub(profile.start_ticks)));
        let range =
            sampling.range.map(|(start, end)| format!(", {} to {}", since_start(start), since_start(end)));
        writeln!(out, "# window: {which}{}", range.unwrap_or_default())
    }
}

const COLUMNS: [Column; 11] = [
    ("window", "window"),
    ("lane", "lane"),
    ("start_nanos", "from"),
    ("end_nanos", "to"),
    ("share", "self %"),
    ("share_error", "±"),
    ("self_nanos", "self"),
    ("total_nanos", "total"),
    ("calls", "calls"),
    ("id", ""),
    ("function", "function"),
];

/// How many functions of each window a table shows without --limit.
const SHOWN: usize = 5;

/// Writes a row for each function in each window: the first `limit` of each window (0 for all). Times count from the
/// trace's beginning.
pub fn write_series(
    profile: &Profile,
    sort: impl Fn(&mut [&Row]),
    limit: Option<usize>,
    format: Format,
    options: TableOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let limit = limit.unwrap_or(if format == Format::Table { SHOWN } else { 0 });
    let nanos = |ticks: u64| Cell::Nanos(profile.header.nanos(ticks) as f64);
    let (symbols, mut records, mut more) = (&profile.symbols, Vec::new(), 0);
    for window in &profile.windows {
        let flat = FlatProfile::new(&window.tree, symbols, &profile.header, None);
        let accuracy =
            Accuracy::of_samples(&window.sampling, flat.self_nanos, flat.calls, profile.count_nanos());
        let mut rows: Vec<&Row> = flat.rows.iter().collect();
        sort(&mut rows);
        let shown = if limit == 0 { rows.len() } else { limit.min(rows.len()) };
        more += rows.len() - shown;
        records.extend(rows.into_iter().take(shown).map(|row| {
            vec![
                Cell::Count(window.number),
                Cell::Name(window.lane.to_string()),
                nanos(window.start_ticks.saturating_sub(profile.start_ticks)),
                nanos(window.end_ticks.saturating_sub(profile.start_ticks)),
                Cell::Share(row.share),
                accuracy.share_error(row.func, row.share, row.calls).map_or(Cell::Nothing, Cell::Share),
                accuracy.time_cell(row.self_nanos, false),
                accuracy.time_cell(row.total_nanos, false),
                Cell::Count(row.calls),
                Cell::Count(row.func.0.into()),
                Cell::Name(symbols.label(row.func)),
            ]
        }));
    }
    records::write(format, &COLUMNS, &records, 0, options, out)?;
    match (format, more) {
        (Format::Table, 1..) => {
            writeln!(out, "# and {} more rows: --limit 0 shows all", grouped(more as u64))
        }
        _ => Ok(()),
    }
}
