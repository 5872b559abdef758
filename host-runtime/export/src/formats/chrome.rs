//! Chrome's trace events, as JSON: for `chrome://tracing`, Perfetto's UI and others.
//!
//! A begin (`B`) and an end (`E`) for each call, in the order of the trace, so that calls of no length nest as they did;
//! complete events (`X`) would leave that to be guessed. A lane is a thread.
//! Source: "Trace Event Format", the Chromium project.

use crate::names::{Names, json};
use kperf_abi::FuncId;
use kperf_profile::frames::{AtRange, Ending, TraceVisitor, Visitor};
use kperf_profile::{CallFilter, Exported, Symbols, nanos_since_anchor, pause_as_call, visit};
use kperf_trace::{Header, LaneId, TraceReader};
use rustc_hash::FxHashMap;
use std::io::{self, Read, Write};

/// Writes the calls of a trace that a filter lets through, while it is read; `program` is the process's name.
///
/// Fails where reading or writing does; `progress` gets the number of bytes read.
pub fn write<R: Read, W: Write>(
    mut reader: TraceReader<R>,
    filter: &CallFilter<'_>,
    program: &str,
    mut out: W,
    mut progress: impl FnMut(u64),
) -> io::Result<Exported> {
    writeln!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let name = json(program);
    write!(out, "{{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{{\"name\":{name}}}}}")?;
    let header = reader.header().clone();
    let (symbols, threads) = (Symbols::default(), FxHashMap::default());
    let events = Events { out, header, symbols, names: Names::new(json), threads };
    let (mut events, exported) = visit(&mut reader, events, filter, AtRange::Whole, &mut progress)?;
    writeln!(events.out, "\n]}}")?;
    events.out.flush()?;
    Ok(exported)
}

struct Events<W> {
    out: W,
    header: Header,
    symbols: Symbols,
    names: Names,
    /// Lanes, numbered from 1.
    threads: FxHashMap<LaneId, usize>,
}

impl<W: Write> Events<W> {
    /// Begins an event, with its time in microseconds.
    fn event(&mut self, phase: char, lane: LaneId, ticks: u64) -> io::Result<()> {
        let nanos = nanos_since_anchor(&self.header, ticks);
        let thread = self.threads.get(&lane).copied().unwrap_or(0);
        let (micros, rest) = (nanos / 1000, nanos % 1000);
        write!(self.out, ",\n{{\"ph\":\"{phase}\",\"pid\":1,\"tid\":{thread},\"ts\":{micros}.{rest:03}")
    }
}

impl<W: Write> Visitor for Events<W> {
    type Frame = FuncId;
    type Error = io::Error;

    fn lane(&mut self, lane: LaneId, _start_ticks: u64) -> io::Result<()> {
        let thread = self.threads.len() + 1;
        self.threads.insert(lane, thread);
        write!(
            self.out,
            ",\n{{\"ph\":\"M\",\"pid\":1,\"tid\":{thread},\"name\":\"thread_name\",\"args\":{{\"name\":\"lane {lane}\"}}}}"
        )
    }

    fn enter(
        &mut self,
        lane: LaneId,
        _parents: &mut [FuncId],
        func: FuncId,
        ticks: u64,
    ) -> io::Result<FuncId> {
        self.event('B', lane, ticks)?;
        let name = self.names.get(&self.symbols, func);
        write!(self.out, ",\"name\":{name}}}")?;
        Ok(func)
    }

    fn leave(
        &mut self,
        lane: LaneId,
        _parents: &mut [FuncId],
        func: FuncId,
        ending: Ending,
        ticks: u64,
    ) -> io::Result<()> {
        self.event('E', lane, ticks)?;
        // The format doesn't ask for it, Chrome's own reader does.
        let name = self.names.get(&self.symbols, func);
        match ending.as_str() {
            None => write!(self.out, ",\"name\":{name}}}"),
            Some(how) => write!(self.out, ",\"name\":{name},\"args\":{{\"ended\":\"{how}\"}}}}"),
        }
    }

    fn mark(&mut self, lane: LaneId, _open: &mut [FuncId], value: u32, ticks: u64) -> io::Result<()> {
        self.event('i', lane, ticks)?;
        write!(self.out, ",\"s\":\"t\",\"name\":\"mark {value}\"}}")
    }

    fn lost(
        &mut self,
        lane: LaneId,
        _open: &mut [FuncId],
        events: Option<u64>,
        ticks: u64,
    ) -> io::Result<()> {
        self.event('i', lane, ticks)?;
        let count = events.map_or("null".to_owned(), |events| events.to_string());
        write!(self.out, ",\"s\":\"t\",\"name\":\"events lost\",\"args\":{{\"count\":{count}}}}}")
    }

    fn pause(
        &mut self,
        lane: LaneId,
        open: &mut [FuncId],
        func: FuncId,
        paused: u64,
        ticks: u64,
    ) -> io::Result<()> {
        pause_as_call(self, lane, open, func, paused, ticks)
    }
}

impl<W: Write> TraceVisitor for Events<W> {
    fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }
}
