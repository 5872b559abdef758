//! Sends spans (or metrics, or profiles) to a Collector, over HTTP or gRPC, and counts them by their result.
//!
//! [`Settings`] and the environment make a [`Config`]; [`Sending::start`] sends the requests of a [`Source`], with its own
//! threads and runtime, so it works in any program; [`Sending::wait`] returns the [`Delivery`].
//!
//! * A request is tried again as OTLP's specification says: after the answers that may be retried, after the wait that the
//!   server asks for or an exponential one, until [`Config::give_up_after`]. Then sending ends; the rest is counted as dropped.
//! * A request that is too large for the server is sent in two halves, and these again, down to single spans.
//! * Two requests are in flight and two more ready. The source is called only when there is room: a slow Collector costs
//!   time, not memory.
//! * A request that was cut off may have arrived: a Collector can get spans twice (with the same ids). It has at least the spans that
//!   the [`Delivery`] counts as acknowledged.

mod answer;
mod config;
mod delivery;
mod environment;
mod error;
mod grpc;
mod http;
mod live;
mod retry;
mod sending;
mod settings;
mod source;
mod split;
mod spool;
mod status;
mod tls;

pub use config::{Compression, Config, Identity, Protocol, Signal};
pub use delivery::{About, Delivery, Message};
pub use error::{Error, ErrorKind, Result};
pub use live::{LiveSpans, live_spans, profile_sink, sink};
pub use sending::{Sending, Stopper};
pub use settings::{Settings, parse_pairs};
pub use source::{BoxError, Source, SourceProgress};
pub use spool::{Spool, Tail};

/// Our name for servers.
const USER_AGENT: &str = concat!("kperf-wasm/", env!("CARGO_PKG_VERSION"));
