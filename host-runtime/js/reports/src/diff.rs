//! What changed between two traces, or two sets of them.

mod cell;

use crate::answer::{Answer, Failure};
use crate::traces::{Source, Traces, warnings};
use cell::Cell;
use kperf_profile::{Change, DiffRow, Metric, Profile, ProfileDiff, Sample, Unit, printable};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// The comparison.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiffFields {
    /// How many of the traces are those before.
    pub before: usize,
    /// What changes are sorted by.
    #[serde(default)]
    pub metric: MetricField,
    /// Whether paths of calls are compared, not functions.
    #[serde(default)]
    pub paths: bool,
    /// Records in JSON, not a table.
    #[serde(default)]
    pub json: bool,
    /// How many changes are written; 0 for all.
    #[serde(default)]
    pub limit: usize,
}

/// What changes are sorted by.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricField {
    /// Self time.
    #[default]
    #[serde(rename = "self")]
    Own,
    /// Total time.
    Total,
    /// Calls.
    Calls,
}

/// A column: its key in JSON, and its title in the table (`""`: the table doesn't have it).
type Column = (&'static str, &'static str);

impl DiffFields {
    pub(crate) fn make<S: Source>(
        &self,
        traces: &mut Traces<'_, S>,
        out: &mut impl Write,
    ) -> Result<Answer, Failure> {
        let metric = match self.metric {
            MetricField::Own => Metric::Own,
            MetricField::Total => Metric::Total,
            MetricField::Calls => Metric::Calls,
        };
        let profiles = (0..traces.count())
            .map(|trace| Ok(traces.read(trace, ())?.0))
            .collect::<Result<Vec<_>, Failure>>()?;
        traces.calls.check(&profiles.iter().collect::<Vec<_>>())?;
        let samples: Vec<Sample> = profiles.iter().map(|profile| self.sample(profile)).collect();
        let (before, after) = samples.split_at_checked(self.before).unwrap_or_default();
        if before.is_empty() || after.is_empty() {
            return Err(Failure("there must be a trace before and one after".to_owned()));
        }
        if samples.iter().any(|sample| sample.unit != before.first().map_or(Unit::Time, |first| first.unit)) {
            return Err(Failure(
                "some of the traces tell times, others instructions (`--clock instructions`): they can't be compared".to_owned(),
            ));
        }
        let diff = ProfileDiff::new(before, after, metric);
        let limit = if self.limit == 0 { diff.rows.len() } else { self.limit };
        let shown = diff.rows.get(..limit).unwrap_or(&diff.rows);
        if self.json {
            write_json(&diff, shown, metric, out)?;
        } else {
            let about = |side: &[Profile]| side.first().map(about).unwrap_or_default();
            let (a, b) = profiles.split_at_checked(self.before).unwrap_or_default();
            writeln!(
                out,
                "# A: {}, {}\n# B: {}, {}",
                runs(before.len()),
                about(a),
                runs(after.len()),
                about(b)
            )?;
            write_table(&diff, shown, metric, out)?;
        }
        let told = profiles.iter().enumerate();
        let told =
            told.flat_map(|(trace, profile)| warnings(profile).into_iter().map(move |told| (trace, told)));
        let warnings = told.map(|(trace, warning)| format!("{}: {warning}", traces.name(trace))).collect();
        Ok(Answer { warnings, calls: diff.rows.len() as u64, shown: shown.len() as u64, resolution: 0 })
    }

    fn sample(&self, profile: &Profile) -> Sample {
        let name_of = |func| profile.symbols.name(func).into_owned();
        if self.paths {
            Sample::by_path(profile, name_of)
        } else {
            Sample::by_function(profile, None, name_of)
        }
    }
}

fn about(profile: &Profile) -> String {
    let modules: Vec<&str> =
        profile.symbols.tables().iter().map(|table| table.module.name.as_str()).collect();
    printable(&modules.join(", ")).into_owned()
}

fn runs(count: usize) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}

/// The columns of the command of Rust. The table has those of the metric's test only if several runs are compared.
fn columns(metric: Metric, tested: bool) -> [Column; 17] {
    let if_tested = |title| if tested { title } else { "" };
    let change = match metric {
        Metric::Own => "self B-A",
        Metric::Total => "total B-A",
        Metric::Calls => "calls B-A",
    };
    [
        ("change", change),
        ("interval_start", if_tested("95 % from")),
        ("interval_end", if_tested("to")),
        ("p", ""),
        ("p_adjusted", if_tested("p")),
        ("significant", if_tested("*")),
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

fn cells(row: &DiffRow, metric: Metric) -> [Cell; 17] {
    let change = row.change(metric);
    let time = |nanos: f64| if row.is_counted { Cell::Untimed } else { Cell::Nanos(nanos) };
    let in_unit = |value: f64| if metric == Metric::Calls { Cell::Number(value) } else { time(value) };
    let ratio = |change: &Change| change.ratio().map_or(Cell::Nothing, Cell::Ratio);
    // The mean of several runs may be a fraction.
    let calls =
        |calls: f64| if calls.fract() == 0.0 { Cell::Count(calls as u64) } else { Cell::Number(calls) };
    let test = change.test;
    [
        in_unit(change.difference()),
        test.map_or(Cell::Nothing, |test| in_unit(test.interval.0)),
        test.map_or(Cell::Nothing, |test| in_unit(test.interval.1)),
        test.map_or(Cell::Nothing, |test| Cell::Number(test.p)),
        test.map_or(Cell::Nothing, |test| Cell::Number(test.p_adjusted)),
        change.is_significant().map_or(Cell::Nothing, Cell::Flag),
        time(row.self_nanos.before),
        time(row.self_nanos.after),
        ratio(&row.self_nanos),
        time(row.total_nanos.before),
        time(row.total_nanos.after),
        ratio(&row.total_nanos),
        calls(row.calls.before),
        calls(row.calls.after),
        ratio(&row.calls),
        Cell::Word(match (row.was_there, row.is_there) {
            (false, _) => "only B",
            (_, false) => "only A",
            _ => "both",
        }),
        Cell::Name(printable(&row.name).into_owned()),
    ]
}

fn write_json(diff: &ProfileDiff, rows: &[DiffRow], metric: Metric, out: &mut impl Write) -> io::Result<()> {
    let columns = columns(metric, false);
    let record = |row: &DiffRow| -> Map<String, Value> {
        columns
            .iter()
            .zip(cells(row, metric))
            .map(|((key, _), cell)| (diff.unit.key(key), cell.json()))
            .collect()
    };
    serde_json::to_writer_pretty(&mut *out, &rows.iter().map(record).collect::<Vec<_>>())?;
    writeln!(out)
}

fn write_table(diff: &ProfileDiff, rows: &[DiffRow], metric: Metric, out: &mut impl Write) -> io::Result<()> {
    let whole = |name: &str, change: &Change, text: &dyn Fn(f64) -> Cell| {
        let ratio = change.ratio().map(|ratio| format!(", x{ratio:.2}")).unwrap_or_default();
        let [before, after] = [change.before, change.after].map(|value| text(value).text(diff.unit));
        format!("# {name}: {before} to {after}{ratio}")
    };
    writeln!(out, "{}", whole("self", &diff.whole.self_nanos, &Cell::Nanos))?;
    writeln!(out, "{}", whole("calls", &diff.whole.calls, &|calls| Cell::Count(calls.round() as u64)))?;
    let tested = diff.whole.calls.test.is_some();
    if !tested && diff.unit == Unit::Time {
        writeln!(out, "# one run a side: times may differ by chance")?;
    }
    let columns = columns(metric, tested);
    let mut lines = vec![columns.map(|(_, title)| title.to_owned())];
    lines.extend(rows.iter().map(|row| cells(row, metric).map(|cell| cell.text(diff.unit))));
    let widths: Vec<usize> = (0..columns.len())
        .map(|n| {
            lines.iter().filter_map(|line| line.get(n)).map(|text| text.chars().count()).max().unwrap_or(0)
        })
        .collect();
    for line in &lines {
        let seen = columns.iter().zip(line).zip(&widths).filter(|(((_, title), _), _)| !title.is_empty());
        let texts: Vec<String> = seen
            .map(|(((key, _), text), &width)| match *key {
                "name" | "state" => format!("{text:<width$}"),
                _ => format!("{text:>width$}"),
            })
            .collect();
        writeln!(out, "{}", texts.join("  ").trim_end())?;
    }
    match diff.rows.len() - rows.len() {
        0 => Ok(()),
        more => writeln!(out, "# and {more} more"),
    }
}
