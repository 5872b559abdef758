//! Makes a page of a trace.

use crate::answer::{Answer, Failure};
use crate::traces::{Source, Traces, warnings};
use kperf_export::view::{SPANS, entries, write_html};
use kperf_profile::{Heap, Slices, Timeline, WindowChoice};
use serde::Deserialize;
use std::io::Write;

/// A page.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ViewFields {
    /// The title.
    pub title: String,
    /// The maximum number of spans in the timeline's finest level.
    pub detail: usize,
}

impl Default for ViewFields {
    fn default() -> ViewFields {
        ViewFields { title: String::new(), detail: SPANS }
    }
}

impl ViewFields {
    pub(crate) fn make<S: Source>(
        &self,
        traces: &mut Traces<'_, S>,
        out: &mut impl Write,
    ) -> Result<Answer, Failure> {
        let observers = || ((Timeline::new(self.detail), Slices::new(entries(self.detail))), Heap::default());
        let (mut profile, mut seen) = traces.read(0, observers())?;
        if profile.sampling().is_some() {
            // Read it again by windows. A profile is short.
            traces.calls.windows = WindowChoice::Each;
            (profile, seen) = traces.read(0, observers())?;
        }
        traces.calls.check(&[&profile])?;
        if traces.calls.of_parts() {
            // Allocated blocks are followed through the whole trace, or not at all.
            seen.1 = Heap::default();
        }
        let written = write_html(&profile, seen, &self.title, out)?;
        let shown = match profile.sampling() {
            Some(_) => profile.health.counts.spans,
            None => written.spans as u64,
        };
        Ok(Answer {
            warnings: warnings(&profile),
            calls: profile.calls(),
            shown,
            resolution: written.resolution_nanos,
        })
    }
}
