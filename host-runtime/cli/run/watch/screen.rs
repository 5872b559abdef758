//! The latest window of a profile, as lines.

use crate::shared::table::{TableOptions, color, grouped, name_text, plural};
use kperf_profile::{Accuracy, Sampling, Symbols, is_pause, nanos_text};
use kperf_trace::{FuncId, Header, Window};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};

/// The latest window, and the sums of all.
pub(super) struct Latest {
    pub(super) symbols: Symbols,
    nanos_per_tick: f64,
    start_ticks: Option<u64>,
    window: Window,
    all_ticks: BTreeMap<FuncId, u64>,
}

/// A function in the latest window.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    func: FuncId,
    /// Parts of all self time, in the window and since the beginning.
    now: f64,
    /// How far `now` may be off.
    error: f64,
    all: f64,
    calls_per_second: f64,
}

impl Latest {
    pub(super) fn new(header: &Header) -> Latest {
        Latest {
            symbols: Symbols::default(),
            nanos_per_tick: 1e9 / header.clock.ticks_per_second,
            start_ticks: None,
            window: Window::default(),
            all_ticks: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, window: &Window) {
        self.start_ticks.get_or_insert(window.start_ticks);
        for node in window.nodes.iter().filter(|node| !is_pause(node.func)) {
            let sum = self.all_ticks.entry(node.func).or_default();
            *sum = sum.saturating_add(node.self_ticks);
        }
        self.window = window.clone();
    }

    fn nanos(&self, from: u64, to: u64) -> f64 {
        to.saturating_sub(from) as f64 * self.nanos_per_tick
    }

    /// The functions of the window, those with the most self time first.
    fn lines(&self) -> Vec<Line> {
        let Window { nodes, calls, start_ticks, end_ticks, .. } = &self.window;
        let seconds = self.nanos(*start_ticks, *end_ticks) / 1e9;
        let mut now: BTreeMap<FuncId, (u64, u64)> = BTreeMap::new();
        for node in nodes.iter().filter(|node| !is_pause(node.func)) {
            let sum = now.entry(node.func).or_default();
            sum.0 = sum.0.saturating_add(node.self_ticks);
        }
        for &(func, calls) in calls {
            now.entry(func).or_default().1 += calls;
        }
        let part = |ticks: u64, whole: f64| if whole > 0.0 { ticks as f64 / whole } else { 0.0 };
        let ticks = now.values().fold(0u64, |sum, (ticks, _)| sum.saturating_add(*ticks));
        let whole_now = ticks as f64;
        let accuracy = self.accuracy(ticks);
        let whole = self.all_ticks.values().map(|&ticks| ticks as f64).sum();
        let line = |(func, (ticks, calls)): (FuncId, (u64, u64))| {
            let now = part(ticks, whole_now);
            Line {
                func,
                now,
                error: accuracy.share_error(func, now, calls).unwrap_or(0.0),
                all: part(self.all_ticks.get(&func).copied().unwrap_or(0), whole),
                calls_per_second: if seconds > 0.0 { calls as f64 / seconds } else { 0.0 },
            }
        };
        let mut lines: Vec<Line> = now.into_iter().map(line).collect();
        let by = |line: &Line| (line.now, line.all, line.calls_per_second);
        lines.sort_by(|a, b| by(b).partial_cmp(&by(a)).unwrap_or(std::cmp::Ordering::Equal));
        lines
    }

    /// The accuracy of the window, in which functions ran for so many ticks.
    fn accuracy(&self, busy_ticks: u64) -> Accuracy {
        let Window { squares, calls, .. } = &self.window;
        let sampling = Sampling { busy_ticks, squares: *squares, ..Sampling::default() };
        let calls = calls.iter().fold(0u64, |sum, (_, calls)| sum.saturating_add(*calls));
        Accuracy::of_samples(&sampling, busy_ticks as f64 * self.nanos_per_tick, calls, None)
    }

    fn head(&self) -> String {
        let Window { start_ticks, end_ticks, samples, idle_ticks, nodes, calls, .. } = &self.window;
        let since = self.nanos(self.start_ticks.unwrap_or(*start_ticks), *end_ticks);
        let length = self.nanos(*start_ticks, *end_ticks);
        let busy = 1.0 - (*idle_ticks as f64 * self.nanos_per_tick / length.max(1.0)).min(1.0);
        let calls = calls.iter().fold(0u64, |sum, (_, calls)| sum.saturating_add(*calls));
        let pauses = nodes.iter().filter(|node| is_pause(node.func));
        let paused = pauses.fold(0u64, |sum, node| sum.saturating_add(node.self_ticks));
        let paused = 100.0 * paused as f64 * self.nanos_per_tick / length.max(1.0);
        let waiting = if paused >= 1.0 { format!(", {paused:.0} % waiting") } else { String::new() };
        format!(
            "# after {:.1} s, in the last {}, {}, {}, {:.0} % of it in calls{waiting}",
            since / 1e9,
            nanos_text(length.round() as u64),
            plural(*samples, "sample"),
            plural(calls, "call"),
            100.0 * busy
        )
    }
}

/// The terminal or file that shows it.
pub(super) struct Screen {
    limit: Option<usize>,
    color: bool,
    /// Whether it is drawn over the previous window.
    redraws: bool,
}

impl Screen {
    pub(super) fn new(limit: Option<usize>, color: bool) -> Screen {
        Screen { limit, color, redraws: io::stderr().is_terminal() }
    }

    /// Clears the screen.
    pub(super) fn clear(&self, out: &mut impl Write) -> io::Result<()> {
        // To the upper left corner, and clear the rest.
        if self.redraws { write!(out, "\x1b[H\x1b[J") } else { Ok(()) }
    }

    pub(super) fn show(&mut self, latest: &Latest, out: &mut impl Write) -> io::Result<()> {
        let size = self.redraws.then(|| console::Term::stderr().size());
        let text = self.text(latest, size);
        // In one write, so that half a screen is never seen.
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// The text, for a terminal of `(height, width)` or for a file.
    fn text(&self, latest: &Latest, size: Option<(u16, u16)>) -> String {
        let Some((height, width)) = size else {
            return self.lines(latest, self.limit.unwrap_or(10), UNLIMITED).join("\n") + "\n";
        };
        let (height, width) = (usize::from(height).max(2), usize::from(width).max(1));
        let heads = wrapped(&latest.head(), width).len();
        // The titles, how many more there are, and the line of the cursor.
        let room = height.saturating_sub(heads + 3).max(1);
        let limit = self.limit.map_or(room, |limit| limit.min(room));
        let mut text = "\x1b[H".to_owned();
        for line in self.lines(latest, limit, width) {
            text.push_str(&console::truncate_str(&line, width, ""));
            // Clear the rest of the previous line.
            text.push_str("\x1b[K\n");
        }
        text + "\x1b[J"
    }

    fn lines(&self, latest: &Latest, limit: usize, width: usize) -> Vec<String> {
        let functions = latest.lines();
        let shown = |min: usize| width >= min;
        let (bars, all, calls) = (self.color && shown(WITH_BARS), shown(WITH_ALL), shown(WITH_CALLS));
        let error = shown(WITH_ERROR);
        let mut titles = format!("{:1$} now %", "", if bars { color::BAR + 1 } else { 0 });
        if error {
            titles.push_str("     ±");
        }
        if all {
            titles.push_str("   all %");
        }
        if calls {
            titles.push_str("        calls/s");
        }
        let room = width.saturating_sub(titles.chars().count() + 2).clamp(8, NAME);
        let mut lines = wrapped(&latest.head(), width);
        lines.push(titles + "  function");
        for function in functions.iter().take(limit) {
            let mut line = if bars { color::bar_text(function.now) } else { String::new() };
            line.push_str(&format!("{:6.1}", 100.0 * function.now));
            if error {
                line.push_str(&format!("  {:4.1}", 100.0 * function.error));
            }
            if all {
                line.push_str(&format!("  {:6.1}", 100.0 * function.all));
            }
            if calls {
                line.push_str(&format!("  {:>13}", grouped(function.calls_per_second.round() as u64)));
            }
            let name = name_text(latest.symbols.label(function.func), room, TableOptions::default());
            lines.push(format!("{line}  {name}"));
        }
        match functions.len().saturating_sub(limit) {
            0 => {}
            more => lines.push(format!("# and {}", plural(more as u64, "more function"))),
        }
        lines
    }
}

/// A file has lines of any width.
const UNLIMITED: usize = usize::MAX;
/// The longest name that is shown.
const NAME: usize = 80;
/// From these widths on there are bars, the share of all of the run, its error, and calls.
const WITH_BARS: usize = 72;
const WITH_ALL: usize = 40;
const WITH_ERROR: usize = 62;
const WITH_CALLS: usize = 56;

/// A line of parts between commas, as lines that are no wider than this where that can be.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in text.split(", ") {
        match lines.last_mut() {
            Some(line) if line.len().saturating_add(part.len() + 3) <= width => {
                line.push_str(", ");
                line.push_str(part);
            }
            Some(line) => {
                line.push(',');
                lines.push(format!("#   {part}"));
            }
            None => lines.push(part.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use kperf_trace::WindowNode;

    #[test]
    fn a_window_is_a_few_lines() {
        let mut header = Header::default();
        header.clock.ticks_per_second = 1_000.0;
        let mut latest = Latest::new(&header);
        let node = |func, self_ticks| WindowNode { parent: None, func: FuncId(func), samples: 1, self_ticks };
        let window = |start_ticks, nodes: &[WindowNode], calls: &[(FuncId, u64)]| Window {
            start_ticks,
            end_ticks: start_ticks + 1_000,
            samples: 1_000,
            idle_ticks: 250,
            nodes: nodes.to_vec(),
            calls: calls.to_vec(),
            squares: 750.0,
            ..Window::default()
        };
        latest.add(&window(0, &[node(1, 750)], &[(FuncId(1), 3)]));
        latest.add(&window(
            1_000,
            &[node(1, 250), node(2, 300), node(2, 200)],
            &[(FuncId(2), 2_000), (FuncId(3), 1)],
        ));
        let screen = Screen { limit: Some(2), color: false, redraws: false };
        let text = screen.text(&latest, None);
        assert_eq!(
            text,
            "# after 2.0 s, in the last 1.000 s, 1,000 samples, 2,001 calls, 75 % of it in calls\n \
             now %     ±   all %        calls/s  function\n  \
             66.7   3.4    33.3          2,000  func id 2\n  \
             33.3   3.4    66.7              0  func id 1\n\
             # and 1 more function\n"
        );
        let on = |width, color| Screen { limit: None, color, redraws: true }.text(&latest, Some((6, width)));
        assert!(on(72, true).contains("\x1b[31m") && !on(71, true).contains("\x1b[31m"));
        assert_eq!(
            on(40, true),
            "\x1b[H# after 2.0 s, in the last 1.000 s,\x1b[K\n\
             #   1,000 samples, 2,001 calls,\x1b[K\n\
             #   75 % of it in calls\x1b[K\n \
             now %   all %  function\x1b[K\n  \
             66.7    33.3  func id 2\x1b[K\n\
             # and 2 more functions\x1b[K\n\x1b[J"
        );
        for width in [0, 1, 10, 39, 56, 80, 500] {
            let text = on(width, true);
            let widest = text.lines().map(console::measure_text_width).max();
            assert!(widest <= Some(usize::from(width).max(1)), "{width}: {text}");
        }
    }
}
