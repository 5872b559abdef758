//! What becomes a span, and how.

use kperf_trace::TraceContext;

/// Which calls of a trace become spans, and how. The trace file keeps everything. Calls that these options leave out are
/// counted.
#[derive(Default)]
pub struct SpanOptions {
    /// Where a trace of OpenTelemetry's begins.
    pub roots: Roots,
    /// The seed of all ids: the same seed, options and trace give the same bytes. `None` makes the seed from the trace's header
    /// (when it began, in which process), so that a trace that is sent twice has the same ids both times.
    pub seed: Option<u64>,
    /// The parent of the spans. It replaces the one that the trace itself names.
    ///
    /// If a parent isn't sampled, its calls get no spans: OpenTelemetry's exporters don't get such spans
    /// either. These calls are counted in [`Elided::unsampled`](crate::Elided::unsampled).
    pub parent: Option<TraceContext>,
    /// Calls that took fewer nanoseconds get no span.
    pub min_nanos: u64,
    /// How many levels of calls get spans; `None` for all.
    pub max_depth: Option<u32>,
    /// At most so many calls get spans: those that begin first. The span of the run doesn't count.
    pub max_spans: Option<u64>,
    /// Which functions get spans, by name; `None` for all. The calls that other functions made move up a level, as if those had no
    /// probes.
    pub keep: Option<Keep>,
    /// Options of the resource.
    pub resource: ResourceOptions,
    /// How large a request may be.
    pub limits: Limits,
    /// Whether metrics are gathered on the way, for [`Spans::metrics`](crate::Spans::metrics). They count the calls that
    /// `keep`, `max_depth` and `min_nanos` let through, whether they get a span or not.
    pub metrics: bool,
}

/// Chooses functions by name.
pub type Keep = Box<dyn Fn(&str) -> bool + Send>;

/// Where a trace of OpenTelemetry's begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Roots {
    /// Every call from the host into the guest has a trace of its own.
    #[default]
    PerCall,
    /// The run is one trace, whose root is a span for the whole of it.
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

/// How large a request may be. One that has a single span may be larger if the span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the body, before compression.
    pub bytes: usize,
    /// Spans (or points of metrics).
    pub spans: u64,
}

impl Default for Limits {
    /// A little below 4 MiB, which is what a Collector takes over gRPC if nobody told it otherwise; 10,000 spans.
    fn default() -> Limits {
        Limits { bytes: 4_000_000, spans: 10_000 }
    }
}
