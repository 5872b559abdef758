//! Makes a product of traces.

use crate::answer::{Answer, Failure};
use crate::calls::CallFields;
use crate::diff::DiffFields;
use crate::flame::FlameFields;
use crate::report::ReportFields;
use crate::traces::{Source, Traces};
use crate::view::ViewFields;
use serde::Deserialize;
use std::io::Write;

/// A request from JavaScript, as JSON.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The product.
    pub make: Make,
    /// Names of traces for messages, by their numbers.
    pub names: Vec<String>,
    /// Selects calls.
    #[serde(default)]
    pub calls: CallFields,
}

/// A product.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Make {
    /// A page of one trace.
    View(ViewFields),
    /// A flame graph of one trace.
    Flame(FlameFields),
    /// The functions of one trace.
    Report(ReportFields),
    /// What changed between the first traces and the last.
    Diff(DiffFields),
}

/// Makes a product, and writes it to `out`.
pub fn make<S: Source>(options: &Options, source: &mut S, out: &mut impl Write) -> Result<Answer, Failure> {
    let calls = options.calls.parse()?;
    let mut traces = Traces { source, names: &options.names, calls };
    match &options.make {
        Make::View(view) => view.make(&mut traces, out),
        Make::Flame(flame) => flame.make(&mut traces, out),
        Make::Report(report) => report.make(&mut traces, out),
        Make::Diff(diff) => diff.make(&mut traces, out),
    }
}
