//! A visitor that filters calls for another visitor.

use crate::frames::filter::CallFilter;
use crate::frames::named::TraceVisitor;
use crate::frames::pauses::Pauses;
use crate::frames::visitor::{Ending, Visitor};
use crate::limits::MAX_CACHED;
use crate::symbols::Symbols;
use kperf_abi::FuncId;
use kperf_trace::{Allocation, Anchor, CallParent, Header, LaneId, SpanLink};
use rustc_hash::FxHashMap;

/// Whether calls are shown as they were, or only the part of each that lies in the filter's range. Lists show calls as they
/// were. Sums need the parts: otherwise the self time of a call that began earlier would have no bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtRange {
    /// As they were.
    Whole,
    /// The part in the range.
    Clipped,
}

/// Passes the calls that the filter keeps to `inner`, in the order of time within a lane. A call with a least length is
/// passed on once it has lasted that long, with its own start time, and after the calls around it.
pub(crate) struct Filtered<'a, V: Visitor> {
    inner: V,
    filter: &'a CallFilter<'a>,
    at_range: AtRange,
    header: Header,
    min_ticks: u64,
    /// In readings of the clock. They are set when the trace begins.
    range_ticks: (u64, u64),
    kept: FxHashMap<FuncId, bool>,
    lanes: FxHashMap<LaneId, Lane<V::Frame>>,
    shown: u64,
}

/// The frames of a lane that were passed on.
struct Lane<F> {
    /// The frames that were passed on, the outermost first.
    passed: Vec<F>,
    /// How many frames may yet be passed on.
    pending: usize,
}

impl<F> Default for Lane<F> {
    fn default() -> Self {
        Lane { passed: Vec::new(), pending: 0 }
    }
}

/// A frame, wanted or not.
#[derive(Debug)]
pub(crate) struct Frame {
    func: FuncId,
    start_ticks: u64,
    /// How many wanted functions are open outside it.
    level: u32,
    state: Progress,
    /// How many filtered calls ended inside it, but not inside inner frames that may be passed on.
    hidden: u64,
    /// How many more calls it represents: see [`Visitor::stands_for`].
    others: u64,
    /// Of a frame that has to last longer.
    pauses: Pauses,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Its function, its level or its begin rule it out.
    Unwanted,
    /// It has to last longer.
    Pending,
    /// It was passed on.
    Passed,
}

impl Frame {
    /// The level of its callees.
    fn inner_level(&self) -> u32 {
        self.level + u32::from(self.state != Progress::Unwanted)
    }
}

impl<'a, V: TraceVisitor> Filtered<'a, V> {
    pub(crate) fn new(inner: V, filter: &'a CallFilter<'a>, at_range: AtRange, header: &Header) -> Self {
        let per_nano = header.clock.ticks_per_second / 1e9;
        Filtered {
            inner,
            filter,
            at_range,
            header: header.clone(),
            min_ticks: (filter.min_nanos as f64 * per_nano).ceil() as u64,
            range_ticks: (0, u64::MAX),
            kept: FxHashMap::default(),
            lanes: FxHashMap::default(),
            shown: 0,
        }
    }

    /// The inner visitor, and the number of calls that were passed to it.
    pub(crate) fn into_inner(self) -> (V, u64) {
        (self.inner, self.shown)
    }

    fn wants_function(&mut self, func: FuncId) -> bool {
        let (inner, keep) = (&mut self.inner, self.filter.keep);
        if self.kept.len() >= MAX_CACHED {
            self.kept.clear();
        }
        *self.kept.entry(func).or_insert_with(|| keep(inner.symbols(), func))
    }

    /// A time as the inner visitor gets it.
    fn shown_ticks(&self, ticks: u64) -> u64 {
        match self.at_range {
            AtRange::Whole => ticks,
            // Not `clamp`, which panics where the ends are the wrong way round.
            AtRange::Clipped => ticks.max(self.range_ticks.0).min(self.range_ticks.1),
        }
    }

    fn is_in_range(&self, ticks: u64) -> bool {
        self.range_ticks.0 <= ticks && ticks <= self.range_ticks.1
    }

    /// Whether a frame that is still open at `ticks` has lasted long enough to be passed on.
    fn has_lasted(&self, frame: &Frame, ticks: u64) -> bool {
        ticks.saturating_sub(frame.start_ticks) >= self.min_ticks && ticks >= self.range_ticks.0
    }

    /// Pauses in the innermost frame that is kept.
    fn pause_within(&mut self, lane: LaneId, frames: &mut [Frame], pauses: &Pauses) -> Result<(), V::Error> {
        let innermost = frames.iter_mut().rev().find(|frame| frame.state != Progress::Unwanted);
        match innermost {
            Some(frame) if frame.state == Progress::Pending => {
                frame.pauses.join(pauses);
                Ok(())
            }
            Some(_) => self.pass_pauses(lane, pauses),
            None => Ok(()),
        }
    }

    /// Passes on pauses in the innermost frame that was passed on.
    fn pass_pauses(&mut self, lane: LaneId, pauses: &Pauses) -> Result<(), V::Error> {
        let open = &mut self.lanes.entry(lane).or_default().passed;
        pauses.iter().try_for_each(|(func, paused, end)| self.inner.pause(lane, open, func, paused, end))
    }

    /// Passes on the frames that have lasted long enough by now, from outside to inside.
    fn pass_on(&mut self, lane: LaneId, frames: &mut [Frame], ticks: u64) -> Result<(), V::Error> {
        if self.lanes.get(&lane).is_none_or(|lane| lane.pending == 0) {
            return Ok(());
        }
        // Frames outside one that was passed on were passed on; inside one that is too short all are too short.
        let passed =
            frames.iter().rposition(|frame| frame.state == Progress::Passed).map_or(0, |last| last + 1);
        for frame in frames.iter_mut().skip(passed).filter(|frame| frame.state == Progress::Pending) {
            if !self.has_lasted(frame, ticks) {
                break;
            }
            frame.state = Progress::Passed;
            self.shown += 1;
            let start = self.shown_ticks(frame.start_ticks);
            let state = self.lanes.entry(lane).or_default();
            state.pending = state.pending.saturating_sub(1);
            let inner = self.inner.enter(lane, &mut state.passed, frame.func, start)?;
            state.passed.push(inner);
            let pauses = frame.pauses;
            self.pass_pauses(lane, &pauses)?;
        }
        Ok(())
    }
}

impl<V: TraceVisitor> Visitor for Filtered<'_, V> {
    type Frame = Frame;
    type Error = V::Error;

    fn begin(&mut self, start_ticks: u64) -> Result<(), V::Error> {
        let per_nano = self.header.clock.ticks_per_second / 1e9;
        let at = |nanos: u64| (nanos as f64 * per_nano).min(u64::MAX as f64);
        let range = self.filter.range;
        // The first and the last tick in the range.
        self.range_ticks.0 = start_ticks.saturating_add(at(range.start_nanos).ceil() as u64);
        if range.start_nanos == 0 {
            // Other lanes may have begun before the first one that the trace has a block of.
            self.range_ticks.0 = 0;
        }
        if range.end_nanos != u64::MAX {
            self.range_ticks.1 = start_ticks.saturating_add(at(range.end_nanos).floor() as u64);
        }
        self.inner.begin(start_ticks)
    }

    fn lane(&mut self, lane: LaneId, start_ticks: u64) -> Result<(), V::Error> {
        if self.filter.wants_lane(lane) { self.inner.lane(lane, start_ticks) } else { Ok(()) }
    }

    fn enter(
        &mut self,
        lane: LaneId,
        parents: &mut [Frame],
        func: FuncId,
        ticks: u64,
    ) -> Result<Frame, V::Error> {
        if parents.is_empty() {
            self.inner.begins(lane);
        }
        let level = parents.last().map_or(0, Frame::inner_level);
        let wanted = self.filter.depth.is_none_or(|depth| level < depth)
            && ticks <= self.range_ticks.1
            && self.wants_function(func)
            && self.filter.wants_lane(lane);
        let state = if wanted { Progress::Pending } else { Progress::Unwanted };
        let mut frame =
            Frame { func, start_ticks: ticks, level, state, hidden: 0, others: 0, pauses: Pauses::default() };
        if wanted {
            self.lanes.entry(lane).or_default().pending += 1;
        }
        if wanted && self.min_ticks == 0 {
            // Without a least length it is the same now or later, and now is in the order of the trace.
            self.pass_on(lane, parents, ticks)?;
            self.pass_on(lane, std::slice::from_mut(&mut frame), ticks)?;
        }
        Ok(frame)
    }

    fn leave(
        &mut self,
        lane: LaneId,
        parents: &mut [Frame],
        mut frame: Frame,
        ending: Ending,
        ticks: u64,
    ) -> Result<(), V::Error> {
        if frame.state == Progress::Pending && self.has_lasted(&frame, ticks) {
            // The frames around it lasted at least as long.
            self.pass_on(lane, parents, ticks)?;
            self.pass_on(lane, std::slice::from_mut(&mut frame), ticks)?;
        }
        let state = self.lanes.entry(lane).or_default();
        if frame.state != Progress::Passed {
            state.pending -= usize::from(frame.state == Progress::Pending);
            // A clipped call contains only the calls in its shown part.
            let is_inside = self.at_range == AtRange::Whole
                || (frame.start_ticks <= self.range_ticks.1 && ticks >= self.range_ticks.0);
            if let Some(parent) = parents.last_mut().filter(|_| is_inside) {
                let calls = frame.others.saturating_add(1);
                parent.hidden = parent.hidden.saturating_add(frame.hidden).saturating_add(calls);
            }
            return self.pause_within(lane, parents, &frame.pauses);
        }
        let end = self.shown_ticks(ticks);
        let state = self.lanes.entry(lane).or_default();
        let Some(mut inner) = state.passed.pop() else { return Ok(()) };
        self.inner.hidden(&mut inner, frame.hidden);
        if frame.others != 0 {
            self.shown += frame.others;
            self.inner.stands_for(&mut inner, frame.others + 1);
        }
        self.inner.leave(lane, &mut state.passed, inner, ending, end)
    }

    fn stands_for(&mut self, frame: &mut Frame, calls: u64) {
        frame.others = calls.saturating_sub(1);
    }

    fn mark(&mut self, lane: LaneId, open: &mut [Frame], value: u32, ticks: u64) -> Result<(), V::Error> {
        if !self.filter.wants_lane(lane) || !self.is_in_range(ticks) {
            return Ok(());
        }
        self.pass_on(lane, open, ticks)?;
        self.inner.mark(lane, &mut self.lanes.entry(lane).or_default().passed, value, ticks)
    }

    fn function(&self, frame: &Frame) -> FuncId {
        frame.func
    }

    fn allocation(
        &mut self,
        lane: LaneId,
        open: &mut [Frame],
        by: FuncId,
        allocation: &Allocation,
        ticks: u64,
    ) -> Result<(), V::Error> {
        if !self.filter.wants_lane(lane) {
            return Ok(());
        }
        self.pass_on(lane, open, ticks)?;
        self.inner.allocation(lane, &mut self.lanes.entry(lane).or_default().passed, by, allocation, ticks)
    }

    fn pause(
        &mut self,
        lane: LaneId,
        open: &mut [Frame],
        func: FuncId,
        paused: u64,
        ticks: u64,
    ) -> Result<(), V::Error> {
        if !self.filter.wants_lane(lane) {
            return Ok(());
        }
        let end = self.shown_ticks(ticks);
        let paused = end.saturating_sub(self.shown_ticks(ticks.saturating_sub(paused)));
        if paused == 0 {
            return Ok(());
        }
        self.pass_on(lane, open, ticks)?;
        self.pause_within(lane, open, &Pauses::of(func, paused, end))
    }

    fn lost(
        &mut self,
        lane: LaneId,
        open: &mut [Frame],
        events: Option<u64>,
        ticks: u64,
    ) -> Result<(), V::Error> {
        if !self.filter.wants_lane(lane) || !self.is_in_range(ticks) {
            return Ok(());
        }
        self.pass_on(lane, open, ticks)?;
        self.inner.lost(lane, &mut self.lanes.entry(lane).or_default().passed, events, ticks)
    }
}

impl<V: TraceVisitor> TraceVisitor for Filtered<'_, V> {
    fn symbols(&mut self) -> &mut Symbols {
        self.inner.symbols()
    }

    fn symbols_added(&mut self) {
        self.inner.symbols_added();
    }

    fn spans(&mut self, spans: bool) {
        self.inner.spans(spans);
    }

    fn parent(&mut self, parent: &CallParent) {
        self.inner.parent(parent);
    }

    fn window_of(&mut self, span: SpanLink, calls: u64, nodes: usize) -> Option<FuncId> {
        self.inner.window_of(span, calls, nodes)
    }

    fn anchor(&mut self, anchor: &Anchor) {
        self.inner.anchor(anchor);
    }

    fn end(&mut self) {
        self.inner.end();
    }
}
