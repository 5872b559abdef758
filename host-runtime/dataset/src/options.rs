//! Labels and options of runs.

use crate::tables::collect::RowOptions;
use crate::tables::ids::{named_run_id, run_id};
use kperf_trace::Header;
use std::time::Duration;

/// Labels of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// The service that ran; the module's name if there is none.
    pub service: Option<String>,
    /// Its version; the beginning of the module's hash if there is none.
    pub version: Option<String>,
    /// The machine's name; empty if it isn't known.
    pub host: String,
    /// More about the run, for the column `attributes`.
    pub attributes: Vec<(String, String)>,
}

impl Labels {
    /// What the attributes of an OpenTelemetry resource say: `service.name`, `service.version`, `host.name`, and the others.
    pub fn of_resource(mut attributes: Vec<(String, String)>) -> Labels {
        let mut take = |key: &str| {
            let at = attributes.iter().position(|(name, _)| name == key)?;
            Some(attributes.remove(at).1)
        };
        let (service, version, host) = (take("service.name"), take("service.version"), take("host.name"));
        Labels { service, version, host: host.unwrap_or_default(), attributes }
    }

    /// The attributes as a JSON object. Of several with one name the last counts.
    fn json(&self) -> String {
        let attributes = self.attributes.iter().map(|(name, value)| (name.clone(), value.clone().into()));
        serde_json::Value::Object(attributes.collect()).to_string()
    }
}

/// How runs are added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The labels of each run.
    pub labels: Labels,
    /// The name that distinguishes the run from others, instead of the start in its trace. Only for one run.
    pub run_name: Option<String>,
    /// Whether each call gets a row of the table `calls`.
    pub calls: bool,
    /// Calls that took at least this long have a row in `spans`.
    pub span_min: Duration,
    /// How many calls of a run have one at most: the longest.
    pub max_spans: usize,
}

impl Options {
    /// The default of [`span_min`](Self::span_min).
    pub const SPAN_MIN: Duration = Duration::from_millis(10);
    /// The default of [`max_spans`](Self::max_spans).
    pub const MAX_SPANS: usize = 1000;

    /// The run's id.
    pub(crate) fn run_id(&self, header: &Header) -> i64 {
        match &self.run_name {
            Some(name) => named_run_id(name),
            None => run_id(header),
        }
    }

    /// The same for the rows of a run.
    pub(crate) fn rows(&self, run_id: i64, generation: i32, name: &str) -> RowOptions {
        RowOptions {
            run_id,
            generation,
            name: name.to_owned(),
            version: self.labels.version.clone(),
            host: self.labels.host.clone(),
            attributes: self.labels.json(),
            span_min_nanos: u64::try_from(self.span_min.as_nanos()).unwrap_or(u64::MAX),
            max_spans: self.max_spans,
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            labels: Labels::default(),
            run_name: None,
            calls: false,
            span_min: Options::SPAN_MIN,
            max_spans: Options::MAX_SPANS,
        }
    }
}
