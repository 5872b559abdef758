//! Traces that JavaScript reads, by their numbers.

use crate::answer::Failure;
use crate::calls::Selection;
use kperf_profile::{CallObserver, Profile};
use kperf_trace::{TraceReader, beginning};
use std::io::{self, Read};

/// Opens traces.
pub trait Source {
    /// The bytes of a trace.
    type Trace: Read;

    /// Opens a trace at its beginning, by its number in [`Options::names`](crate::Options::names).
    fn open(&mut self, trace: usize) -> io::Result<Self::Trace>;
}

/// The traces of a product.
pub(crate) struct Traces<'a, S> {
    pub(crate) source: &'a mut S,
    pub(crate) names: &'a [String],
    pub(crate) calls: Selection,
}

impl<S: Source> Traces<'_, S> {
    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn name(&self, trace: usize) -> &str {
        self.names.get(trace).map_or("", String::as_str)
    }

    /// Begins to read a trace. Scans it first if calls are selected by their time.
    pub(crate) fn open(&mut self, trace: usize) -> Result<TraceReader<S::Trace>, Failure> {
        let begins = if self.calls.have_range() { beginning(self.begin(trace)?, |_| ())? } else { None };
        Ok(self.begin(trace)?.with_beginning(begins))
    }

    fn begin(&mut self, trace: usize) -> Result<TraceReader<S::Trace>, Failure> {
        let opened = self.source.open(trace).map_err(Failure::from);
        let reader = opened.and_then(|bytes| TraceReader::new(bytes).map_err(Failure::from));
        reader.map_err(|Failure(why)| {
            Failure(format!("failed to read the trace `{}`: {why}", self.name(trace)))
        })
    }

    /// Reads a trace to its end.
    pub(crate) fn read<O: CallObserver>(
        &mut self,
        trace: usize,
        observer: O,
    ) -> Result<(Profile, O), Failure> {
        let reader = self.open(trace)?;
        let read = self.calls.with(|filter| Profile::read_observed(reader, observer, filter, |_| ()));
        let (profile, observer) = read?;
        if profile.sampling().is_some()
            && let Some(flag) = self.calls.of_single_calls()
        {
            let name = self.name(trace);
            return Err(Failure(format!(
                "`{name}` is a profile, which knows the times of single calls only if they are slow; leave {flag} out"
            )));
        }
        Ok((profile, observer))
    }
}

/// Warnings of a trace's doubtful figures.
pub(crate) fn warnings(profile: &Profile) -> Vec<String> {
    profile.health.warnings().iter().map(ToString::to_string).collect()
}
