//! Reports of a trace: the command's table, or JSON.

use crate::answer::{Answer, Failure};
use crate::traces::{Source, Traces, warnings};
use kperf_profile::{Accuracy, FlatProfile, Row, RowTexts, printable, usual_rows, write_head, write_json};
use serde::Deserialize;
use std::io::Write;

/// A report.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReportFields {
    /// JSON with exact figures instead of a table.
    pub json: bool,
    /// How many functions are listed, 0 for all; by default in a table those that make up 99 % of the time, in JSON all.
    pub limit: Option<usize>,
    /// Whether the measured cost of the probes is subtracted.
    pub compensate: bool,
    /// Whether the table's first line names the page.
    pub page: bool,
}

impl ReportFields {
    pub(crate) fn make<S: Source>(
        &self,
        traces: &mut Traces<'_, S>,
        out: &mut impl Write,
    ) -> Result<Answer, Failure> {
        let (profile, ()) = traces.read(0, ())?;
        let cost = match self.compensate {
            true => Some(profile.compensation().map_err(|why| {
                Failure(format!("the cost of probes can't be subtracted in this trace: {why}"))
            })?),
            false => None,
        };
        let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, cost.as_ref());
        let rows: Vec<&Row> = flat.rows.iter().collect();
        let usual = || if self.json { 0 } else { usual_rows(&profile, &rows) };
        let limit = self.limit.unwrap_or_else(usual);
        let listed = if limit == 0 { &rows[..] } else { rows.get(..limit).unwrap_or(&rows) };
        if self.json {
            write_json(&profile, &flat, listed, None, cost.is_some(), out)?;
        } else {
            let accuracy = Accuracy::of(&profile, flat.self_nanos).compensated(cost.as_ref());
            if self.page {
                let page = profile.header.command.first().map_or("a page", String::as_str);
                writeln!(out, "# page:  {}", printable(page))?;
            }
            write_head(&profile, &flat, cost.is_some(), out)?;
            RowTexts::new(&profile, &accuracy).write(&rows, limit, out)?;
        }
        Ok(Answer {
            warnings: warnings(&profile),
            calls: profile.calls(),
            shown: listed.len() as u64,
            resolution: 0,
        })
    }
}
