//! What is asked for, and what comes of it.

use crate::calls::{CallFields, Calls};
use crate::diff::DiffFields;
use crate::flame::FlameFields;
use crate::view::ViewFields;
use kperf_profile::{CallObserver, Profile};
use kperf_trace::{TraceReader, beginning};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::io::{self, Read, Write};

/// What JavaScript asks for, as JSON.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// What is made.
    pub make: Make,
    /// What traces are called in messages, by their numbers.
    pub names: Vec<String>,
    /// Which calls of the traces.
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
    /// What changed between the first traces and the last.
    Diff(DiffFields),
}

/// What is said beside the product.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// What makes the figures doubtful.
    pub warnings: Vec<String>,
    /// How many calls the product is of.
    pub calls: u64,
    /// How many of them are in it one by one, or together with their neighbours.
    pub shown: u64,
    /// The finest level's resolution, in nanoseconds or instructions; 0 if every call is shown by itself. Or the shortest call in a chart.
    pub resolution: u64,
}

/// Why something can't be made, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(pub String);

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        Failure(text)
    }
}

/// Where traces come from.
pub trait Source {
    /// The bytes of a trace.
    type Trace: Read;

    /// A trace from its beginning, by its number in [`Options::names`].
    fn open(&mut self, trace: usize) -> io::Result<Self::Trace>;
}

/// Makes a product, and writes it to `out`.
pub fn make<S: Source>(options: &Options, source: &mut S, out: &mut impl Write) -> Result<Answer, Failure> {
    let calls = options.calls.parse()?;
    let mut traces = Traces { source, names: &options.names, calls };
    match &options.make {
        Make::View(view) => view.make(&mut traces, out),
        Make::Flame(flame) => flame.make(&mut traces, out),
        Make::Diff(diff) => diff.make(&mut traces, out),
    }
}

/// The traces that something is made of.
pub(crate) struct Traces<'a, S> {
    source: &'a mut S,
    names: &'a [String],
    pub(crate) calls: Calls,
}

impl<S: Source> Traces<'_, S> {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    /// What a trace is called.
    pub(crate) fn name(&self, trace: usize) -> &str {
        self.names.get(trace).map_or("", String::as_str)
    }

    /// Begins to read a trace. If calls are chosen by their time, all of it was read before.
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

/// What makes a trace's figures doubtful.
pub(crate) fn warnings(profile: &Profile) -> Vec<String> {
    profile.health.warnings().iter().map(ToString::to_string).collect()
}
