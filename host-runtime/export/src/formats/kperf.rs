//! The text format of k-perf, the Kotlin tracer, as its `graph-visualizer.py` reads it.
//!
//! ```text
//! trace_life_0.txt     >;3             function 3 was entered
//!                      <;125           the innermost call took 125 microseconds
//! symbols_life_0.txt   { "3": "life::step",
//!                      "4": "life::play" }
//! ```
//!
//! There is a trace file for each lane, for the format knows one stack. Versions of k-perf differ in the leave: today's
//! write the time alone, those before its plugins moved to `plugins/`, and their script, `<;3;125` with the function's id
//! ([`Options::leave_ids`]).
//!
//! k-perf shares ids between overloads, doesn't escape names, and cuts every duration to whole microseconds, so that
//! short calls take no time. Here ids are unique and names escaped. Its script reads whole numbers only (`int()`), so this
//! cuts points in time to whole microseconds, not durations. A call during which the clock steps from one microsecond to
//! the next takes 1, others 0, and the sum over many calls is right. The script takes the first function without a caller
//! as the program. It draws only that function's callees, and divides by its time. So the first call of a lane takes at
//! least 1. Calls stay in the order of time, so the first may be an initializer (as in Kotlin); a filter can remove it.

use kperf_abi::FuncId;
use kperf_profile::frames::{AtRange, Ending, TraceVisitor, Visitor};
use kperf_profile::{CallFilter, Exported, LOST, OTHER, Symbols, visit};
use kperf_trace::{Header, LaneId, TraceReader};
use rustc_hash::FxHashMap;
use std::io::{self, Read, Write};

/// How the format is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether a leave repeats the function's id: `<;3;125`.
    pub leave_ids: bool,
}

/// Name of a lane's trace file. The program's name is kept to characters that are safe in file names.
pub fn trace_file_name(program: &str, lane: LaneId) -> String {
    let safe = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    format!("trace_{}_{lane}.txt", program.chars().map(safe).collect::<String>())
}

/// Name of the symbols file that goes with a trace file: where k-perf's script looks for it.
pub fn symbols_file_name(trace_file_name: &str) -> String {
    trace_file_name.replace("trace", "symbols")
}

/// Writes the calls of a trace, each lane to an output of its own that `open` gives. Calls that were unwound, lost or
/// cut off are closed like others: the script wants every call closed.
///
/// Fails where reading or writing does; `progress` gets the number of bytes read.
pub fn write_traces<R: Read, W: Write>(
    mut reader: TraceReader<R>,
    filter: &CallFilter<'_>,
    options: &Options,
    open: impl FnMut(LaneId) -> io::Result<W>,
    mut progress: impl FnMut(u64),
) -> io::Result<Exported> {
    let header = reader.header().clone();
    let (symbols, outputs) = (Symbols::default(), FxHashMap::default());
    let exporter = Exporter { options: *options, header, symbols, origin_ticks: 0, outputs, open };
    let (exporter, exported) = visit(&mut reader, exporter, filter, AtRange::Whole, &mut progress)?;
    for mut output in exporter.outputs.into_values() {
        output.out.flush()?;
    }
    Ok(exported)
}

/// Writes the names of all functions.
pub fn write_symbols(symbols: &Symbols, mut out: impl Write) -> io::Result<()> {
    let lost = [(LOST, symbols.name(LOST))];
    let known = symbols.iter().map(|symbol| (symbol.id, symbol.display_name().into()));
    for (n, (id, name)) in known.chain(lost).enumerate() {
        let before = if n == 0 { "{ " } else { ",\n" };
        write!(out, "{before}\"{}\": {}", Id(id), serde_json::to_string(&name)?)?;
    }
    writeln!(out, " }}")?;
    out.flush()
}

/// An id as the format has it.
struct Id(FuncId);

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            LOST => f.write_str("lost"),
            OTHER => f.write_str("other"),
            FuncId(id) => write!(f, "{id}"),
        }
    }
}

struct Exporter<O, W> {
    options: Options,
    header: Header,
    symbols: Symbols,
    origin_ticks: u64,
    outputs: FxHashMap<LaneId, Output<W>>,
    open: O,
}

/// A lane's file.
struct Output<W> {
    out: W,
    /// Whether a call has ended that nothing calls.
    has_root: bool,
}

impl<O, W> Exporter<O, W> {
    fn whole_micros(&self, ticks: u64) -> u64 {
        self.header.nanos(ticks.saturating_sub(self.origin_ticks)) / 1000
    }
}

struct Frame {
    func: FuncId,
    start_micros: u64,
}

impl<O: FnMut(LaneId) -> io::Result<W>, W: Write> Visitor for Exporter<O, W> {
    type Frame = Frame;
    type Error = io::Error;

    fn begin(&mut self, start_ticks: u64) -> io::Result<()> {
        self.origin_ticks = start_ticks;
        Ok(())
    }

    fn lane(&mut self, lane: LaneId, _start_ticks: u64) -> io::Result<()> {
        self.outputs.insert(lane, Output { out: (self.open)(lane)?, has_root: false });
        Ok(())
    }

    fn enter(&mut self, lane: LaneId, _parents: &mut [Frame], func: FuncId, ticks: u64) -> io::Result<Frame> {
        let start_micros = self.whole_micros(ticks);
        if let Some(Output { out, .. }) = self.outputs.get_mut(&lane) {
            writeln!(out, ">;{}", Id(func))?;
        }
        Ok(Frame { func, start_micros })
    }

    fn leave(
        &mut self,
        lane: LaneId,
        parents: &mut [Frame],
        frame: Frame,
        _ending: Ending,
        ticks: u64,
    ) -> io::Result<()> {
        let mut micros = self.whole_micros(ticks).saturating_sub(frame.start_micros);
        let Some(Output { out, has_root }) = self.outputs.get_mut(&lane) else { return Ok(()) };
        if parents.is_empty() && !std::mem::replace(has_root, true) {
            micros = micros.max(1);
        }
        if self.options.leave_ids {
            writeln!(out, "<;{};{micros}", Id(frame.func))
        } else {
            writeln!(out, "<;{micros}")
        }
    }
}

impl<O: FnMut(LaneId) -> io::Result<W>, W: Write> TraceVisitor for Exporter<O, W> {
    fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }
}
