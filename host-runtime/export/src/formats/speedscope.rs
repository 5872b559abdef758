//! speedscope's own format, as JSON: an evented profile for each lane.
//!
//! Where a call was made through inlined functions, these are calls too, which last as long as it does.
//!
//! The format wants each lane's events together, so the trace is read once for each lane.
//! Source: <https://www.speedscope.app/file-format-schema.json>.

use crate::names::json;
use kperf_abi::FuncId;
use kperf_profile::frames::{AtRange, Ending, TraceVisitor, Visitor};
use kperf_profile::{
    CallFilter, Exported, LaneChoice, MAX_CACHED, OTHER, Shown, Symbols, Unit, Ways, nanos_since_anchor,
    pause_as_call, visit,
};
use kperf_trace::{Header, LaneId, TraceReader};
use rustc_hash::FxHashMap;
use std::io::{self, Read, Write};
use std::rc::Rc;

/// Writes the calls of a trace that a filter lets through. `open` gives the trace from its beginning, whenever it is asked;
/// `lanes` are the wanted lanes, in the order of the output.
///
/// Fails where reading or writing does; `progress` gets the number of bytes read, anew for each lane.
pub fn write<R: Read, W: Write>(
    mut open: impl FnMut() -> io::Result<TraceReader<R>>,
    filter: &CallFilter<'_>,
    lanes: &[LaneId],
    program: &str,
    out: W,
    mut progress: impl FnMut(u64),
) -> io::Result<Option<Exported>> {
    let (header, symbols, frames) = (open()?.header().clone(), Symbols::default(), FxHashMap::default());
    let ways = Ways::new(filter.keep);
    let mut events =
        Events { out, header, symbols, ways, frames, shared: Vec::new(), first: true, last_nanos: 0 };
    write!(events.out, "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",")?;
    write!(events.out, "\"exporter\":\"kperf-wasm\",\"name\":{},\"profiles\":[", json(program))?;
    let unit = match Unit::of(&events.header) {
        Unit::Time => "nanoseconds",
        Unit::Instructions => "none",
    };
    let mut found: Option<Exported> = None;
    for (n, lane) in lanes.iter().enumerate() {
        let only = LaneChoice { recorder: lane.recorder, stack: Some(lane.stack) };
        let filter = CallFilter { lanes: vec![only], ..filter.clone() };
        write!(
            events.out,
            "{}{{\"type\":\"evented\",\"name\":\"lane {lane}\",",
            if n > 0 { "," } else { "" }
        )?;
        write!(events.out, "\"unit\":\"{unit}\",\"startValue\":0,\"events\":[")?;
        (events.first, events.last_nanos) = (true, 0);
        let (back, exported) = visit(&mut open()?, events, &filter, AtRange::Whole, &mut progress)?;
        events = back;
        write!(events.out, "],\"endValue\":{}}}", events.last_nanos)?;
        let before = found.map_or(0, |found| found.calls);
        found = Some(Exported { calls: exported.calls + before, ..exported });
    }
    write!(events.out, "],\"shared\":{{\"frames\":[")?;
    for (n, frame) in events.shared.iter().enumerate() {
        write!(events.out, "{}\n{{{frame}}}", if n > 0 { "," } else { "" })?;
    }
    writeln!(events.out, "]}}}}")?;
    events.out.flush()?;
    Ok(found)
}

struct Events<'k, W> {
    out: W,
    header: Header,
    symbols: Symbols,
    ways: Ways<'k>,
    /// Functions, numbered as they are first called.
    frames: FxHashMap<Shown, usize>,
    /// The fields of each frame's JSON object, by number.
    shared: Vec<String>,
    first: bool,
    last_nanos: u64,
}

impl<W: Write> Events<'_, W> {
    fn event(&mut self, kind: char, shown: Shown, ticks: u64) -> io::Result<()> {
        // In a damaged trace a pause may be longer than what it lies in.
        let nanos = nanos_since_anchor(&self.header, ticks).max(self.last_nanos);
        let is_known = self.shared.len() < MAX_CACHED || self.frames.contains_key(&shown);
        let shown = if is_known { shown } else { Shown::Function(OTHER) };
        let (shared, symbols) = (&mut self.shared, &self.symbols);
        let frame = *self.frames.entry(shown).or_insert_with(|| {
            let mut fields = format!("\"name\":{}", json(&shown.label(symbols)));
            if let Some((file, line)) = shown.source(symbols) {
                fields += &format!(",\"file\":{},\"line\":{line}", json(file));
            }
            shared.push(fields);
            shared.len() - 1
        });
        let comma = if std::mem::take(&mut self.first) { "" } else { "," };
        self.last_nanos = nanos;
        write!(self.out, "{comma}\n{{\"type\":\"{kind}\",\"frame\":{frame},\"at\":{nanos}}}")
    }
}

/// A call, and the inlined functions that it was made through.
struct Open {
    func: FuncId,
    way: Rc<[Shown]>,
}

impl<W: Write> Visitor for Events<'_, W> {
    type Frame = Open;
    type Error = io::Error;

    fn enter(&mut self, _lane: LaneId, parents: &mut [Open], func: FuncId, ticks: u64) -> io::Result<Open> {
        let way = self.ways.of(&self.symbols, parents.last().map(|parent| parent.func), func);
        way.iter().try_for_each(|&inlined| self.event('O', inlined, ticks))?;
        self.event('O', Shown::Function(func), ticks)?;
        Ok(Open { func, way })
    }

    fn leave(
        &mut self,
        _lane: LaneId,
        _parents: &mut [Open],
        Open { func, way }: Open,
        _ending: Ending,
        ticks: u64,
    ) -> io::Result<()> {
        self.event('C', Shown::Function(func), ticks)?;
        way.iter().rev().try_for_each(|&inlined| self.event('C', inlined, ticks))
    }

    fn pause(
        &mut self,
        lane: LaneId,
        open: &mut [Open],
        func: FuncId,
        paused: u64,
        ticks: u64,
    ) -> io::Result<()> {
        pause_as_call(self, lane, open, func, paused, ticks)
    }
}

impl<W: Write> TraceVisitor for Events<'_, W> {
    fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }
}
