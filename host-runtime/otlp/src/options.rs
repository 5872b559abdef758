//! Options of spans: which calls, which ids, which sizes.

use crate::sampler::Sampler;
use kperf_trace::TraceContext;

/// Which calls of a trace become spans, and how. The trace file keeps everything. Calls that these options leave out are
/// counted.
#[derive(Default)]
pub struct SpanOptions {
    /// Where OpenTelemetry's traces begin.
    pub roots: Roots,
    /// The seed of all ids: the same seed, options and trace give the same bytes. `None`: made from the trace's header
    /// (when it began, in which process), so a trace that is sent twice has the same ids both times.
    pub seed: Option<u64>,
    /// The parent of the spans, instead of the trace's own.
    ///
    /// If a parent isn't sampled, its calls get no spans: OpenTelemetry's exporters don't get such spans
    /// either. These calls are counted in [`Elided::unsampled`](crate::Elided::unsampled).
    pub parent: Option<TraceContext>,
    /// Which traces are sampled. Calls of other traces get no spans, and are counted as those of a parent that isn't sampled.
    pub sampler: Sampler,
    /// Calls that took fewer nanoseconds get no span.
    pub min_nanos: u64,
    /// How many levels of calls get spans; `None` for all.
    pub max_depth: Option<u32>,
    /// How many calls get spans, at most: those that begin first. The span of the run doesn't count.
    pub max_spans: Option<u64>,
    /// Which functions get spans, by name; `None` for all. The callees of other functions move up a level, as if those functions had
    /// no probes.
    pub keep: Option<Keep>,
    /// Options of the resource.
    pub resource: ResourceOptions,
    /// How large a request may be.
    pub limits: Limits,
    /// Whether metrics are gathered while reading, for [`Spans::metrics`](crate::Spans::metrics). They count the calls that
    /// `keep`, `max_depth` and `min_nanos` select, with or without a span.
    pub metrics: bool,
}

/// Chooses functions by name.
pub type Keep = Box<dyn Fn(&str) -> bool + Send>;

/// Where OpenTelemetry's traces begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Roots {
    /// At each call from the host into the guest.
    #[default]
    PerCall,
    /// At a span of the whole run, which is one trace.
    PerRun,
}

/// Attributes of the resource, besides those that come from the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceOptions {
    /// `service.name`; the module's name if there is none.
    pub service_name: Option<String>,
    /// More attributes. They replace others with the same keys; `service.name` too, unless the field above has it.
    pub attributes: Vec<(String, String)>,
}

/// How large a request may be. A request with a single span may be larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the body, before compression.
    pub bytes: usize,
    /// Spans (or points of metrics).
    pub spans: u64,
}

impl Default for Limits {
    /// A little below 4 MiB, a Collector's default limit over gRPC; 10,000 spans.
    fn default() -> Limits {
        Limits { bytes: 4_000_000, spans: 10_000 }
    }
}
