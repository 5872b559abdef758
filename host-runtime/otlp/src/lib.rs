//! A trace as OpenTelemetry spans, metrics and profiles.
//!
//! [`Spans`] reads a trace of any length, also while it is still being written, and gives OTLP requests,
//! ready to be sent or stored. One call is one span; calls that [`SpanOptions`] leave out are counted on the spans around them, and
//! in the [`Account`].
//!
//! ```
//! use kperf_otlp::{SpanOptions, Spans};
//! # use kperf_trace::{Header, Summary, TraceReader, TraceWriter};
//! # let file = TraceWriter::new(Vec::new(), &Header::default())?.finish(&Summary::default())?;
//! let mut spans = Spans::new(TraceReader::new(&file[..])?, SpanOptions::default());
//! while let Some(request) = spans.next()? {
//!     // POST /v1/traces with content type application/x-protobuf, or a file.
//!     println!("{} spans in {} bytes", request.spans, request.body.len());
//! }
//! let account = spans.account();
//! assert_eq!(account.calls + account.run_spans, account.spans + account.elided.calls());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`profiles`] makes requests of a profile: OpenTelemetry's newest signal, which Collectors take only with a feature gate.
//!
//! The feature `exporter` adds the module of that name, which sends spans to a Collector. Without it the crate does no IO of
//! its own, reads no clock, needs no random numbers, and builds for `wasm32-unknown-unknown`.

#[cfg(feature = "exporter")]
pub mod exporter;
pub mod json;
pub mod proto;

mod attribute;
mod ids;
mod metrics;
mod options;
mod profiles;
mod resource;
mod sampler;
mod spans;
mod trace;
mod wire;

pub use kperf_trace::{ContextError, TraceContext};
pub use options::{Keep, Limits, ResourceOptions, Roots, SpanOptions};
pub use profiles::{ProfileOptions, WindowProfiles, profiles, profiles_with_memory};
pub use resource::SCHEMA_URL;
pub use sampler::Sampler;
pub use spans::account::{Account, Elided, Left};
pub use spans::batch::Request;
pub use spans::reading::Spans;
