//! The calls of a trace one by one, as an indented tree with times, in the manner of `uftrace replay`.

use kperf_abi::FuncId;
use kperf_profile::frames::{AtRange, Ending, TraceVisitor, Visitor};
use kperf_profile::{CallFilter, Exported, MAX_CACHED, Symbols, Unit, rough_text, visit};
use kperf_trace::{Header, LaneId, TraceReader};
use rustc_hash::FxHashMap;
use std::io::{self, Read, Write};

/// Options of a replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions<'a> {
    /// Which calls.
    pub filter: CallFilter<'a>,
    /// Whether each line says its lane.
    pub lanes: bool,
    /// Durations are no finer than this, in nanoseconds, if each event didn't read the clock.
    pub resolution_nanos: Option<f64>,
}

/// Writes the calls of a trace.
///
/// A call's opening line is written when something inside it is, so a call that turns out to have nothing inside takes
/// one line; one that was counted only has no duration. Nothing is buffered but the frames that are open. Lanes
/// come in the order of their blocks in the trace; times are in order within a lane.
///
/// Fails where reading or writing does; `progress` gets the number of bytes read.
pub fn replay<R: Read, W: Write>(
    mut reader: TraceReader<R>,
    options: &ReplayOptions<'_>,
    mut out: W,
    mut progress: impl FnMut(u64),
) -> io::Result<Exported> {
    let lane = if options.lanes { "  LANE " } else { "" };
    writeln!(out, "# DURATION {lane}  FUNCTION")?;
    let replayer = Replayer {
        header: reader.header().clone(),
        lanes: options.lanes,
        resolution_nanos: options.resolution_nanos,
        out,
        symbols: Symbols::default(),
        labels: FxHashMap::default(),
        origin_ticks: 0,
    };
    let (mut replayer, exported) =
        visit(&mut reader, replayer, &options.filter, AtRange::Whole, &mut progress)?;
    replayer.out.flush()?;
    Ok(exported)
}

/// How many levels are indented. Deeper lines name their depth instead: the file would grow with the square of the depth.
const MAX_INDENT: usize = 1_000;

struct Replayer<W> {
    out: W,
    header: Header,
    lanes: bool,
    resolution_nanos: Option<f64>,
    symbols: Symbols,
    /// Of the functions that were called so far.
    labels: FxHashMap<FuncId, String>,
    /// Where the trace begins.
    origin_ticks: u64,
}

struct Frame {
    func: FuncId,
    start_ticks: u64,
    /// Whether its opening line is written.
    opened: bool,
}

impl<W: Write> Replayer<W> {
    fn label(&mut self, func: FuncId) -> &str {
        let symbols = &self.symbols;
        self.labels.entry(func).or_insert_with(|| symbols.label(func))
    }

    /// Writes the columns before a line's text.
    fn gutter(&mut self, lane: LaneId, duration: Option<u64>, level: usize) -> io::Result<()> {
        let text = |nanos: u64| match self.resolution_nanos {
            Some(resolution) => rough_text(nanos as f64, resolution),
            None => Unit::of(&self.header).text(nanos),
        };
        let duration = duration.map(|ticks| text(self.header.nanos(ticks))).unwrap_or_default();
        let width = if Unit::of(&self.header) == Unit::Time { 10 } else { 15 };
        write!(self.out, "{duration:>width$} ")?;
        if self.lanes {
            write!(self.out, "{:>7}", format!("[{lane}]"))?;
        }
        write!(self.out, "| {:indent$}", "", indent = 2 * level.min(MAX_INDENT))?;
        if level > MAX_INDENT { write!(self.out, "/* {level} deep */ ") } else { Ok(()) }
    }

    /// Writes the opening lines of frames that have none yet.
    fn open(&mut self, lane: LaneId, frames: &mut [Frame]) -> io::Result<()> {
        // Frames outside one that is opened are opened.
        let opened = frames.iter().rposition(|frame| frame.opened).map_or(0, |last| last + 1);
        for (level, frame) in frames.iter_mut().enumerate().skip(opened) {
            frame.opened = true;
            self.gutter(lane, None, level)?;
            let label = self.label(frame.func).to_owned();
            writeln!(self.out, "{label}{} {{", parentheses(&label))?;
        }
        Ok(())
    }

    /// Writes a line about a moment.
    fn remark(&mut self, lane: LaneId, frames: &mut [Frame], ticks: u64, text: &str) -> io::Result<()> {
        self.open(lane, frames)?;
        self.gutter(lane, None, frames.len())?;
        let nanos = self.header.nanos(ticks.saturating_sub(self.origin_ticks));
        writeln!(self.out, "/* {text}, at {} */", Unit::of(&self.header).text(nanos))
    }
}

impl<W: Write> Visitor for Replayer<W> {
    type Frame = Frame;
    type Error = io::Error;

    fn begin(&mut self, start_ticks: u64) -> io::Result<()> {
        self.origin_ticks = start_ticks;
        Ok(())
    }

    fn enter(
        &mut self,
        _lane: LaneId,
        _parents: &mut [Frame],
        func: FuncId,
        ticks: u64,
    ) -> io::Result<Frame> {
        Ok(Frame { func, start_ticks: ticks, opened: false })
    }

    fn leave(
        &mut self,
        lane: LaneId,
        parents: &mut [Frame],
        frame: Frame,
        ending: Ending,
        ticks: u64,
    ) -> io::Result<()> {
        if !frame.opened {
            self.open(lane, parents)?;
        }
        let is_counted = self.symbols.is_counted(frame.func);
        let duration = ticks.saturating_sub(frame.start_ticks);
        self.gutter(lane, Some(duration).filter(|_| !is_counted), parents.len())?;
        let symbols = &self.symbols;
        if self.labels.len() >= MAX_CACHED {
            self.labels.clear();
        }
        let label = self.labels.entry(frame.func).or_insert_with(|| symbols.label(frame.func));
        match (frame.opened, ending.as_str()) {
            (true, None) => writeln!(self.out, "}} /* {label} */"),
            (true, Some(how)) => writeln!(self.out, "}} /* {label}: {how} */"),
            (false, None) => writeln!(self.out, "{label}{};", parentheses(label)),
            (false, Some(how)) => writeln!(self.out, "{label}{}; /* {how} */", parentheses(label)),
        }
    }

    fn mark(&mut self, lane: LaneId, open: &mut [Frame], value: u32, ticks: u64) -> io::Result<()> {
        self.remark(lane, open, ticks, &format!("mark {value}"))
    }

    fn lost(&mut self, lane: LaneId, open: &mut [Frame], events: Option<u64>, ticks: u64) -> io::Result<()> {
        let text = match events {
            Some(1) => "1 event lost".to_owned(),
            Some(events) => format!("{events} events lost"),
            None => "events lost".to_owned(),
        };
        self.remark(lane, open, ticks, &text)
    }
}

impl<W: Write> TraceVisitor for Replayer<W> {
    fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }
}

/// The `()` after a name. Names of C++ have their parameters already.
fn parentheses(label: &str) -> &'static str {
    if label.ends_with(')') { "" } else { "()" }
}
