//! Sends spans (or metrics, or profiles) to a Collector, over HTTP or gRPC, and tells what became of each.
//!
//! [`Settings`] and the environment make a [`Config`]; [`Sending::start`] sends what a [`Source`] gives, by threads of its
//! own with a runtime of their own, so that it works in any program; [`Sending::wait`] gives the [`Delivery`].
//!
//! * A request is tried again as OTLP's specification says: after the answers that may be retried, after the wait that the
//!   server asks for or an exponential one, until [`Config::give_up_after`]. Then sending ends; the rest is told as dropped.
//! * Two requests are in flight and two more ready. The source is not asked before there is room: a slow Collector costs
//!   time, not memory.
//! * A request that was cut off may have arrived: a Collector can get spans twice (with the same ids), never less than what
//!   the [`Delivery`] calls acknowledged.

mod answer;
mod config;
mod delivery;
mod error;
mod grpc;
mod http;
mod live;
mod retry;
mod sending;
mod settings;
mod source;
mod spool;
mod status;
mod tls;

pub use config::{Compression, Config, Identity, Protocol, Signal};
pub use delivery::{About, Delivery, Message};
pub use error::{Error, ErrorKind, Result};
pub use live::{profile_sink, sink};
pub use sending::{Sending, Stopper};
pub use settings::{Settings, parse_pairs};
pub use source::{BoxError, Source, SourceProgress};
pub use spool::{Spool, Tail};

/// What servers are told of us.
const USER_AGENT: &str = concat!("kperf-wasm/", env!("CARGO_PKG_VERSION"));
