//! Reads a trace and gives its calls as requests.

use super::account::{Account, Elided};
use super::batch::Request;
use super::encoder::Encoder;
use crate::options::SpanOptions;
use kperf_profile::frames::Frames;
use kperf_profile::{CallObserver, Health, Stalls, Symbols, Unit};
use kperf_trace::{Batch, Header, Item, LaneId, TimedEvent, TraceReader};
use std::convert::Infallible;
use std::io::{self, Read};

/// Reads a trace and gives its calls as requests with spans, in the order in which the calls ended.
///
/// It keeps in memory the open frames, one request, and the spans of one block. The same trace, options and seed give the same
/// requests, byte for byte.
///
/// The trace may still grow. If its input has no bytes yet, it may wait, or return
/// [`WouldBlock`](io::ErrorKind::WouldBlock): [`next`](Spans::next) returns that error and may be called again later.
pub struct Spans<R: Read> {
    reader: TraceReader<R>,
    frames: Frames<Encoder>,
    stalls: Stalls,
    run_spans: u64,
    /// Windows of a profile were read.
    is_profile: bool,
    finished: bool,
    rest: Rest,
    /// When the trace began and ended, in ticks, if known; before that, when a profile's windows began and ended.
    range: Option<(u64, u64)>,
}

/// How many events are turned into spans before a request may be given.
const AT_ONCE: usize = 1 << 12;
/// How many calls may be open at once, all of which may end at once: deeper calls share one span.
pub(crate) const MAX_OPEN: usize = 1 << 16;

/// The rest of the trace's last batch. The spans of a whole batch may take gigabytes.
#[derive(Default)]
struct Rest {
    lane: LaneId,
    are_spans: bool,
    events: Vec<TimedEvent>,
    done: usize,
}

impl Rest {
    /// Returns the first events of a batch, and keeps the others.
    fn begin<'a>(&mut self, batch: &Batch<'a>, are_spans: bool) -> Batch<'a> {
        let (now, later) = batch.events.split_at(batch.events.len().min(AT_ONCE));
        (self.lane, self.are_spans, self.done) = (batch.lane, are_spans, 0);
        self.events.clear();
        self.events.extend_from_slice(later);
        Batch { events: now, ..*batch }
    }

    /// Some more events.
    fn next(&mut self) -> Option<&[TimedEvent]> {
        let events = self.events.get(self.done..).filter(|events| !events.is_empty())?;
        let events = events.get(..AT_ONCE).unwrap_or(events);
        self.done += events.len();
        Some(events)
    }
}

fn never_fails(result: Result<(), Infallible>) {
    match result {
        Ok(()) => {}
        Err(never) => match never {},
    }
}

impl<R: Read> Spans<R> {
    /// Begins.
    pub fn new(reader: TraceReader<R>, options: SpanOptions) -> Spans<R> {
        let encoder = Encoder::new(reader.header().clone(), options);
        Spans {
            reader,
            frames: Frames::with_limit(encoder, MAX_OPEN),
            stalls: Stalls::default(),
            run_spans: 0,
            is_profile: false,
            finished: false,
            rest: Rest::default(),
            range: None,
        }
    }

    /// The next request; `None` at the end of the trace.
    ///
    /// # Errors
    ///
    /// Only errors of the trace's input. After an error it may be called again: nothing is lost.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> io::Result<Option<Request>> {
        loop {
            if let Some(request) = self.frames.visitor().batch.pop() {
                return Ok(Some(request));
            }
            if self.finished {
                return Ok(None);
            }
            self.step()?;
        }
    }

    /// The spans so far that don't fill a request yet, for a growing trace: its spans must not wait for more. The size of requests
    /// then depends on when this is called; the spans and their order don't.
    pub fn partial(&mut self) -> Option<Request> {
        let batch = &mut self.frames.visitor().batch;
        batch.cut();
        batch.pop()
    }

    fn step(&mut self) -> io::Result<()> {
        let Rest { lane, are_spans, .. } = self.rest;
        if let Some(events) = self.rest.next() {
            never_fails(self.frames.go_on(lane, events, are_spans));
            return Ok(());
        }
        match self.reader.next()? {
            Some(Item::Symbols(bytes)) => {
                let encoder = self.frames.visitor();
                encoder.symbols.add_bytes(bytes);
                if let Some(heap) = &mut encoder.heap {
                    heap.symbols(&encoder.symbols);
                }
            }
            Some(Item::Events(batch)) => {
                let now = self.rest.begin(&batch, false);
                never_fails(self.frames.push(&now));
            }
            Some(Item::Spans(batch)) => {
                let now = self.rest.begin(&batch, true);
                never_fails(self.frames.push_spans(&now));
            }
            Some(Item::Window(window)) => {
                self.is_profile = true;
                let encoder = self.frames.visitor();
                if encoder.metrics.is_some() {
                    encoder.window(window);
                }
                let begun = self.range.map_or(window.start_ticks, |(start, _)| start.min(window.start_ticks));
                self.range = Some((begun, window.end_ticks));
            }
            Some(Item::Parent(parent)) => self.frames.visitor().lanes.say(parent),
            Some(Item::Anchor(anchor)) => self.frames.visitor().anchor(&anchor),
            Some(Item::Stall(stall)) => self.stalls.add(&stall),
            Some(Item::End(summary)) => self.frames.visitor().settle(&summary.outcome),
            None => self.finish(),
        }
        Ok(())
    }

    fn finish(&mut self) {
        let summary = self.reader.summary();
        let end_ticks = summary.map_or(0, |summary| summary.end_ticks).max(self.frames.last_ticks());
        let outcome = summary.map_or("", |summary| summary.outcome.as_str());
        self.frames.visitor().settle(outcome);
        match self.frames.finish(end_ticks, Unit::of(self.reader.header())) {
            Ok(()) => {}
            Err(never) => match never {},
        }
        let windows = self.range.take();
        let start_ticks = self.frames.lanes().map(|lane| lane.start_ticks);
        let start_ticks = start_ticks.chain(windows.map(|(start, _)| start)).min();
        let end_ticks = windows.map_or(end_ticks, |(_, end)| end_ticks.max(end));
        let encoder = self.frames.visitor();
        if let Some(heap) = &mut encoder.heap {
            heap.end();
        }
        if let Some(start_ticks) = start_ticks {
            self.range = Some((start_ticks, end_ticks));
            self.run_spans = u64::from(encoder.run_span(start_ticks, end_ticks, outcome));
        }
        encoder.batch.cut();
        self.finished = true;
    }

    /// The account of the calls that were read so far: all calls after [`next`](Spans::next) has returned `None`.
    pub fn account(&mut self) -> Account {
        let (counts, problems) = (*self.frames.counts(), self.frames.problems().clone());
        let encoder = self.frames.visitor();
        let health = Health::new(&self.reader, counts, &problems, self.stalls, &encoder.symbols);
        let batch = &encoder.batch;
        Account {
            calls: counts.calls + counts.without_enter,
            spans: batch.given,
            run_spans: self.run_spans,
            requests: batch.requests,
            bytes: batch.bytes,
            elided: encoder.elided(),
            is_profile: self.is_profile,
            health,
        }
    }

    /// Calls without a span so far.
    pub fn elided(&mut self) -> Elided {
        self.frames.visitor().elided()
    }

    /// The encoder, and when the trace began and ended, in ticks. `None` before its end.
    pub(crate) fn finished(&mut self) -> Option<(&Encoder, (u64, u64))> {
        let range = self.range.filter(|_| self.finished)?;
        Some((self.frames.visitor(), range))
    }

    /// The trace's clock and host.
    pub fn header(&self) -> &Header {
        self.reader.header()
    }

    /// The functions known so far.
    pub fn symbols(&mut self) -> &Symbols {
        &self.frames.visitor().symbols
    }

    /// How many bytes of the trace were read, for progress.
    pub fn offset(&self) -> u64 {
        self.reader.offset()
    }
}
