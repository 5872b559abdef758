//! Draws the screen.

use super::screen::{Place, Screen, Source, Tab};
use super::tree::{State, TreeRow};
use crate::table::{grouped, plural};
use kperf_profile::printable;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

/// From these shares on a function is hot, or warm.
const HOT: f64 = 0.2;
const WARM: f64 = 0.05;
/// A row is moved in by so many columns for each caller, as long as its name has so many left.
const INDENT: usize = 2;
const NAME: usize = 24;

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);

/// Draws all of it, and notes how many rows there is room for.
pub fn draw(screen: &mut Screen<'_>, frame: &mut Frame<'_>) {
    let parts = Layout::vertical([Constraint::Length(2), Constraint::Min(1), Constraint::Length(1)]);
    let [head, rows, foot] = parts.areas(frame.area());
    screen.height = usize::from(rows.height).max(1);
    let lines = match (&mut screen.source, screen.tab) {
        (Some(source), _) => source_lines(source, screen.height),
        (None, Tab::Tree) => tree_lines(screen, rows),
        (None, Tab::Functions) => function_lines(screen),
    };
    frame.render_widget(Paragraph::new(head_lines(screen)), head);
    let text = Paragraph::new(lines);
    // Rows of figures are cut, and source is not.
    frame.render_widget(if screen.source.is_some() { text.wrap(Wrap { trim: false }) } else { text }, rows);
    let line = foot_line(screen);
    // The end of what is typed is what the user looks at.
    let is_cut = screen.is_typing && line.width() > usize::from(foot.width);
    frame.render_widget(if is_cut { line.right_aligned() } else { line }, foot);
}

fn head_lines(screen: &Screen<'_>) -> Vec<Line<'static>> {
    let profile = screen.profile;
    let wall = screen.unit.text(profile.wall_nanos());
    let mut title = format!("{}: {wall}, {}", printable(screen.title), plural(profile.calls(), "call"));
    if let Some(sampling) = profile.sampling() {
        title += &format!(", times of {}", plural(sampling.samples, "sample"));
    }
    match profile.health.warnings().len() as u64 {
        0 => {}
        count => title += &format!(", {} when this ends", plural(count, "warning")),
    }
    let columns = match (&screen.source, screen.tab) {
        (Some(_), _) => String::new(),
        (None, Tab::Tree) => format!("total %  self % {:>11} {:>13}  call tree", "total", "calls"),
        (None, Tab::Functions) => format!("total %  self % {:>11} {:>13}  function", "self", "calls"),
    };
    vec![Line::styled(title, Style::new().add_modifier(Modifier::BOLD)), Line::styled(columns, DIM)]
}

fn foot_line(screen: &Screen<'_>) -> Line<'static> {
    if screen.is_typing {
        return Line::raw(format!("/{}", printable(&screen.search)));
    }
    if let Some(message) = &screen.message {
        return Line::styled(printable(message).into_owned(), Style::new().fg(Color::Yellow));
    }
    let keys = match (&screen.source, screen.tab) {
        (Some(_), _) => "up down: move   q: back",
        (None, Tab::Tree) => {
            "right left: open close   e: hottest path   enter: source   tab: functions   /: search   q: end"
        }
        (None, Tab::Functions) => "enter: source   tab: tree   /: search   n: next   q: end",
    };
    Line::styled(keys, DIM)
}

fn source_lines(source: &Source, height: usize) -> Vec<Line<'static>> {
    let lines = source.lines.iter().skip(source.top).take(height);
    // Files may have tabs, and anything else.
    lines.map(|line| Line::raw(printable(&line.replace('\t', "    ")).into_owned())).collect()
}

/// The rows of a list that are to be seen, and whether each is the chosen one.
fn seen<T>(place: Place, height: usize, rows: impl Iterator<Item = T>) -> impl Iterator<Item = (T, bool)> {
    rows.enumerate().skip(place.top).take(height).map(move |(n, row)| (row, n == place.row))
}

fn tree_lines(screen: &mut Screen<'_>, area: Rect) -> Vec<Line<'static>> {
    let length = screen.tree.rows.len();
    screen.tree_place.see(screen.height, length);
    let whole = screen.profile.tree.total_ticks().max(1) as f64;
    let rows = seen(screen.tree_place, screen.height, screen.tree.rows.iter());
    let line = |(TreeRow { id, depth, state }, chosen): (&TreeRow, bool)| {
        let node = screen.profile.tree.get(*id)?;
        let nanos = |ticks| screen.profile.header.nanos(ticks);
        let total = node.total_ticks as f64 / whole;
        let own = node.self_ticks as f64 / whole;
        let mark = match state {
            State::Leaf => "  ",
            State::Closed => "▸ ",
            State::Open => "▾ ",
        };
        let room = usize::from(area.width).saturating_sub(FIGURES + NAME);
        let indent = " ".repeat((depth * INDENT).min(room));
        let name = format!("{indent}{mark}{}", screen.profile.symbols.label(node.func));
        Some(row_line(
            [total, own],
            screen.time(nanos(node.total_ticks) as f64),
            node.calls,
            name,
            own,
            chosen,
        ))
    };
    rows.filter_map(line).collect()
}

fn function_lines(screen: &mut Screen<'_>) -> Vec<Line<'static>> {
    let length = screen.functions().count();
    screen.function_place.see(screen.height, length);
    let whole = screen.profile.header.nanos(screen.profile.tree.total_ticks()).max(1) as f64;
    let rows = seen(screen.function_place, screen.height, screen.functions());
    let line = |(row, chosen): (&kperf_profile::Row, bool)| {
        let [total, own] = [row.total_nanos, row.self_nanos].map(|nanos| nanos / whole);
        let name = screen.profile.symbols.label(row.func);
        row_line([total, own], screen.time(row.self_nanos), row.calls, name, own, chosen)
    };
    rows.map(line).collect()
}

/// How wide the figures of a row are.
const FIGURES: usize = 43;

fn row_line(
    shares: [f64; 2],
    time: String,
    calls: u64,
    name: String,
    heat: f64,
    chosen: bool,
) -> Line<'static> {
    let [total, own] = shares.map(|share| 100.0 * share);
    let figures = format!("{total:>7.1} {own:>7.1} {time:>11} {:>13}  ", grouped(calls));
    let color = match heat {
        share if share >= HOT => Style::new().fg(Color::Red),
        share if share >= WARM => Style::new().fg(Color::Yellow),
        _ => Style::new(),
    };
    let line = Line::from(vec![Span::styled(figures, color), Span::raw(name)]);
    if chosen { line.style(CHOSEN) } else { line }
}
