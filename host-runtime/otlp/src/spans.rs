//! A trace as requests, one at a time.

use crate::account::{Account, Elided};
use crate::batch::Request;
use crate::encoder::Encoder;
use crate::options::SpanOptions;
use kperf_profile::frames::Frames;
use kperf_profile::{Health, Stalls, Symbols};
use kperf_trace::{Header, Item, TraceReader};
use std::io::{self, Read};

/// Reads a trace and gives its calls as requests with spans, in the order in which the calls ended.
///
/// Its memory: the frames that are open, one request, and what one block of the trace gives. The same trace, options and
/// seed give the same requests, byte for byte, so that what was interrupted can go on behind the last request that
/// arrived.
///
/// The trace may still grow. A reader below that has nothing yet may wait, or say
/// [`WouldBlock`](io::ErrorKind::WouldBlock): [`next`](Spans::next) passes that on and may be called again later.
pub struct Spans<R: Read> {
    reader: TraceReader<R>,
    frames: Frames<Encoder>,
    stalls: Stalls,
    run_spans: u64,
    finished: bool,
    /// When the trace began and ended, in ticks, once that is known; before that, of a profile, when its windows did.
    range: Option<(u64, u64)>,
}

impl<R: Read> Spans<R> {
    /// Begins.
    pub fn new(reader: TraceReader<R>, options: SpanOptions) -> Spans<R> {
        let encoder = Encoder::new(reader.header().clone(), options);
        Spans {
            reader,
            frames: Frames::new(encoder),
            stalls: Stalls::default(),
            run_spans: 0,
            finished: false,
            range: None,
        }
    }

    /// The next request; `None` at the end of the trace.
    ///
    /// # Errors
    ///
    /// Only what the reader below the trace's says. It may be called again afterwards: nothing is lost.
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

    /// What is gathered so far and doesn't fill a request yet: for a trace that still grows, where spans shall not wait
    /// for more. Where requests are cut then depends on when this is called; which spans there are, and in which order,
    /// does not ([`Request::first_span`]).
    pub fn partial(&mut self) -> Option<Request> {
        let batch = &mut self.frames.visitor().batch;
        batch.cut();
        batch.pop()
    }

    fn step(&mut self) -> io::Result<()> {
        match self.reader.next()? {
            Some(Item::Symbols(bytes)) => self.frames.visitor().symbols.add_bytes(bytes),
            Some(Item::Events(batch)) => match self.frames.push(&batch) {
                Ok(()) => {}
                Err(never) => match never {},
            },
            Some(Item::Spans(batch)) => match self.frames.push_spans(&batch) {
                Ok(()) => {}
                Err(never) => match never {},
            },
            Some(Item::Window(window)) => {
                let encoder = self.frames.visitor();
                if encoder.metrics.is_some() {
                    encoder.counted.add(window);
                }
                let begun = self.range.map_or(window.start_ticks, |(start, _)| start.min(window.start_ticks));
                self.range = Some((begun, window.end_ticks));
            }
            Some(Item::Parent(parent)) => self.frames.visitor().lanes.say(parent),
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
        match self.frames.finish(end_ticks) {
            Ok(()) => {}
            Err(never) => match never {},
        }
        let windows = self.range.take();
        let start_ticks = self.frames.lanes().map(|lane| lane.start_ticks);
        let start_ticks = start_ticks.chain(windows.map(|(start, _)| start)).min();
        let end_ticks = windows.map_or(end_ticks, |(_, end)| end_ticks.max(end));
        let encoder = self.frames.visitor();
        if let Some(start_ticks) = start_ticks {
            self.range = Some((start_ticks, end_ticks));
            self.run_spans = u64::from(encoder.run_span(start_ticks, end_ticks, outcome));
        }
        encoder.batch.cut();
        self.finished = true;
    }

    /// What became of the calls: all of them once [`next`](Spans::next) has given `None`, those so far before that.
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
            health,
        }
    }

    /// Calls without a span so far.
    pub fn elided(&mut self) -> Elided {
        self.frames.visitor().elided()
    }

    /// The metrics of a trace that was read to its end, with [`SpanOptions::metrics`]; else none. For each function
    /// `kperf.function.calls`, a sum, and `kperf.function.duration`, an exponential histogram in seconds, both cumulative
    /// since the trace began. Of a profile, instead of the latter, `kperf.function.self_time`, a sum in seconds by samples.
    pub fn metrics(&mut self) -> Vec<Request> {
        let Some((start_ticks, end_ticks)) = self.range.filter(|_| self.finished) else { return Vec::new() };
        self.frames.visitor().metrics(start_ticks, end_ticks)
    }

    /// What the trace says about its clock and host.
    pub fn header(&self) -> &Header {
        self.reader.header()
    }

    /// The functions known so far.
    pub fn symbols(&mut self) -> &Symbols {
        &self.frames.visitor().symbols
    }

    /// How many bytes of the trace are done with. For progress.
    pub fn offset(&self) -> u64 {
        self.reader.offset()
    }
}
