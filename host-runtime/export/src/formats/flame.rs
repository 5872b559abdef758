//! Flame graphs and flame charts, as SVG.

use crate::formats::folded::{self, Pauses, Weight};
use inferno::flamegraph::{self, Direction, Options as Picture, Palette};
use kperf_abi::FuncId;
use kperf_profile::frames::{AtRange, Ending, TraceVisitor, Visitor};
use kperf_profile::{
    Accuracy, CallFilter, Exported, FlatProfile, MAX_CACHED, Paths, Profile, Shortened, Symbols, Unit,
    clock_text, grouped, nanos_since_anchor, pause_as_call, times_text, visit,
};
use kperf_trace::{ClockKind, Header, LaneId, TraceReader};
use rustc_hash::FxHashMap;
use std::io::{self, BufWriter, Read, Write};

/// How a flame graph is drawn.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The title.
    pub title: String,
    /// Whether the innermost function is at the root, with its callers above it.
    pub reverse: bool,
    /// The meaning of widths.
    pub weight: Weight,
    /// Width of the picture in pixels; `None` for one that fills the window.
    pub width: Option<usize>,
    /// The unit of times.
    pub unit: Unit,
}

/// Draws a flame graph: the calls on the same path are one box. Widths are of all self time, as shares are: the recorder and waits are
/// left out. A trace without any time or calls is an error
/// ([`io::ErrorKind::InvalidInput`]). Paths that make too much text count for their outer part.
pub fn write(profile: &Profile, options: &Options, out: impl Write) -> io::Result<Shortened> {
    let mut lines = Vec::new();
    let what = (options.weight, Pauses::LeftOut);
    let shortened = folded::each_line(profile, what, Paths::MAX_KEPT, |stack, weight| {
        lines.push(format!("{stack} {weight}"));
        Ok(())
    })?;
    draw(&lines, options, Figures::of(profile, options), false, out)?;
    Ok(shortened)
}

/// The digits of a picture's figures, and the line below its title.
struct Figures {
    about: Option<String>,
    /// So many nanoseconds are one of what boxes say: no less than their error.
    step: u32,
}

impl Figures {
    /// The figures of a profile.
    fn of(profile: &Profile, options: &Options) -> Figures {
        let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
        if options.weight != Weight::Nanos {
            let about = (options.weight == Weight::Calls).then(|| format!("{} calls", grouped(flat.calls)));
            return Figures { about, step: 1 };
        }
        let accuracy = Accuracy::of(profile, flat.self_nanos);
        let of_rows = flat.rows.iter().filter(|row| !row.is_counted);
        let errors = of_rows.filter_map(|row| accuracy.share_error(row.func, row.share, row.calls));
        let error =
            errors.fold(None, |max: Option<f64>, error| Some(max.map_or(error, |max| max.max(error))));
        let error = error.map(|error| format!(", shares of functions within ± {:.1} points", 100.0 * error));
        let whole = options.unit.text(flat.self_nanos.round() as u64);
        let apart = flat.apart_text(options.unit).map(|apart| format!(", {apart}")).unwrap_or_default();
        let step =
            accuracy.precision().map_or(1.0, |precision| flat.self_nanos / precision.effective_samples);
        Figures {
            about: Some(format!(
                "{whole} in all{apart}{}; {}",
                error.unwrap_or_default(),
                times_text(profile)
            )),
            step: Figures::step(step),
        }
    }

    /// The figures of a chart, of single calls.
    fn of_chart(header: &Header, exported: &Exported) -> Figures {
        let ticks = exported.health.summary.as_ref().map(|summary| &summary.ticks);
        let ticks = ticks.filter(|ticks| header.clock.kind == ClockKind::Ticker && ticks.count > 0);
        let resolution =
            ticks.filter(|ticks| ticks.squares > 0.0).map_or(1.0, |ticks| ticks.resolution_nanos());
        Figures {
            about: Some(format!("calls over time; clock: {}", clock_text(header, ticks))),
            step: Figures::step(resolution),
        }
    }

    /// The largest unit that is no larger.
    fn step(nanos: f64) -> u32 {
        match nanos {
            nanos if nanos >= 1e6 => 1_000_000,
            nanos if nanos >= 1e3 => 1_000,
            _ => 1,
        }
    }
}

/// Draws a flame chart: time goes from left to right, and lanes follow each other. Memory is in proportion to the calls
/// that the filter lets through, which is why it should leave out those too short to be seen. It has a limit: a chart that
/// is larger is an error ([`io::ErrorKind::InvalidInput`]).
pub fn write_chart<R: Read>(
    mut reader: TraceReader<R>,
    filter: &CallFilter<'_>,
    options: &Options,
    out: impl Write,
    mut progress: impl FnMut(u64),
) -> io::Result<Exported> {
    let (header, symbols, names) = (reader.header().clone(), Symbols::default(), FxHashMap::default());
    let chart = Chart { header, symbols, names, order: Vec::new(), lanes: FxHashMap::default(), bytes: 0 };
    let (chart, exported) = visit(&mut reader, chart, filter, AtRange::Clipped, &mut progress)?;
    if chart.bytes > Paths::MAX_KEPT {
        let text = "the chart has too many calls to be drawn; leave out short or deep ones, or choose a part of the time";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let several = chart.order.len() > 1;
    let mut lines = Vec::new();
    for lane in &chart.order {
        let Some(Lane { parts, .. }) = chart.lanes.get(lane) else { continue };
        for (stack, nanos) in parts {
            match several {
                true => lines.push(format!("lane {lane};{stack} {nanos}")),
                false => lines.push(format!("{stack} {nanos}")),
            }
        }
    }
    // The library wants the last part first, and draws them the other way round.
    lines.reverse();
    draw(&lines, options, Figures::of_chart(&chart.header, &exported), true, out)?;
    Ok(exported)
}

/// Draws a differential flame graph of folded stacks with two numbers each: as wide as the second, red where that is more
/// than the first, blue where it is less.
pub fn write_diff(lines: &[String], title: &str, out: impl Write) -> io::Result<()> {
    let figures = Figures { about: None, step: 1 };
    draw(lines, &Options { title: title.to_owned(), ..Options::default() }, figures, false, out)
}

fn draw(
    lines: &[String],
    options: &Options,
    figures: Figures,
    chart: bool,
    mut out: impl Write,
) -> io::Result<()> {
    if lines.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            if options.weight == Weight::Bytes {
                "nothing in it has any bytes"
            } else {
                "nothing in it took any time"
            },
        ));
    }
    let mut picture = Picture::default();
    picture.title.clone_from(&options.title);
    picture.count_name = match (options.weight, options.unit) {
        (Weight::Calls, _) => "calls",
        (Weight::Bytes, _) => "bytes",
        (_, Unit::Instructions) => "instr",
        (_, Unit::Time) => match figures.step {
            1_000_000 => "ms",
            1_000 => "us",
            _ => "ns",
        },
    }
    .to_owned();
    picture.factor = 1.0 / f64::from(figures.step);
    picture.subtitle = figures.about;
    picture.image_width = options.width;
    picture.reverse_stack_order = options.reverse;
    picture.flame_chart = chart;
    picture.deterministic = true;
    picture.hash = true;
    picture.colors = Palette::default();
    if options.reverse {
        picture.direction = Direction::Inverted;
    }
    // It may have hundreds of megabytes, so it is written while it is drawn.
    let mut out = BufWriter::new(WithDarkStyle { out: &mut out, head: Some(Vec::new()) });
    flamegraph::from_lines(&mut picture, lines.iter().map(String::as_str), &mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
}

/// Passes a picture on, and adds a style for dark mode: a dark background, and light text outside of boxes.
struct WithDarkStyle<W> {
    out: W,
    /// The text so far, until the picture's own style comes.
    head: Option<Vec<u8>>,
}

impl<W: Write> WithDarkStyle<W> {
    /// The picture is whole.
    fn finish(mut self) -> io::Result<()> {
        if let Some(head) = self.head.take() {
            self.out.write_all(&head)?;
        }
        self.out.flush()
    }
}

impl<W: Write> Write for WithDarkStyle<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        const STYLE: &[u8] = b"<style type=\"text/css\">";
        const DARK: &[u8] =
            b"\n@media (prefers-color-scheme: dark) {\n  #background stop { stop-color: #1d1f21; }\n  \
            svg > text { fill: #d8dadc; }\n}\n";
        /// It comes before this.
        const HEAD: usize = 1 << 20;
        let Some(head) = &mut self.head else {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        };
        head.extend_from_slice(bytes);
        let style = head.windows(STYLE.len()).position(|bytes| bytes == STYLE);
        if let Some(at) = style {
            let (before, after) = head.split_at(at + STYLE.len());
            [before, DARK, after].iter().try_for_each(|part| self.out.write_all(part))?;
        } else if head.len() > HEAD {
            self.out.write_all(head)?;
        } else {
            return Ok(bytes.len());
        }
        self.head = None;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The size of a part without its stack, in bytes.
const PART_LEN: usize = 40;
/// How many bytes the names of the open calls of a lane have at most.
const MAX_STACK: usize = 1 << 20;

struct Chart {
    header: Header,
    symbols: Symbols,
    names: FxHashMap<FuncId, String>,
    /// Lanes in the order in which they first appeared.
    order: Vec<LaneId>,
    lanes: FxHashMap<LaneId, Lane>,
    /// How many bytes the parts of all lanes have, or would have.
    bytes: u64,
}

/// The stacks that ran on a lane, in the order of time.
#[derive(Default)]
struct Lane {
    parts: Vec<(String, u64)>,
    /// The functions that are open, with `;` between them.
    stack: String,
    last_nanos: u64,
}

impl Chart {
    /// Notes the stack that ran until now.
    fn until(&mut self, lane: LaneId, ticks: u64) -> Option<&mut Lane> {
        let now = nanos_since_anchor(&self.header, ticks);
        let lane = self.lanes.get_mut(&lane)?;
        let nanos = now.saturating_sub(lane.last_nanos);
        lane.last_nanos = now;
        if nanos > 0 {
            let stack = if lane.stack.is_empty() { "[host]" } else { &lane.stack };
            match lane.parts.last_mut().filter(|(last, _)| last == stack) {
                Some((_, sum)) => *sum += nanos,
                None => {
                    self.bytes = self.bytes.saturating_add((stack.len() + PART_LEN) as u64);
                    if self.bytes <= Paths::MAX_KEPT {
                        lane.parts.push((stack.to_owned(), nanos));
                    }
                }
            }
        }
        Some(lane)
    }
}

impl Visitor for Chart {
    /// How long the stack was before it.
    type Frame = usize;
    type Error = io::Error;

    fn lane(&mut self, lane: LaneId, start_ticks: u64) -> io::Result<()> {
        let last_nanos = nanos_since_anchor(&self.header, start_ticks);
        self.order.push(lane);
        self.lanes.insert(lane, Lane { last_nanos, ..Lane::default() });
        Ok(())
    }

    fn enter(&mut self, lane: LaneId, _parents: &mut [usize], func: FuncId, ticks: u64) -> io::Result<usize> {
        let symbols = &self.symbols;
        if self.names.len() >= MAX_CACHED {
            self.names.clear();
        }
        let name = self.names.entry(func).or_insert_with(|| symbols.label(func).replace(';', ",")).clone();
        let Some(lane) = self.until(lane, ticks) else { return Ok(0) };
        if lane.stack.len() + name.len() >= MAX_STACK {
            // It can't be drawn anyway.
            return Ok(lane.stack.len());
        }
        let before = lane.stack.len();
        if before > 0 {
            lane.stack.push(';');
        }
        lane.stack.push_str(&name);
        Ok(before)
    }

    fn leave(
        &mut self,
        lane: LaneId,
        _parents: &mut [usize],
        before: usize,
        _ending: Ending,
        ticks: u64,
    ) -> io::Result<()> {
        if let Some(lane) = self.until(lane, ticks) {
            lane.stack.truncate(before);
        }
        Ok(())
    }

    fn pause(
        &mut self,
        lane: LaneId,
        open: &mut [usize],
        func: FuncId,
        paused: u64,
        ticks: u64,
    ) -> io::Result<()> {
        pause_as_call(self, lane, open, func, paused, ticks)
    }
}

impl TraceVisitor for Chart {
    fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }
}
