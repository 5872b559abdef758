//! Other tools' formats, each in a file of its own.
//!
//! What lists calls is written while the trace goes by, with memory for the frames that are open; what shows sums is
//! written from a [`Profile`](crate::Profile). Times count from the trace's anchor, when the recording began.

pub mod chrome;
pub mod csv;
#[cfg(feature = "formats")]
pub mod firefox;
#[cfg(feature = "formats")]
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

mod calls;
mod names;

use crate::drive::{Driven, Named};
use crate::frames::LaneStatus;
use crate::health::Health;
use crate::symbols::Symbols;
use kperf_trace::Header;

/// What an export found on its way.
#[derive(Clone, Debug)]
pub struct Exported {
    /// What is to be told besides.
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

/// Nanoseconds since the recording began.
fn nanos_since_anchor(header: &Header, ticks: u64) -> u64 {
    header.nanos(ticks.saturating_sub(header.anchor.ticks))
}
