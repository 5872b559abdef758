//! The open calls at each moment of a trace, and their visitors.

pub(crate) mod counts;
pub(crate) mod filter;
pub(crate) mod filtered;
pub(crate) mod named;
pub(crate) mod open;
pub(crate) mod pauses;
pub(crate) mod problem;
pub(crate) mod visitor;

pub use counts::Counts;
pub use filtered::AtRange;
pub use named::TraceVisitor;
pub use open::{Frames, LaneStatus};
pub use problem::{Problem, Problems};
pub use visitor::{Ending, Visitor};
