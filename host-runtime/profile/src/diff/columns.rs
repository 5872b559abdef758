//! The table of a comparison.

use crate::diff::compare::{Change, DiffRow, Metric, ProfileDiff};
use crate::report::cell::{Cell, Column};
use crate::symbols::printable;
use crate::text::{grouped, plural};
use crate::unit::Unit;
use std::io::{self, Write};

impl ProfileDiff {
    /// The lines above a table: self time and calls of both sides, and what makes the comparison doubtful.
    pub fn write_head(&self, out: &mut impl Write) -> io::Result<()> {
        let whole = |change: &Change, text: &dyn Fn(f64) -> String| {
            let ratio = change.ratio().map(|ratio| format!(", x{ratio:.2}")).unwrap_or_default();
            format!("{} to {}{ratio}", text(change.before), text(change.after))
        };
        let time = |nanos: f64| self.unit.text(nanos.round() as u64);
        writeln!(out, "# self: {}", whole(&self.whole.self_nanos, &time))?;
        writeln!(out, "# calls: {}", whole(&self.whole.calls, &|calls| grouped(calls.round() as u64)))?;
        let counted = self.rows.iter().filter(|row| row.is_counted).count();
        if counted > 0 {
            let functions = plural(counted as u64, "function");
            writeln!(
                out,
                "# {functions} counted only on one side: there the time is part of the callers' time"
            )?;
        }
        if self.whole.calls.test.is_none() && self.unit == Unit::Time {
            writeln!(out, "# one run a side: times may differ by chance")?;
        }
        Ok(())
    }

    /// The columns. The metric's test has columns only if several runs are compared.
    pub fn columns(&self, metric: Metric) -> [Column; 17] {
        let tested = self.whole.calls.test.is_some();
        let if_tested = |title| if tested { title } else { "" };
        let change = match metric {
            Metric::SelfTime => "self B-A",
            Metric::Total => "total B-A",
            Metric::Calls => "calls B-A",
        };
        [
            ("change", change),
            ("interval_start", if_tested("95 % from")),
            ("interval_end", if_tested("to")),
            ("p", ""),
            ("p_adjusted", if_tested("p")),
            ("significant", if_tested(" ")),
            ("self_nanos_before", "self A"),
            ("self_nanos_after", "self B"),
            ("self_ratio", "B/A"),
            ("total_nanos_before", "total A"),
            ("total_nanos_after", "total B"),
            ("total_ratio", "B/A"),
            ("calls_before", "calls A"),
            ("calls_after", "calls B"),
            ("calls_ratio", "B/A"),
            ("state", "there"),
            ("name", "function"),
        ]
    }
}

impl DiffRow {
    /// The figures of a row, in the order of [`ProfileDiff::columns`].
    pub fn cells(&self, metric: Metric) -> Vec<Cell> {
        let change = self.change(metric);
        let time = |nanos: f64| Cell::time(nanos, self.is_counted);
        let rough = |nanos: f64, error_nanos: Option<f64>| match error_nanos.filter(|_| !self.is_counted) {
            Some(error_nanos) => Cell::Sampled { nanos, error_nanos },
            None => time(nanos),
        };
        let before = |change: &Change| rough(change.before, change.seen_errors().map(|[before, _]| before));
        let after = |change: &Change| rough(change.after, change.seen_errors().map(|[_, after]| after));
        let in_unit = |value: f64| if metric == Metric::Calls { Cell::Number(value) } else { time(value) };
        let test = change.test;
        let ratio = |change: &Change| change.ratio().map_or(Cell::Nothing, Cell::Ratio);
        // The mean of several runs may be a fraction.
        let calls =
            |calls: f64| if calls.fract() == 0.0 { Cell::Count(calls as u64) } else { Cell::Number(calls) };
        vec![
            match metric {
                Metric::Calls => in_unit(change.difference()),
                _ => {
                    let error = change.seen_errors().map(|[before, after]| before.hypot(after));
                    rough(change.difference(), error)
                }
            },
            test.map_or(Cell::Nothing, |test| in_unit(test.interval.0)),
            test.map_or(Cell::Nothing, |test| in_unit(test.interval.1)),
            test.map_or(Cell::Nothing, |test| Cell::Number(test.p)),
            test.map_or(Cell::Nothing, |test| Cell::Number(test.p_adjusted)),
            change.is_significant().map_or(Cell::Nothing, Cell::Flag),
            before(&self.self_nanos),
            after(&self.self_nanos),
            ratio(&self.self_nanos),
            before(&self.total_nanos),
            after(&self.total_nanos),
            ratio(&self.total_nanos),
            calls(self.calls.before),
            calls(self.calls.after),
            ratio(&self.calls),
            Cell::Word(match (self.was_there, self.is_there) {
                (false, _) => "only B",
                (_, false) => "only A",
                _ => "both",
            }),
            Cell::Name(printable(&self.name).into_owned()),
        ]
    }
}
