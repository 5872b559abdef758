//! Turns closed frames into spans.

use super::account::{Elided, Left};
use super::batch::Batch;
use super::counted::Counted;
use super::ending::{Outcome, describe};
use super::functions::Functions;
use super::histogram::Gathered;
use super::lanes::Lanes;
use super::times::Times;
use crate::ids::Ids;
use crate::options::{Roots, SpanOptions};
use crate::proto::trace::v1::Span;
use crate::trace::Trace;
use crate::{attribute, resource, wire};
use kperf_abi::FuncId;
use kperf_profile::frames::{Ending, Visitor};
use kperf_profile::{CallObserver, Heap, OTHER, RECORDER, Symbols};
use kperf_trace::{Allocation, Anchor, Header, LaneId, Window};
use prost::Message;
use std::convert::Infallible;

/// Writes the spans of frames when they close.
pub(crate) struct Encoder {
    pub(crate) header: Header,
    pub(crate) options: SpanOptions,
    pub(crate) symbols: Symbols,
    pub(crate) functions: Functions,
    pub(crate) lanes: Lanes,
    pub(crate) batch: Batch,
    pub(crate) metrics: Option<Gathered>,
    /// With metrics, what functions allocated; its nodes are those of [`Encoder::memory_node`].
    pub(crate) heap: Option<Heap>,
    /// The sums of a profile's windows.
    pub(crate) counted: Counted,
    /// Calls without a span, with their times in ticks.
    elided: Elided,
    ids: Ids,
    times: Times,
    /// How many calls there were so far. The next call's span id is made from this number; 0 is the run's.
    serial: u64,
    /// How many calls the host made so far. The next trace id is made from this number.
    roots: u64,
    min_ticks: u64,
    /// How many calls have a place among [`SpanOptions::max_spans`].
    reserved: u64,
    /// The last closed frames, all in one unwinding that ended the host's call on its lane. The trace says only after them how the
    /// program ended, so these spans wait for the next event.
    waiting: Vec<Waiting>,
    /// The sums inside the host's calls.
    pub(crate) run: Inside,
}

/// An open frame.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    start_ticks: u64,
    span: u64,
    /// The innermost span around it; 0 if there is none.
    parent: u64,
    function: u32,
    /// How many of the frames around it have spans.
    level: u32,
    /// Why it gets no span, if known before it closes.
    left_out: Option<Reason>,
    inside: Inside,
}

/// The sums inside a frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Inside {
    /// How long the outermost spans inside took.
    span_ticks: u64,
    /// How many calls have no span, and no span between them and the frame.
    elided: u64,
    /// How long they took without the spans inside them.
    elided_ticks: u64,
    /// How long the guest's thread worked for the recorder, or waited for it, directly inside.
    recorder_ticks: u64,
    /// How long the guest's thread had no processor, directly inside.
    wait_ticks: u64,
}

/// Why a call gets no span. In the order of [`Elided::reasons`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Unsampled,
    ByName,
    ByDepth,
    ByCount,
    ByDuration,
}

struct Waiting {
    frame: Frame,
    ending: Ending,
    ticks: u64,
}

impl Encoder {
    pub(crate) fn new(header: Header, options: SpanOptions) -> Encoder {
        let ids = options.seed.map_or_else(|| Ids::of(&header), Ids::new);
        let parent = options.parent.as_ref().or(header.parent.as_ref());
        let sampler = options.sampler;
        let outer = parent.map(|context| Trace::of(context, sampler));
        let outer = match options.roots {
            Roots::PerCall => outer,
            Roots::PerRun => Some(outer.unwrap_or_else(|| Trace::new(ids.trace(0), sampler))),
        };
        let inner = match options.roots {
            Roots::PerCall => outer.clone(),
            Roots::PerRun => outer.as_ref().map(|outer| outer.inside(ids.span(0))),
        };
        Encoder {
            min_ticks: (options.min_nanos as f64 * header.clock.ticks_per_second / 1e9).ceil() as u64,
            lanes: Lanes::new(outer, inner, sampler),
            batch: Batch::new(options.limits),
            metrics: options.metrics.then(|| Gathered::new(&header)),
            heap: options.metrics.then(|| Heap::of(&header)),
            counted: Counted::default(),
            symbols: Symbols::default(),
            functions: Functions::default(),
            elided: Elided::default(),
            serial: 0,
            roots: 0,
            reserved: 0,
            waiting: Vec::new(),
            run: Inside::default(),
            times: Times::new(&header),
            header,
            options,
            ids,
        }
    }

    /// Calls without a span so far.
    pub(crate) fn elided(&self) -> Elided {
        let mut elided = self.elided;
        for left in elided.each_mut() {
            left.nanos = self.header.nanos(left.nanos);
        }
        elided
    }

    /// Another anchor: one moment on the trace's clock and on the calendar.
    pub(crate) fn anchor(&mut self, anchor: &Anchor) {
        self.times.anchor(anchor);
    }

    /// Calendar time, as the spans have it.
    pub(crate) fn unix_nanos(&self, ticks: u64) -> u64 {
        self.times.clone().unix_nanos(ticks)
    }

    /// Writes the spans that wait to learn how the program ended.
    #[cold]
    pub(crate) fn settle(&mut self, outcome: &str) {
        for Waiting { frame, ending, ticks } in std::mem::take(&mut self.waiting) {
            self.write_more(&frame, ending, ticks, outcome);
        }
    }

    /// Writes the span of the whole run, with [`Roots::PerRun`].
    pub(crate) fn run_span(&mut self, start_ticks: u64, end_ticks: u64, outcome: &str) -> bool {
        let outer = self.lanes.outer.clone().filter(|trace| trace.sampled);
        let Some(trace) = outer.filter(|_| self.options.roots == Roots::PerRun) else { return false };
        let [start, end] = [start_ticks, end_ticks].map(|ticks| self.times.unix_nanos(ticks));
        let module = self.symbols.tables().first().map(|table| &table.module);
        let mut span = Span {
            trace_id: trace.id.to_vec(),
            span_id: self.ids.span(0).to_be_bytes().to_vec(),
            parent_span_id: Some(trace.parent)
                .filter(|&parent| parent != 0)
                .map_or(Vec::new(), |parent| parent.to_be_bytes().to_vec()),
            name: resource::service_name(module, &self.options.resource),
            kind: crate::proto::trace::v1::span::SpanKind::Internal.into(),
            start_time_unix_nano: start,
            end_time_unix_nano: end,
            ..Span::default()
        };
        self.write_inside(&mut span, &self.run);
        if !outcome.is_empty() {
            span.attributes.push(attribute::string("kperf.outcome", outcome));
        }
        let mut bytes = span.encode_to_vec();
        // Encoded by hand as in all other spans: tracestate and flags.
        bytes.extend_from_slice(&trace.state);
        bytes.extend(trace.flags(trace.parent));
        self.address();
        let out = self.batch.span(bytes.len());
        wire::field(out, 2, &bytes);
        true
    }

    fn address(&mut self) {
        if !self.batch.is_addressed() {
            let resource = resource::resource(&self.header, &self.symbols, &self.options.resource);
            let (mut encoded, mut scope, mut schema) = (Vec::new(), Vec::new(), Vec::new());
            wire::field(&mut encoded, 1, &resource.encode_to_vec());
            wire::field(&mut scope, 1, &resource::scope().encode_to_vec());
            wire::field(&mut schema, 3, resource::SCHEMA_URL.as_bytes());
            self.batch.address(encoded, scope, schema);
        }
    }

    fn write_inside(&self, span: &mut Span, inside: &Inside) {
        if inside.elided > 0 {
            let nanos = self.header.nanos(inside.elided_ticks);
            span.attributes.push(attribute::int("kperf.elided.count", inside.elided));
            span.attributes.push(attribute::int("kperf.elided.time", nanos));
        }
        if inside.recorder_ticks > 0 {
            let nanos = self.header.nanos(inside.recorder_ticks);
            span.attributes.push(attribute::int("kperf.recorder.time", nanos));
        }
        if inside.wait_ticks > 0 {
            let nanos = self.header.nanos(inside.wait_ticks);
            span.attributes.push(attribute::int("kperf.wait.time", nanos));
        }
    }

    /// Whether a function, by its index, is one of those that are wanted.
    #[inline]
    fn is_kept(&self, function: u32) -> bool {
        self.functions.list().get(function as usize).is_some_and(|function| function.kept)
    }

    /// Adds the window of a profile.
    pub(crate) fn window(&mut self, window: &Window) {
        let Encoder { functions, symbols, options, counted, .. } = self;
        counted.add(window, |func| {
            let function = functions.index(func, symbols, options);
            functions.list().get(function as usize).is_some_and(|function| function.kept)
        });
    }

    /// Begins the trace of a call from the host.
    fn begin_trace(&mut self) -> u64 {
        self.roots += 1;
        let (ids, roots, sampler) = (self.ids, self.roots, self.options.sampler);
        self.lanes.begin_trace(|| Trace::new(ids.trace(roots), sampler))
    }

    /// Adds a call without a span to the frame around it.
    #[inline]
    fn leave_out(&mut self, parent: Option<&mut Frame>, frame: &Frame, reason: Reason, ticks: u64) {
        let around = parent.map_or(&mut self.run, |parent| &mut parent.inside);
        let duration = ticks - frame.start_ticks;
        let Inside { span_ticks, elided, elided_ticks, .. } = frame.inside;
        let self_nanos = duration.saturating_sub(span_ticks);
        around.elided += 1 + elided;
        around.elided_ticks = around.elided_ticks.saturating_add(self_nanos);
        around.span_ticks = around.span_ticks.saturating_add(span_ticks);
        let left: &mut Left = match reason {
            Reason::Unsampled => &mut self.elided.unsampled,
            Reason::ByName => &mut self.elided.by_name,
            Reason::ByDepth => &mut self.elided.by_depth,
            Reason::ByCount => &mut self.elided.by_count,
            Reason::ByDuration => &mut self.elided.by_duration,
        };
        left.calls += 1;
        left.nanos = left.nanos.saturating_add(self_nanos.saturating_sub(elided_ticks));
    }

    /// Writes a span that has more fields than its times.
    #[cold]
    fn write_more(&mut self, frame: &Frame, ending: Ending, ticks: u64, outcome: &str) {
        let mut more = Span::default();
        self.write_inside(&mut more, &frame.inside);
        describe(&mut more, ending, &Outcome { text: outcome }, self.times.unix_nanos(ticks));
        self.write(frame, ticks, &more.encode_to_vec());
    }

    /// Writes a span. `more` are further fields: attributes, events, status.
    #[inline]
    fn write(&mut self, frame: &Frame, end_ticks: u64, more: &[u8]) {
        if !self.batch.is_addressed() {
            self.address();
        }
        let Some(function) = self.functions.list().get(frame.function as usize) else { return };
        let lane = self.lanes.current();
        let trace = &lane.trace;
        let start = self.times.unix_nanos(frame.start_ticks);
        let end = self.times.unix_nanos(end_ticks);
        let parent_len = if frame.parent == 0 { 0 } else { 10 };
        let length = 18
            + 10
            + trace.state.len()
            + parent_len
            + function.head.len()
            + 18
            + function.attributes.len()
            + lane.thread.len()
            + more.len()
            + 6;
        let out = self.batch.span(length);
        out.push(2 << 3 | 2);
        wire::varint(out, length as u64);
        out.extend([1 << 3 | 2, 16]);
        out.extend_from_slice(&trace.id);
        out.extend([2 << 3 | 2, 8]);
        out.extend_from_slice(&frame.span.to_be_bytes());
        out.extend_from_slice(&trace.state);
        if frame.parent != 0 {
            out.extend([4 << 3 | 2, 8]);
            out.extend_from_slice(&frame.parent.to_be_bytes());
        }
        out.extend_from_slice(&function.head);
        out.push(7 << 3 | 1);
        out.extend_from_slice(&start.to_le_bytes());
        out.push(8 << 3 | 1);
        out.extend_from_slice(&end.to_le_bytes());
        out.extend_from_slice(&function.attributes);
        out.extend_from_slice(&lane.thread);
        out.extend_from_slice(more);
        out.extend_from_slice(&trace.flags(frame.parent));
    }
}

impl Visitor for Encoder {
    type Frame = Frame;
    type Error = Infallible;

    #[inline]
    fn enter(
        &mut self,
        lane: LaneId,
        parents: &mut [Frame],
        func: FuncId,
        ticks: u64,
    ) -> Result<Frame, Infallible> {
        if !self.waiting.is_empty() {
            self.settle("");
        }
        self.lanes.select(lane);
        let (level, parent) = match parents.last() {
            Some(outer) if outer.left_out.is_none() => (outer.level + 1, outer.span),
            // No filter left it out.
            Some(outer) if matches!(outer.left_out, Some(Reason::Unsampled | Reason::ByCount)) => {
                (outer.level + u32::from(self.is_kept(outer.function)), outer.parent)
            }
            Some(outer) => (outer.level, outer.parent),
            None => (0, self.begin_trace()),
        };
        let function = self.functions.index(func, &self.symbols, &self.options);
        let kept = self.is_kept(function);
        let left_out = if !self.lanes.current().trace.sampled {
            Some(Reason::Unsampled)
        } else if !kept {
            Some(Reason::ByName)
        } else if self.options.max_depth.is_some_and(|depth| level >= depth) {
            Some(Reason::ByDepth)
        } else if self.options.max_spans.is_some_and(|spans| self.reserved >= spans) {
            Some(Reason::ByCount)
        } else {
            self.reserved += 1;
            None
        };
        self.serial += 1;
        let (span, inside) = (self.ids.span(self.serial), Inside::default());
        Ok(Frame { start_ticks: ticks, span, parent, function, level, left_out, inside })
    }

    fn function(&self, frame: &Frame) -> FuncId {
        self.functions.list().get(frame.function as usize).map_or(OTHER, |function| function.func)
    }

    fn allocation(
        &mut self,
        lane: LaneId,
        open: &mut [Frame],
        by: FuncId,
        allocation: &Allocation,
        ticks: u64,
    ) -> Result<(), Infallible> {
        if let Some(heap) = &mut self.heap {
            let node = Encoder::memory_node(open.last().map(|frame| frame.function));
            heap.allocation(lane, node, by, allocation, ticks);
        }
        Ok(())
    }

    fn pause(
        &mut self,
        _lane: LaneId,
        open: &mut [Frame],
        func: FuncId,
        paused: u64,
        _ticks: u64,
    ) -> Result<(), Infallible> {
        if let Some(Frame { inside, .. }) = open.last_mut() {
            let sum = if func == RECORDER { &mut inside.recorder_ticks } else { &mut inside.wait_ticks };
            *sum = sum.saturating_add(paused);
        }
        Ok(())
    }

    #[inline]
    fn stands_for(&mut self, frame: &mut Frame, calls: u64) {
        // These calls are deeper than any span that is asked for, and their time is the frame's.
        let others = calls.saturating_sub(1);
        frame.inside.elided = frame.inside.elided.saturating_add(others);
        self.elided.by_depth.calls = self.elided.by_depth.calls.saturating_add(others);
    }

    #[inline]
    fn leave(
        &mut self,
        lane: LaneId,
        parents: &mut [Frame],
        frame: Frame,
        ending: Ending,
        ticks: u64,
    ) -> Result<(), Infallible> {
        if let Some(last) = self.waiting.last()
            && (last.ending != ending || last.ticks != ticks || lane != self.lanes.current().id)
        {
            self.settle("");
        }
        self.lanes.select(lane);
        let duration = ticks - frame.start_ticks;
        let is_wanted = duration >= self.min_ticks
            && self.options.max_depth.is_none_or(|depth| frame.level < depth)
            && self.is_kept(frame.function);
        if let Some(metrics) = self.metrics.as_mut().filter(|_| is_wanted) {
            metrics.add(frame.function, duration);
        }
        let outer = parents.last_mut();
        if let Some(reason) = frame.left_out {
            self.leave_out(outer, &frame, reason, ticks);
            return Ok(());
        }
        if duration < self.min_ticks {
            self.reserved -= 1;
            self.leave_out(outer, &frame, Reason::ByDuration, ticks);
            return Ok(());
        }
        let around = outer.map_or(&mut self.run, |outer| &mut outer.inside);
        around.span_ticks = around.span_ticks.saturating_add(duration);
        let Inside { elided, recorder_ticks, wait_ticks, .. } = frame.inside;
        if ending == Ending::Leave && elided == 0 && recorder_ticks == 0 && wait_ticks == 0 {
            self.write(&frame, ticks, &[]);
        } else if may_be_explained(ending) {
            self.waiting.push(Waiting { frame, ending, ticks });
        } else {
            self.write_more(&frame, ending, ticks, "");
        }
        Ok(())
    }
}

/// Whether the end of the trace may say more about how this frame ended.
fn may_be_explained(ending: Ending) -> bool {
    use kperf_trace::Reason::{Exit, Host, Interrupted, Trap};
    matches!(ending, Ending::Unwound(Trap | Exit | Host | Interrupted))
}
