//! Bars and colors, where a terminal shows the table.

use comfy_table::{Attribute, Cell, Color};
use kperf_profile::Row;
use std::io::IsTerminal;

/// `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorArg {
    /// If it goes to a terminal that shows colors, and NO_COLOR isn't set.
    #[default]
    Auto,
    Always,
    Never,
}

impl ColorArg {
    /// Whether what goes to this stream is in color.
    pub fn of(self, stream: &impl IsTerminal) -> bool {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match self {
            ColorArg::Always => true,
            ColorArg::Never => false,
            // See no-color.org.
            ColorArg::Auto => stream.is_terminal() && !is_set("NO_COLOR") && !is_dumb,
        }
    }
}

/// How many characters the longest bar has.
pub const BAR: usize = 12;
/// From these shares on a function is hot, or warm.
const HOT: f64 = 0.2;
const WARM: f64 = 0.05;

/// The title of a column.
pub(super) fn title(text: &str) -> Cell {
    Cell::new(text).add_attribute(Attribute::Dim)
}

/// A bar as long as the function's share, and its cells, of which the first `numbers` are numbers.
pub(super) fn cells(row: &Row, cells: Vec<String>, numbers: usize) -> Vec<Cell> {
    let heat = match row.share {
        share if share >= HOT => Some(Color::Red),
        share if share >= WARM => Some(Color::Yellow),
        _ => None,
    };
    let colored = |cell: Cell| heat.map_or(cell.clone(), |color| cell.fg(color));
    let share = if row.is_counted { 0.0 } else { row.share };
    let styled = cells.into_iter().enumerate().map(|(n, text)| match n {
        0 => colored(Cell::new(text)),
        n if n == numbers && heat.is_some() => Cell::new(text).add_attribute(Attribute::Bold),
        n if n > numbers => Cell::new(text).add_attribute(Attribute::Dim),
        _ => Cell::new(text),
    });
    std::iter::once(colored(Cell::new(bar(share)))).chain(styled).collect()
}

/// A bar in its color, as wide as the longest, for a terminal.
pub fn bar_text(share: f64) -> String {
    let color = match share {
        share if share >= HOT => "31",
        share if share >= WARM => "33",
        _ => "39",
    };
    format!("\x1b[{color}m{:BAR$}\x1b[0m ", bar(share))
}

/// A bar of eighths of characters, rounded.
fn bar(share: f64) -> String {
    const PARTS: [&str; 8] =
        ["", "\u{258f}", "\u{258e}", "\u{258d}", "\u{258c}", "\u{258b}", "\u{258a}", "\u{2589}"];
    let eighths = (share.clamp(0.0, 1.0) * (BAR * 8) as f64).round() as usize;
    format!("{}{}", "\u{2588}".repeat(eighths / 8), PARTS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_shares() {
        assert_eq!(
            [0.0, 0.004, 1.0 / 24.0, 0.5].map(bar),
            ["", "", "\u{258c}", "\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}"]
        );
        assert_eq!(
            (bar(1.0).chars().count(), bar(7.0).chars().count(), bar(f64::NAN)),
            (BAR, BAR, String::new())
        );
    }

    #[test]
    fn who_asks_gets_colors() {
        let file = std::fs::File::open(
            file!().replace("host-runtime", concat!(env!("CARGO_MANIFEST_DIR"), "/host-runtime")),
        );
        let file = file.expect("this file");
        assert_eq!(
            [ColorArg::Always, ColorArg::Never, ColorArg::Auto].map(|color| color.of(&file)),
            [true, false, false]
        );
    }
}
