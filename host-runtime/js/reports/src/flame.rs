//! Flame graphs.

use crate::answer::{Answer, Failure};
use crate::traces::{Source, Traces, warnings};
use kperf_export::formats::flame::{self, Options};
use kperf_export::formats::folded::{self, Weight};
use kperf_profile::{CallFilter, Unit};
use serde::Deserialize;
use std::io::Write;

/// A picture.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FlameFields {
    /// The title.
    pub title: String,
    /// Whether the innermost function is at the root.
    pub reverse: bool,
    /// A chart, with time from left to right.
    pub chart: bool,
    /// Folded stacks as text instead of a picture.
    pub folded: bool,
    /// Whether widths are calls, not times.
    pub calls: bool,
}

/// A chart leaves out calls shorter than this part of the whole time, as in the Rust command.
const PARTS: u64 = 4_000;

impl FlameFields {
    pub(crate) fn make<S: Source>(
        &self,
        traces: &mut Traces<'_, S>,
        out: &mut impl Write,
    ) -> Result<Answer, Failure> {
        let (profile, ()) = traces.read(0, ())?;
        traces.calls.check(&[&profile])?;
        let weight = if self.calls { Weight::Calls } else { Weight::Nanos };
        let options = Options {
            title: self.title.clone(),
            reverse: self.reverse,
            weight,
            width: None,
            unit: Unit::of(&profile.header),
        };
        let mut answer = Answer {
            warnings: warnings(&profile),
            calls: profile.calls(),
            shown: profile.calls(),
            resolution: 0,
        };
        let shortened = if self.chart {
            let whole = profile.header.nanos(profile.tree.total_ticks());
            answer.resolution = traces.calls.min_nanos.unwrap_or(whole / PARTS);
            let reader = traces.open(0)?;
            let exported = traces.calls.with(|filter| {
                let filter =
                    CallFilter { min_nanos: answer.resolution, ..filter.cloned().unwrap_or_default() };
                flame::write_chart(reader, &filter, &options, out, |_| ())
            });
            answer.shown = exported?.calls;
            None
        } else if self.folded {
            folded::write(&profile, weight, out)?.warning()
        } else {
            flame::write(&profile, &options, out)?.warning()
        };
        answer.warnings.extend(shortened.map(|warning| warning.to_string()));
        Ok(answer)
    }
}
