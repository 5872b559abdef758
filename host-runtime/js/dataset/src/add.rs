//! What is asked for, and what comes of it.

use crate::host::{Host, HostFiles};
use kperf_dataset::{Added, Labels, Options, Store, Trace, add_ended};
use kperf_trace::TraceReader;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::io::{BufReader, Read};
use std::path::Path;

/// How much of the trace is read at a time.
const PIECE: usize = 1 << 20;

/// What JavaScript asks for, as JSON.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// What the dataset is called in messages.
    pub dataset: String,
    /// What the trace is called there.
    pub trace: String,
    /// What the run is called.
    pub name: String,
    /// The trace's length in bytes.
    pub length: u64,
    /// The service, if something else than the attributes says it.
    #[serde(default)]
    pub service: Option<String>,
    /// Attributes of the resource.
    #[serde(default)]
    pub attributes: Vec<(String, String)>,
}

/// What became of it, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// Whether the run is new there.
    pub new: bool,
    /// What makes its figures doubtful.
    pub warnings: Vec<String>,
}

/// Adds the run of a trace. Fails with a text for people.
pub fn add<R: Read>(ask: Ask, host: impl Host + 'static, trace: R) -> Result<Told, String> {
    add_run(ask, host, trace).map_err(|error| {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        text
    })
}

fn add_run<R: Read>(ask: Ask, host: impl Host + 'static, trace: R) -> Result<Told, Box<dyn Error>> {
    let store = Store::in_files(Path::new(&ask.dataset), Box::new(HostFiles(host)))?;
    let of_resource = Labels::of_resource(ask.attributes);
    let labels = Labels { service: ask.service.or(of_resource.service.clone()), ..of_resource };
    let options = Options { labels, ..Options::default() };
    let reader = TraceReader::new(BufReader::with_capacity(PIECE, trace))?;
    let trace = Trace { shown: &ask.trace, name: &ask.name, length: Some(ask.length) };
    let outcome = add_ended(&store, &options, trace, reader)?;
    Ok(Told { new: outcome.added == Added::New, warnings: outcome.warnings })
}
