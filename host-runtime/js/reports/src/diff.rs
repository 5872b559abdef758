//! Compares two traces, or two sets of them.

use crate::answer::{Answer, Failure};
use crate::traces::{Source, Traces, warnings};
use kperf_profile::{DiffRow, Metric, Profile, ProfileDiff, Sample, Unit, grouped, plural, printable};
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
    SelfTime,
    /// Total time.
    Total,
    /// Calls.
    Calls,
}

impl DiffFields {
    pub(crate) fn make<S: Source>(
        &self,
        traces: &mut Traces<'_, S>,
        out: &mut impl Write,
    ) -> Result<Answer, Failure> {
        let metric = match self.metric {
            MetricField::SelfTime => Metric::SelfTime,
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
                "some of the traces have times, others instructions (`--clock instructions`): they can't be compared".to_owned(),
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
                plural(before.len() as u64, "run"),
                about(a),
                plural(after.len() as u64, "run"),
                about(b)
            )?;
            write_table(&diff, shown, metric, out)?;
        }
        let mut all_warnings = Vec::new();
        for (trace, profile) in profiles.iter().enumerate() {
            let name = traces.name(trace);
            all_warnings.extend(warnings(profile).into_iter().map(|warning| format!("{name}: {warning}")));
        }
        Ok(Answer {
            warnings: all_warnings,
            calls: diff.rows.len() as u64,
            shown: shown.len() as u64,
            resolution: 0,
        })
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

fn write_json(diff: &ProfileDiff, rows: &[DiffRow], metric: Metric, out: &mut impl Write) -> io::Result<()> {
    let columns = diff.columns(metric);
    let record = |row: &DiffRow| -> Map<String, Value> {
        columns
            .iter()
            .zip(row.cells(metric))
            .map(|((key, _), cell)| (diff.unit.key(key), cell.json()))
            .collect()
    };
    serde_json::to_writer_pretty(&mut *out, &rows.iter().map(record).collect::<Vec<_>>())?;
    writeln!(out)
}

fn write_table(diff: &ProfileDiff, rows: &[DiffRow], metric: Metric, out: &mut impl Write) -> io::Result<()> {
    diff.write_head(out)?;
    let columns = diff.columns(metric);
    let mut lines = vec![columns.map(|(_, title)| title.to_owned()).to_vec()];
    lines.extend(rows.iter().map(|row| row.cells(metric).iter().map(|cell| cell.text(diff.unit)).collect()));
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
        more => writeln!(out, "# and {} more", grouped(more as u64)),
    }
}
