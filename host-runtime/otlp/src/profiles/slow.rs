//! Finds the spans of a profile's slow calls, as [`Spans`](crate::Spans) gives them.

use super::options::ProfileOptions;
use crate::ids::Ids;
use crate::spans::lanes::Lanes;
use crate::spans::reading::MAX_OPEN;
use crate::trace::Trace;
use kperf_abi::FuncId;
use kperf_profile::frames::{Ending, Frames, Visitor};
use kperf_profile::{SlowSpans, SpanLink};
use kperf_trace::{Item, LaneId, TraceReader};
use rustc_hash::FxHashMap;
use std::convert::Infallible;
use std::io::{self, Read};

/// How many functions of recorders are kept. Samples of further functions link to no slow call.
const MAX_SLOW: usize = 1 << 18;

/// Which slow calls are spans: samples can't link to the others.
#[derive(Clone, Copy)]
pub struct SlowFilter<'a> {
    /// Whether calls of a function are spans.
    pub keep: &'a dyn Fn(FuncId) -> bool,
    /// How many of the outermost levels of such calls are spans.
    pub depth: Option<u32>,
}

/// Reads a profile for the spans of its slow calls. A sample has no time, but windows count all calls: if a recorder counted one call
/// of a function, and that call was slow, all samples in the function belong to this call. The ids are the same as
/// [`Spans`](crate::Spans) gives with the same seed and parent. Samples in a call that `filter` leaves out belong to the span
/// around it.
///
/// # Errors
///
/// Only errors of the trace's input.
pub fn slow_spans<R: Read>(
    mut reader: TraceReader<R>,
    options: &ProfileOptions,
    filter: Option<SlowFilter<'_>>,
) -> io::Result<SlowSpans> {
    let header = reader.header().clone();
    let ids = options.seed.map_or_else(|| Ids::of(&header), Ids::new);
    let outer = options.parent.as_ref().or(header.parent.as_ref()).map(Trace::of);
    let visitor = Slow {
        ids,
        filter,
        lanes: Lanes::new(outer.clone(), outer),
        serial: 0,
        roots: 0,
        found: FxHashMap::default(),
        lossy: false,
    };
    let mut frames = Frames::with_limit(visitor, MAX_OPEN);
    let mut counted: FxHashMap<(u32, FuncId), u64> = FxHashMap::default();
    while let Some(item) = reader.next()? {
        match item {
            Item::Spans(batch) => done(frames.push_spans(&batch)),
            Item::Events(batch) => done(frames.push(&batch)),
            Item::Parent(parent) => frames.visitor().lanes.say(parent),
            Item::Window(window) => {
                for &(func, calls) in &window.calls {
                    if counted.len() >= MAX_SLOW {
                        return Ok(SlowSpans::default());
                    }
                    let sum = counted.entry((window.recorder, func)).or_default();
                    *sum = sum.saturating_add(calls);
                }
            }
            Item::Symbols(_) | Item::Anchor(_) | Item::Stall(_) | Item::End(_) => {}
        }
    }
    let Slow { found, lossy, .. } = frames.into_visitor();
    if lossy || reader.summary().is_some_and(|summary| summary.dropped_events > 0) {
        return Ok(SlowSpans::default());
    }
    let is_only = |key: &(u32, FuncId)| counted.get(key) == Some(&1);
    Ok(found
        .into_iter()
        .filter_map(|(key, span)| Some((key, span?)))
        .filter(|(key, _)| is_only(key))
        .collect())
}

fn done(result: Result<(), Infallible>) {
    match result {
        Ok(()) => {}
        Err(never) => match never {},
    }
}

/// Counts calls as the encoder of spans does, since ids are made from these numbers.
struct Slow<'a> {
    ids: Ids,
    filter: Option<SlowFilter<'a>>,
    lanes: Lanes,
    serial: u64,
    roots: u64,
    /// `None` if there is more than one call.
    found: FxHashMap<(u32, FuncId), Option<SpanLink>>,
    /// Whether events are lost: then counts may be too.
    lossy: bool,
}

impl Visitor for Slow<'_> {
    /// The depth of its callees, counting only functions whose calls are kept.
    type Frame = u32;
    type Error = Infallible;

    fn enter(
        &mut self,
        lane: LaneId,
        parents: &mut [u32],
        func: FuncId,
        _ticks: u64,
    ) -> Result<u32, Infallible> {
        let level = parents.last().copied().unwrap_or(0);
        let is_kept = self.filter.is_none_or(|filter| (filter.keep)(func));
        let is_span =
            is_kept && self.filter.and_then(|filter| filter.depth).is_none_or(|depth| level < depth);
        self.lanes.select(lane);
        if parents.is_empty() {
            self.roots += 1;
            let (ids, roots) = (self.ids, self.roots);
            self.lanes.begin_trace(|| Trace::new(ids.trace(roots)));
        }
        self.serial += 1;
        let trace = &self.lanes.current().trace;
        let link = SpanLink { trace_id: trace.id, span_id: self.ids.span(self.serial).to_be_bytes() };
        // The span of an unsampled trace is not sent.
        let link = Some(link).filter(|_| trace.sampled && is_span);
        let key = (lane.recorder, func);
        if let Some(known) = self.found.get_mut(&key) {
            *known = None;
        } else if self.found.len() < MAX_SLOW {
            self.found.insert(key, link);
        }
        Ok(level + u32::from(is_kept))
    }

    fn leave(&mut self, _: LaneId, _: &mut [u32], _: u32, _: Ending, _: u64) -> Result<(), Infallible> {
        Ok(())
    }

    fn lost(&mut self, _: LaneId, _: &mut [u32], _: Option<u64>, _: u64) -> Result<(), Infallible> {
        self.lossy = true;
        Ok(())
    }
}
