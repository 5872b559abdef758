//! What the latest window of a profile says, as lines.

use crate::table::{TableOptions, color, grouped, name_text, plural};
use kperf_profile::{Symbols, nanos_text};
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
    /// Parts of the time of open calls, in the window and since the beginning.
    now: f64,
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
        for node in &window.nodes {
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
        for node in nodes {
            let sum = now.entry(node.func).or_default();
            sum.0 = sum.0.saturating_add(node.self_ticks);
        }
        for &(func, calls) in calls {
            now.entry(func).or_default().1 += calls;
        }
        let part = |ticks: u64, whole: f64| if whole > 0.0 { ticks as f64 / whole } else { 0.0 };
        let whole_now = now.values().map(|(ticks, _)| *ticks as f64).sum();
        let whole = self.all_ticks.values().map(|&ticks| ticks as f64).sum();
        let line = |(func, (ticks, calls)): (FuncId, (u64, u64))| Line {
            func,
            now: part(ticks, whole_now),
            all: part(self.all_ticks.get(&func).copied().unwrap_or(0), whole),
            calls_per_second: if seconds > 0.0 { calls as f64 / seconds } else { 0.0 },
        };
        let mut lines: Vec<Line> = now.into_iter().map(line).collect();
        let by = |line: &Line| (line.now, line.all, line.calls_per_second);
        lines.sort_by(|a, b| by(b).partial_cmp(&by(a)).unwrap_or(std::cmp::Ordering::Equal));
        lines
    }

    fn head(&self) -> String {
        let Window { start_ticks, end_ticks, samples, idle_ticks, calls, .. } = &self.window;
        let since = self.nanos(self.start_ticks.unwrap_or(*start_ticks), *end_ticks);
        let length = self.nanos(*start_ticks, *end_ticks);
        let busy = 1.0 - (*idle_ticks as f64 * self.nanos_per_tick / length.max(1.0)).min(1.0);
        let calls = calls.iter().fold(0u64, |sum, (_, calls)| sum.saturating_add(*calls));
        format!(
            "# after {:.1} s: the last {}, {}, {}, {:.0} % of it in calls",
            since / 1e9,
            nanos_text(length.round() as u64),
            plural(*samples, "sample"),
            plural(calls, "call"),
            100.0 * busy
        )
    }
}

/// Where it is shown.
pub(super) struct Screen {
    limit: Option<usize>,
    color: bool,
    /// Whether it is drawn over what was drawn before.
    redraws: bool,
}

impl Screen {
    pub(super) fn new(limit: Option<usize>, color: bool) -> Screen {
        Screen { limit, color, redraws: io::stderr().is_terminal() }
    }

    /// Takes away what was drawn.
    pub(super) fn clear(&self, out: &mut impl Write) -> io::Result<()> {
        // To the upper left corner, and away with what is behind it.
        if self.redraws { write!(out, "\x1b[H\x1b[J") } else { Ok(()) }
    }

    pub(super) fn show(&mut self, latest: &Latest, out: &mut impl Write) -> io::Result<()> {
        let (height, width) = match self.redraws {
            true => console::Term::stderr().size(),
            false => (0, 0),
        };
        let fitting = if self.redraws { usize::from(height).saturating_sub(4).max(1) } else { 10 };
        let text = self.text(latest, self.limit.unwrap_or(fitting), usize::from(width));
        self.clear(out)?;
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn text(&self, latest: &Latest, limit: usize, width: usize) -> String {
        let lines = latest.lines();
        let bars = if self.color { color::BAR + 1 } else { 0 };
        let room = if width == 0 { 80 } else { width.saturating_sub(bars + 30).max(16) };
        let mut text = format!("{}\n", latest.head());
        text.push_str(&format!("{:bars$} now %   all %        calls/s  function\n", ""));
        for line in lines.iter().take(limit) {
            let Line { func, now, all, calls_per_second } = *line;
            let name = name_text(latest.symbols.label(func), room, TableOptions::default());
            if self.color {
                text.push_str(&color::bar_text(now));
            }
            let calls = grouped(calls_per_second.round() as u64);
            text.push_str(&format!("{:6.1}  {:6.1}  {calls:>13}  {name}\n", 100.0 * now, 100.0 * all));
        }
        match lines.len().saturating_sub(limit) {
            0 => {}
            more => text.push_str(&format!("# and {}\n", plural(more as u64, "more function"))),
        }
        text
    }
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
            ..Window::default()
        };
        latest.add(&window(0, &[node(1, 750)], &[(FuncId(1), 3)]));
        latest.add(&window(
            1_000,
            &[node(1, 250), node(2, 300), node(2, 200)],
            &[(FuncId(2), 2_000), (FuncId(3), 1)],
        ));
        let screen = Screen { limit: None, color: false, redraws: false };
        let text = screen.text(&latest, 2, 0);
        assert_eq!(
            text,
            "# after 2.0 s: the last 1.000 s, 1,000 samples, 2,001 calls, 75 % of it in calls\n \
             now %   all %        calls/s  function\n  \
             66.7    33.3          2,000  func id 2\n  \
             33.3    66.7              0  func id 1\n\
             # and 1 more function\n"
        );
        assert!(Screen { color: true, ..screen }.text(&latest, 2, 40).contains("\x1b[31m"));
    }
}
