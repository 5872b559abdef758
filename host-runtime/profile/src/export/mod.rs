//! Other tools' formats, each in a file of its own.
//!
//! Formats that list calls are written while the trace is read, with memory for the open frames. Formats that show sums are
//! written from a [`Profile`](crate::Profile). Times count from the trace's anchor, when the recording began.

pub mod chrome;
pub mod csv;
#[cfg(feature = "formats")]
pub mod firefox;
#[cfg(feature = "flames")]
pub mod flame;
pub mod folded;
pub mod graph;
pub mod kieker;
pub mod kperf;
#[cfg(feature = "formats")]
pub mod parquet;
#[cfg(feature = "formats")]
pub mod perfetto;
#[cfg(feature = "formats")]
pub mod pprof;
pub mod report;
pub mod speedscope;
pub mod view;

pub(crate) mod calls;
pub(crate) mod names;
pub(crate) mod paths;

pub use paths::{Paths, Shortened, Weights};

use crate::drive::{Driven, Named};
use crate::frames::{Ending, LaneStatus, Visitor};
use crate::health::Health;
use crate::symbols::{RECORDER, Symbols};
use kperf_trace::{Header, LaneId};

/// What an export found on its way.
#[derive(Clone, Debug)]
pub struct Exported {
    /// What people must know before they trust the times.
    pub health: Health,
    /// The functions.
    pub symbols: Symbols,
    /// All lanes of the trace, in the order in which they first appeared, written or not.
    pub lanes: Vec<LaneStatus>,
    /// How many calls were written.
    pub calls: u64,
}

impl Exported {
    /// What a pass found, beside the visitor that made it, whose work is done.
    pub(crate) fn of<V: Named>(driven: Driven<V>) -> (V, Exported) {
        let Driven { mut visitor, health, lanes, shown: calls, .. } = driven;
        let symbols = std::mem::take(visitor.symbols());
        (visitor, Exported { health, symbols, lanes, calls })
    }
}

/// Tells of a pause as of a call of [`RECORDER`], as the call tree has it: it is no function's own time.
fn pause_as_call<V: Visitor>(
    visitor: &mut V,
    lane: LaneId,
    open: &mut [V::Frame],
    paused: u64,
    ticks: u64,
) -> Result<(), V::Error> {
    if open.is_empty() {
        return Ok(());
    }
    let frame = visitor.enter(lane, open, RECORDER, ticks.saturating_sub(paused))?;
    visitor.leave(lane, open, frame, Ending::Leave, ticks)
}

/// Nanoseconds since the recording began.
pub(crate) fn nanos_since_anchor(header: &Header, ticks: u64) -> u64 {
    header.nanos(ticks.saturating_sub(header.anchor.ticks))
}
