//! One pass of a visitor over a trace.

use crate::frames::filter::{CallFilter, Range};
use crate::frames::filtered::{AtRange, Filtered};
use crate::frames::named::TraceVisitor;
use crate::frames::open::{Frames, LaneStatus};
use crate::reading::health::{Health, Stalls};
use crate::sampled::windows::Windows;
use crate::unit::Unit;
use kperf_trace::{Item, TraceReader};
use std::io::{self, Read};

/// What a pass over a trace found.
pub(crate) struct Driven<V> {
    pub(crate) visitor: V,
    pub(crate) health: Health,
    /// All lanes, in the order in which they first appear.
    pub(crate) lanes: Vec<LaneStatus>,
    /// When the recording ended.
    pub(crate) end_ticks: u64,
    /// How many calls the visitor was shown.
    pub(crate) shown: u64,
    /// What was sampled.
    pub(crate) windows: Windows,
}

/// Shows a visitor the calls of a trace that a filter lets through. `progress` gets the number of bytes read so far.
pub(crate) fn drive<R: Read, V: TraceVisitor>(
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

fn pass<R: Read, V: TraceVisitor>(
    reader: &mut TraceReader<R>,
    visitor: V,
    filter: Option<&CallFilter<'_>>,
    progress: &mut dyn FnMut(u64),
) -> io::Result<Driven<V>>
where
    V::Error: Into<io::Error>,
{
    let mut pass = Pass::new(visitor, Windows::of(reader.header()));
    pass.frames.begins_at(reader.beginning());
    while let Some(item) = reader.next()? {
        pass.take(&item, filter).map_err(Into::into)?;
        progress(reader.offset());
    }
    pass.end(reader).map_err(Into::into)
}

/// A pass that is under way.
pub(crate) struct Pass<V: TraceVisitor> {
    frames: Frames<V>,
    stalls: Stalls,
    windows: Windows,
}

impl<V: TraceVisitor> Pass<V> {
    pub(crate) fn new(visitor: V, windows: Windows) -> Pass<V> {
        Pass { frames: Frames::new(visitor), stalls: Stalls::default(), windows }
    }

    /// Takes what the reader gave.
    pub(crate) fn take(&mut self, item: &Item<'_>, filter: Option<&CallFilter<'_>>) -> Result<(), V::Error> {
        match item {
            Item::Symbols(bytes) => {
                self.frames.visitor().symbols().add_bytes(bytes);
                self.frames.visitor().symbols_added();
            }
            Item::Events(batch) => self.frames.push(batch)?,
            Item::Spans(batch) => {
                self.frames.visitor().spans(true);
                self.frames.push_spans(batch)?;
                self.frames.visitor().spans(false);
            }
            Item::Window(window) => {
                let visitor = self.frames.visitor();
                let nodes = self.windows.nodes();
                let parent =
                    window.parent.and_then(|span| visitor.window_of(span, window.call_count(), nodes));
                self.windows.add(window, filter, parent);
            }
            Item::Stall(stall) => self.stalls.add(stall),
            Item::Anchor(anchor) => self.frames.visitor().anchor(anchor),
            Item::Parent(parent) => self.frames.visitor().parent(parent),
            Item::End(_) => {}
        }
        Ok(())
    }

    /// Ends the pass: open calls are cut off.
    pub(crate) fn end<R: Read>(self, reader: &TraceReader<R>) -> Result<Driven<V>, V::Error> {
        let Pass { mut frames, stalls, mut windows } = self;
        windows.settle(reader.summary().is_some_and(|summary| summary.outcome != "completed"));
        let end_ticks = frames.last_ticks().max(reader.summary().map_or(0, |summary| summary.end_ticks));
        frames.finish(end_ticks, Unit::of(reader.header()))?;
        let (counts, problems) = (*frames.counts(), frames.problems().clone());
        let mut lanes: Vec<LaneStatus> = frames.lanes().collect();
        windows.complete(&mut lanes);
        let end_ticks = lanes.iter().fold(end_ticks, |end, lane| end.max(lane.end_ticks));
        let mut visitor = frames.into_visitor();
        visitor.end();
        let mut health = Health::new(reader, counts, &problems, stalls, visitor.symbols());
        health.over_limit.windows = windows.left_out;
        health.sampling = (!windows.is_empty()).then(|| windows.sampling.clone());
        Ok(Driven { visitor, health, lanes, end_ticks, shown: counts.calls + counts.without_enter, windows })
    }
}

impl<V: TraceVisitor + Clone> Clone for Pass<V>
where
    V::Frame: Clone,
{
    fn clone(&self) -> Self {
        let Pass { frames, stalls, windows } = self;
        Pass { frames: frames.clone(), stalls: *stalls, windows: windows.clone() }
    }
}
