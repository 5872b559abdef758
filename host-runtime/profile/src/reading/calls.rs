//! Calls one by one, each when it ends: for formats with a record per call.

use crate::frames::filter::CallFilter;
use crate::frames::filtered::AtRange;
use crate::frames::named::TraceVisitor;
use crate::frames::visitor::{Ending, Visitor};
use crate::reading::exported::{Exported, nanos_since_anchor, visit};
use crate::symbols::Symbols;
use kperf_abi::FuncId;
use kperf_trace::{Anchor, Header, LaneId, TraceReader};
use rustc_hash::FxHashMap;
use std::io::{self, Read};

/// One call. Times are nanoseconds since the trace began, as in [`Range`](crate::Range).
#[derive(Clone, Copy, Debug)]
pub struct ListedCall {
    /// Numbers of calls count from 1, in the order of the trace's blocks.
    pub id: u64,
    /// Who called; 0 for the host.
    pub parent: u64,
    /// The lane that it was made on.
    pub lane: LaneId,
    /// How many calls were open around it.
    pub depth: u32,
    /// The function that was called.
    pub func: FuncId,
    /// Whether it was only counted: its length is not known then.
    pub is_counted: bool,
    /// When it began.
    pub start_nanos: i64,
    /// How long it took.
    pub duration_nanos: u64,
    /// When it began, in ticks of the trace's clock.
    pub start_ticks: u64,
    /// When it ended, in ticks.
    pub end_ticks: u64,
    /// `None` for a slow call that samples saw: the calls that it made aren't known.
    pub self_nanos: Option<u64>,
    /// How it ended.
    pub ending: Ending,
    /// The number of the outermost call around it, or its own.
    pub root: u64,
    /// The number of calls made below the outermost call before this one, the outermost included.
    pub place: u64,
}

impl ListedCall {
    /// How it ended: `leave`; `counted` if its end is unknown.
    pub fn ending(&self) -> &'static str {
        self.ending.as_str().unwrap_or(if self.is_counted { "counted" } else { "leave" })
    }
}

/// Takes calls one by one.
pub trait CallSink {
    /// A call has ended.
    fn call(&mut self, symbols: &Symbols, call: &ListedCall) -> io::Result<()>;

    /// A moment on the trace's clock and on the calendar's.
    fn anchor(&mut self, _anchor: &Anchor) {}
}

/// Gives a sink all calls that a filter lets through, each when it ends. Fails where reading or the sink does.
pub fn list_calls<R: Read, S: CallSink>(
    mut reader: TraceReader<R>,
    filter: &CallFilter<'_>,
    sink: S,
    progress: &mut dyn FnMut(u64),
) -> io::Result<(S, Exported)> {
    let header = reader.header().clone();
    let (symbols, places) = (Symbols::default(), FxHashMap::default());
    let calls = CallList { sink, header, symbols, calls: 0, places, origin_nanos: 0, are_spans: false };
    let (calls, exported) = visit(&mut reader, calls, filter, AtRange::Whole, progress)?;
    Ok((calls.sink, exported))
}

struct CallList<S> {
    sink: S,
    header: Header,
    symbols: Symbols,
    calls: u64,
    /// How many calls the open outermost call of a lane has made.
    places: FxHashMap<LaneId, u64>,
    /// When the trace began, in nanoseconds since the anchor.
    origin_nanos: u64,
    /// Whether the calls are slow calls that samples saw.
    are_spans: bool,
}

struct Frame {
    call: ListedCall,
    /// When it began, in nanoseconds since the anchor.
    since_anchor: u64,
    children_nanos: u64,
}

impl<S: CallSink> Visitor for CallList<S> {
    type Frame = Frame;
    type Error = io::Error;

    fn begin(&mut self, start_ticks: u64) -> io::Result<()> {
        self.origin_nanos = nanos_since_anchor(&self.header, start_ticks);
        Ok(())
    }

    fn enter(&mut self, lane: LaneId, parents: &mut [Frame], func: FuncId, ticks: u64) -> io::Result<Frame> {
        self.calls += 1;
        let id = self.calls;
        let since_anchor = nanos_since_anchor(&self.header, ticks);
        let place = self.places.entry(lane).or_default();
        let parent = parents.last().map_or(0, |parent| parent.call.id);
        let root = parents.first().map_or(id, |root| root.call.id);
        *place = if parent == 0 { 0 } else { *place + 1 };
        let call = ListedCall {
            id,
            parent,
            lane,
            depth: parents.len() as u32,
            func,
            is_counted: self.symbols.is_counted(func),
            start_nanos: since_anchor.wrapping_sub(self.origin_nanos) as i64,
            duration_nanos: 0,
            start_ticks: ticks,
            end_ticks: ticks,
            self_nanos: None,
            ending: Ending::Leave,
            root,
            place: *place,
        };
        Ok(Frame { call, since_anchor, children_nanos: 0 })
    }

    fn leave(
        &mut self,
        _lane: LaneId,
        parents: &mut [Frame],
        frame: Frame,
        ending: Ending,
        ticks: u64,
    ) -> io::Result<()> {
        let mut call = frame.call;
        // Both ends are rounded, so that parts add up to the whole.
        let nanos = nanos_since_anchor(&self.header, ticks).saturating_sub(frame.since_anchor);
        call.duration_nanos = nanos;
        call.self_nanos = (!self.are_spans).then(|| nanos.saturating_sub(frame.children_nanos));
        call.end_ticks = ticks.max(call.start_ticks);
        call.ending = ending;
        if let Some(parent) = parents.last_mut() {
            parent.children_nanos = parent.children_nanos.saturating_add(nanos);
        }
        self.sink.call(&self.symbols, &call)
    }

    fn pause(
        &mut self,
        _lane: LaneId,
        open: &mut [Frame],
        _func: FuncId,
        paused: u64,
        ticks: u64,
    ) -> io::Result<()> {
        if let Some(innermost) = open.last_mut() {
            let at = |ticks| nanos_since_anchor(&self.header, ticks);
            let nanos = at(ticks).saturating_sub(at(ticks.saturating_sub(paused)));
            innermost.children_nanos = innermost.children_nanos.saturating_add(nanos);
        }
        Ok(())
    }
}

impl<S: CallSink> TraceVisitor for CallList<S> {
    fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }

    fn spans(&mut self, spans: bool) {
        self.are_spans = spans;
    }

    fn anchor(&mut self, anchor: &Anchor) {
        self.sink.anchor(anchor);
    }
}
