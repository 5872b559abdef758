//! The calls of a trace one by one, as an indented tree with times, in the manner of `uftrace replay`.

use crate::drive::{Writer, drive};
use crate::frames::{Ending, Visitor};
use crate::health::Health;
use crate::symbols::Symbols;
use crate::text::nanos_text;
use kperf_abi::FuncId;
use kperf_trace::{Header, LaneId, TraceReader};
use rustc_hash::FxHashMap;
use std::io::{self, Read, Write};

/// What of a trace is shown.
pub struct ReplayOptions<'a> {
    /// How many levels of calls; `None` for all.
    pub depth: Option<u32>,
    /// Calls that took less are hidden, in nanoseconds.
    pub min_nanos: u64,
    /// Only calls that were open at some time in this range.
    pub range: Range,
    /// Whether each line says its lane.
    pub lanes: bool,
    /// Which functions, by name. The calls of others are passed through: what they called moves up a level, as if they
    /// had no probes.
    pub keep: &'a dyn Fn(&str) -> bool,
}

/// A range of time, both ends included, in nanoseconds since the beginning of the trace (that of its first block).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Its begin.
    pub start_nanos: u64,
    /// Its end.
    pub end_nanos: u64,
}

impl Default for Range {
    /// All of the trace.
    fn default() -> Range {
        Range { start_nanos: 0, end_nanos: u64::MAX }
    }
}

/// What a replay found.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What is to be told besides the calls.
    pub health: Health,
    /// The functions.
    pub symbols: Symbols,
    /// Whether [`ReplayOptions::keep`] had anything to keep among the functions of the trace.
    pub kept_any: bool,
    /// How many calls were shown.
    pub calls_shown: u64,
}

/// Writes the calls of a trace.
///
/// A call's opening line is written when something inside it is, so a call that turns out to have nothing inside takes
/// one line, and one that turns out to be too short takes none. Nothing is buffered but the frames that are open. Lanes
/// come in the order of their blocks in the trace; times are in order within a lane.
///
/// Fails where reading or writing does; `progress` is told how many bytes of the trace were read.
pub fn replay<R: Read, W: Write>(
    mut reader: TraceReader<R>,
    options: &ReplayOptions<'_>,
    mut out: W,
    mut progress: impl FnMut(u64),
) -> io::Result<Replayed> {
    let lane = if options.lanes { "  LANE " } else { "" };
    writeln!(out, "# DURATION {lane}  FUNCTION")?;
    let header = reader.header().clone();
    let replayer = Replayer {
        min_ticks: (options.min_nanos as f64 * header.clock.ticks_per_second / 1e9).ceil() as u64,
        header,
        options,
        out,
        symbols: Symbols::default(),
        functions: FxHashMap::default(),
        origin_ticks: None,
        calls_shown: 0,
    };
    let (mut replayer, health) = drive(&mut reader, replayer, &mut progress)?;
    replayer.out.flush()?;
    let kept_any = replayer.functions.values().any(|function| function.kept)
        || replayer.symbols.iter().any(|symbol| (options.keep)(symbol.display_name()));
    Ok(Replayed { health, symbols: replayer.symbols, kept_any, calls_shown: replayer.calls_shown })
}

struct Replayer<'a, W> {
    out: W,
    options: &'a ReplayOptions<'a>,
    header: Header,
    min_ticks: u64,
    symbols: Symbols,
    /// What is known of the functions that were called so far.
    functions: FxHashMap<FuncId, Function>,
    /// Where the trace begins.
    origin_ticks: Option<u64>,
    calls_shown: u64,
}

struct Function {
    label: String,
    kept: bool,
}

struct Frame {
    func: FuncId,
    start_ticks: u64,
    /// How many shown functions are open outside it.
    level: u32,
    /// Whether it can be shown at all: by its function, its level and its begin.
    shown: bool,
    /// Whether its opening line is written.
    opened: bool,
}

impl Frame {
    /// The level of what is inside it.
    fn inner_level(&self) -> u32 {
        self.level + u32::from(self.shown)
    }
}

impl<W: Write> Replayer<'_, W> {
    fn nanos_since_origin(&self, ticks: u64) -> u64 {
        self.header.nanos(ticks.saturating_sub(self.origin_ticks.unwrap_or(0)))
    }

    fn function(&mut self, func: FuncId) -> &Function {
        let (symbols, keep) = (&self.symbols, self.options.keep);
        self.functions
            .entry(func)
            .or_insert_with(|| Function { label: symbols.label(func), kept: keep(&symbols.name(func)) })
    }

    /// What stands before a line's text.
    fn gutter(&mut self, lane: LaneId, duration: Option<u64>, level: u32) -> io::Result<()> {
        let duration = duration.map(|ticks| nanos_text(self.header.nanos(ticks))).unwrap_or_default();
        write!(self.out, "{duration:>10} ")?;
        if self.options.lanes {
            write!(self.out, "{:>7}", format!("[{lane}]"))?;
        }
        write!(self.out, "| {:indent$}", "", indent = 2 * level as usize)
    }

    /// Writes the opening lines of frames that are known to be long enough by now. Answers the level inside them.
    fn open(&mut self, lane: LaneId, frames: &mut [Frame], ticks: u64) -> io::Result<u32> {
        // Frames inside one that is too short are too short themselves.
        let long_enough = frames.partition_point(|frame| ticks - frame.start_ticks >= self.min_ticks);
        let frames = frames.get_mut(..long_enough).unwrap_or_default();
        // Frames outside one that is opened are opened.
        let opened = frames.iter().rposition(|frame| frame.opened).map_or(0, |last| last + 1);
        for frame in frames.iter_mut().skip(opened).filter(|frame| frame.shown) {
            frame.opened = true;
            self.gutter(lane, None, frame.level)?;
            let label = &self.function(frame.func).label.clone();
            writeln!(self.out, "{label}{} {{", parentheses(label))?;
        }
        Ok(frames.last().map_or(0, Frame::inner_level))
    }

    /// Writes a line about a moment, if that is in the range.
    fn remark(&mut self, lane: LaneId, frames: &mut [Frame], ticks: u64, text: &str) -> io::Result<()> {
        let nanos = self.nanos_since_origin(ticks);
        if nanos < self.options.range.start_nanos || nanos > self.options.range.end_nanos {
            return Ok(());
        }
        let level = self.open(lane, frames, ticks)?;
        let level = self.options.depth.map_or(level, |depth| level.min(depth));
        self.gutter(lane, None, level)?;
        writeln!(self.out, "/* {text}, at {} */", nanos_text(nanos))
    }
}

impl<W: Write> Visitor for Replayer<'_, W> {
    type Frame = Frame;
    type Error = io::Error;

    fn lane(&mut self, _lane: LaneId, start_ticks: u64) -> io::Result<()> {
        self.origin_ticks.get_or_insert(start_ticks);
        Ok(())
    }

    fn enter(&mut self, _lane: LaneId, parents: &mut [Frame], func: FuncId, ticks: u64) -> io::Result<Frame> {
        let level = parents.last().map_or(0, Frame::inner_level);
        let shown = self.options.depth.is_none_or(|depth| level < depth)
            && self.nanos_since_origin(ticks) <= self.options.range.end_nanos
            && self.function(func).kept;
        Ok(Frame { func, start_ticks: ticks, level, shown, opened: false })
    }

    fn leave(
        &mut self,
        lane: LaneId,
        parents: &mut [Frame],
        frame: Frame,
        ending: Ending,
        ticks: u64,
    ) -> io::Result<()> {
        let duration = ticks - frame.start_ticks;
        let in_range = self.nanos_since_origin(ticks) >= self.options.range.start_nanos;
        if !frame.shown || !in_range || duration < self.min_ticks {
            return Ok(());
        }
        self.calls_shown += 1;
        if !frame.opened {
            self.open(lane, parents, ticks)?;
        }
        self.gutter(lane, Some(duration), frame.level)?;
        let label = self.functions.get(&frame.func).map_or("", |function| function.label.as_str());
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

impl<W: Write> Writer for Replayer<'_, W> {
    fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }
}

/// What makes a name a call. C++ names have their parameters with them.
fn parentheses(label: &str) -> &'static str {
    if label.ends_with(')') { "" } else { "()" }
}
