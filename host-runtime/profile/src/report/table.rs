//! The flat profile as the texts of a table.

use crate::reading::profile::Profile;
use crate::sampled::accuracy::Accuracy;
use crate::symbols::Symbols;
use crate::text::{plural, shortened};
use crate::tree::flat::{Caller, Row};
use std::io::{self, Write};

/// Longest name of a function, in characters, unless names are in full.
const NAME: usize = 48;
/// Longest name of a caller.
const CALLER: usize = 32;
/// How many rows a table has at most by default.
const MAX_ROWS: usize = 30;

/// The texts of a flat profile's rows.
#[derive(Clone, Copy, Debug)]
pub struct RowTexts<'a> {
    /// Names.
    pub symbols: &'a Symbols,
    /// The digits of times, and the errors of shares.
    pub accuracy: &'a Accuracy,
    /// Whether the trace is a profile, which doesn't show the shortest and the longest call.
    pub is_profile: bool,
    /// Whether names are written in full, however long they are.
    pub full_names: bool,
}

impl<'a> RowTexts<'a> {
    /// The texts of a profile's rows, with short names.
    pub fn new(profile: &'a Profile, accuracy: &'a Accuracy) -> RowTexts<'a> {
        let is_profile = profile.sampling().is_some();
        RowTexts { symbols: &profile.symbols, accuracy, is_profile, full_names: false }
    }

    /// The titles, and how many of the first columns are numbers. `more`: those of columns before that of the longest call.
    pub fn titles(&self, more: &[&'static str]) -> (Vec<&'static str>, usize) {
        let mut titles = vec!["self %"];
        if self.has_errors() {
            titles.push("±");
        }
        titles.extend(["self", "total", "calls", "avg"]);
        if !self.is_profile {
            titles.push("min");
            titles.extend(more);
            titles.push("max");
        }
        let numbers = titles.len();
        titles.extend(["function", "callers"]);
        (titles, numbers)
    }

    /// The texts of a row.
    pub fn cells(&self, row: &Row, more: Vec<String>) -> Vec<String> {
        let accuracy = self.accuracy;
        let known = |text: String| if row.is_counted { "-".to_owned() } else { text };
        let mut cells = vec![known(format!("{:.1}", 100.0 * row.share))];
        if self.has_errors() {
            let error = accuracy.share_error(row.func, row.share, row.calls);
            cells.push(error.map_or_else(String::new, |error| known(format!("{:.1}", 100.0 * error))));
        }
        cells.extend([
            known(accuracy.time_text(row.self_nanos)),
            known(accuracy.time_text(row.total_nanos)),
            accuracy.count_text(row.calls),
            known(accuracy.mean_text(row.average_nanos, row.total_nanos, row.calls)),
        ]);
        if !self.is_profile {
            cells.push(known(accuracy.call_text(row.min_nanos)));
            cells.extend(more.into_iter().map(known));
            cells.push(known(accuracy.call_text(row.max_nanos)));
        }
        cells.extend([self.name(self.symbols.label(row.func), NAME), self.callers(&row.callers)]);
        cells
    }

    fn has_errors(&self) -> bool {
        self.is_profile || !self.accuracy.has_exact_shares()
    }

    fn name(&self, name: String, limit: usize) -> String {
        if self.full_names { name } else { shortened(name, limit) }
    }

    /// The caller with the most calls, and the number of other callers.
    fn callers(&self, callers: &[Caller]) -> String {
        let name = |caller: &Caller| self.name(self.symbols.label(caller.func), CALLER);
        match callers {
            [] => String::new(),
            [only] => name(only),
            [first, others @ ..] => format!("{} +{}", name(first), others.len()),
        }
    }

    /// Writes the first `limit` rows (all for 0) as a table without colors, and how many are left out.
    pub fn write(&self, rows: &[&Row], limit: usize, out: &mut impl Write) -> io::Result<()> {
        let listed = if limit == 0 { rows } else { rows.get(..limit).unwrap_or(rows) };
        let (titles, numbers) = self.titles(&[]);
        let mut lines = vec![titles.into_iter().map(str::to_owned).collect::<Vec<_>>()];
        lines.extend(listed.iter().map(|row| self.cells(row, Vec::new())));
        let width = |n: usize| {
            let texts = lines.iter().filter_map(|line: &Vec<String>| line.get(n));
            texts.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..lines.first().map_or(0, Vec::len)).map(width).collect();
        for line in &lines {
            let cells = line.iter().zip(&widths).enumerate();
            let cells: Vec<String> = cells
                .map(|(n, (text, &width))| match n < numbers {
                    true => format!("{text:>width$}"),
                    false => format!("{text:<width$}"),
                })
                .collect();
            writeln!(out, "{}", cells.join("  ").trim_end())?;
        }
        match rows.len() - listed.len() {
            0 => Ok(()),
            more => writeln!(out, "# and {}", plural(more as u64, "more function")),
        }
    }
}

/// How many of the rows with the most self time a table has by default: as many as make up 99 % of the time.
pub fn usual_rows(profile: &Profile, rows: &[&Row]) -> usize {
    // Small shares are exact if no time is.
    let is_exact = profile.precision(1.0).is_none() && profile.runs().is_none();
    let all: f64 = rows.iter().map(|row| row.share).sum();
    if is_exact || all <= 0.0 {
        return MAX_ROWS;
    }
    let sums = rows.iter().scan(0.0, |sum, row| {
        *sum += row.share;
        Some(*sum)
    });
    (sums.take_while(|sum| *sum < 0.99 * all).count() + 1).min(MAX_ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::HOST;
    use kperf_abi::FuncId;

    #[test]
    fn the_main_caller_is_named() {
        let caller = |func, calls| Caller { func, calls };
        let (symbols, accuracy) = (Symbols::default(), Accuracy::default());
        let texts = RowTexts { symbols: &symbols, accuracy: &accuracy, is_profile: false, full_names: false };
        assert_eq!(texts.callers(&[]), "");
        assert_eq!(texts.callers(&[caller(HOST, 1)]), "[host]");
        let three = [caller(FuncId(7), 3), caller(FuncId(8), 2), caller(FuncId(9), 1)];
        assert_eq!(texts.callers(&three), "func id 7 +2");
    }
}
