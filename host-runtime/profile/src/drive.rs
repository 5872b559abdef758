//! One pass over a trace for a visitor that works as it goes by.

use crate::filter::{CallFilter, Range};
use crate::frames::{AtRange, Filtered, Frames, LaneStatus, Visitor};
use crate::health::{Health, Stalls};
use crate::sampled::Windows;
use crate::symbols::Symbols;
use kperf_trace::{Item, TraceReader};
use std::io::{self, Read};

/// A visitor that keeps the symbols: names are needed while the trace goes by.
pub(crate) trait Named: Visitor {
    fn symbols(&mut self) -> &mut Symbols;

    /// Whether the calls from here on are slow calls that samples saw, which are in a profile's windows already.
    fn spans(&mut self, _spans: bool) {}
}

/// What a pass leaves.
pub(crate) struct Driven<V> {
    pub(crate) visitor: V,
    pub(crate) health: Health,
    /// All lanes, in the order in which they first appear.
    pub(crate) lanes: Vec<LaneStatus>,
    /// When the recording ended.
    pub(crate) end_ticks: u64,
    /// How many calls the visitor was told of.
    pub(crate) shown: u64,
    /// What was sampled.
    pub(crate) windows: Windows,
}

/// Shows a visitor the calls of a trace that a filter lets through. `progress` is told how many bytes were read so far.
pub(crate) fn drive<R: Read, V: Named>(
    reader: &mut TraceReader<R>,
    visitor: V,
    filter: Option<(&CallFilter<'_>, AtRange)>,
    progress: &mut dyn FnMut(u64),
) -> io::Result<Driven<V>>
where
    V::Error: Into<io::Error>,
{
    let Some((filter, at_range)) = filter else { return pass(reader, visitor, None, progress) };
    let at_range = if filter.range == Range::default() { AtRange::Whole } else { at_range };
    let filtered = Filtered::new(visitor, filter, at_range, reader.header());
    let Driven { visitor, health, lanes, end_ticks, windows, .. } =
        pass(reader, filtered, Some(filter), progress)?;
    let (visitor, shown) = visitor.into_inner();
    Ok(Driven { visitor, health, lanes, end_ticks, shown, windows })
}

fn pass<R: Read, V: Named>(
    reader: &mut TraceReader<R>,
    visitor: V,
    filter: Option<&CallFilter<'_>>,
    progress: &mut dyn FnMut(u64),
) -> io::Result<Driven<V>>
where
    V::Error: Into<io::Error>,
{
    let mut windows = Windows::default();
    let mut frames = Frames::new(visitor);
    let mut stalls = Stalls::default();
    loop {
        match reader.next()? {
            None => break,
            Some(Item::Symbols(bytes)) => frames.visitor().symbols().add_bytes(bytes),
            Some(Item::Events(batch)) => frames.push(&batch).map_err(Into::into)?,
            Some(Item::Spans(batch)) => {
                frames.visitor().spans(true);
                frames.push_spans(&batch).map_err(Into::into)?;
                frames.visitor().spans(false);
            }
            Some(Item::Window(window)) => windows.add(window, filter),
            Some(Item::Stall(stall)) => stalls.add(&stall),
            Some(Item::Parent(_) | Item::End(_)) => {}
        }
        progress(reader.offset());
    }
    windows.settle();
    let end_ticks = frames.last_ticks().max(reader.summary().map_or(0, |summary| summary.end_ticks));
    frames.finish(end_ticks).map_err(Into::into)?;
    let (counts, problems) = (*frames.counts(), frames.problems().clone());
    let mut lanes: Vec<LaneStatus> = frames.lanes().collect();
    windows.complete(&mut lanes);
    let end_ticks = lanes.iter().fold(end_ticks, |end, lane| end.max(lane.end_ticks));
    let mut visitor = frames.into_visitor();
    let mut health = Health::new(reader, counts, &problems, stalls, visitor.symbols());
    health.sampling = (!windows.is_empty()).then(|| windows.sampling.clone());
    Ok(Driven { visitor, health, lanes, end_ticks, shown: counts.calls + counts.without_enter, windows })
}
