//! Facts about the trace of an export.

use crate::frames::filter::CallFilter;
use crate::frames::filtered::AtRange;
use crate::frames::named::TraceVisitor;
use crate::frames::open::LaneStatus;
use crate::frames::visitor::{Ending, Visitor};
use crate::reading::drive::{Driven, drive};
use crate::reading::health::Health;
use crate::symbols::Symbols;
use kperf_abi::FuncId;
use kperf_trace::{Header, LaneId, TraceReader};
use std::io::{self, Read};

/// Facts about the trace of an export.
#[derive(Clone, Debug)]
pub struct Exported {
    /// How sound the trace is.
    pub health: Health,
    /// The functions.
    pub symbols: Symbols,
    /// All lanes of the trace, in the order in which they first appeared, written or not.
    pub lanes: Vec<LaneStatus>,
    /// How many calls were written.
    pub calls: u64,
}

/// Shows a visitor the calls of a trace that a filter lets through, and returns the visitor with what else was found. `progress` gets the
/// number of bytes read so far.
///
/// # Errors
///
/// Those of the trace's input, and the visitor's own.
pub fn visit<R: Read, V: TraceVisitor>(
    reader: &mut TraceReader<R>,
    visitor: V,
    filter: &CallFilter<'_>,
    at_range: AtRange,
    progress: &mut dyn FnMut(u64),
) -> io::Result<(V, Exported)>
where
    V::Error: Into<io::Error>,
{
    let driven = drive(reader, visitor, Some((filter, at_range)), progress)?;
    let Driven { mut visitor, health, lanes, shown: calls, .. } = driven;
    let symbols = std::mem::take(visitor.symbols());
    Ok((visitor, Exported { health, symbols, lanes, calls }))
}

/// Shows a pause as a call of `func`, as the call tree does: it is no function's self time.
pub fn pause_as_call<V: Visitor>(
    visitor: &mut V,
    lane: LaneId,
    open: &mut [V::Frame],
    func: FuncId,
    paused: u64,
    ticks: u64,
) -> Result<(), V::Error> {
    if open.is_empty() {
        return Ok(());
    }
    let frame = visitor.enter(lane, open, func, ticks.saturating_sub(paused))?;
    visitor.leave(lane, open, frame, Ending::Leave, ticks)
}

/// Nanoseconds since the recording began.
pub fn nanos_since_anchor(header: &Header, ticks: u64) -> u64 {
    header.nanos(ticks.saturating_sub(header.anchor.ticks))
}
