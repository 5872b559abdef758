//! Fits a table to the terminal's width.

use super::{TableOptions, name_text};
use std::io::IsTerminal;

/// How output is shown: a terminal has colors and a width.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Whether there are bars and colors.
    pub color: bool,
    /// Characters in a line; `None`: any number.
    pub width: Option<usize>,
}

impl Shown {
    /// On stdout.
    pub fn on_stdout(color: bool) -> Shown {
        Shown { color, width: width(&std::io::stdout(), &console::Term::stdout()) }
    }

    /// On stderr.
    pub fn on_stderr(color: bool) -> Shown {
        Shown { color, width: width(&std::io::stderr(), &console::Term::stderr()) }
    }
}

fn width(stream: &impl IsTerminal, terminal: &console::Term) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    terminal.size_checked().map(|(_, width)| usize::from(width)).filter(|&width| width > 0)
}

/// Between two columns.
const GAP: usize = 2;
/// Columns in the order in which they are removed where there is no room. Names are shortened before the second one goes.
const DISPENSABLE: [&str; 7] = ["callers", "min", "max", "avg", "±", "total", "self"];
/// The columns of names.
const NAMES: [&str; 2] = ["function", "callers"];
/// The shortest names, before and after the last column is removed that can be.
const SHORT: usize = 24;
const SHORTEST: usize = 8;

/// A table's titles and rows, as texts.
pub struct Texts {
    pub titles: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Texts {
    /// Removes columns and parts of names until a line has at most `room` characters, if possible. Returns the removed titles.
    pub fn fit(&mut self, room: usize) -> Vec<&'static str> {
        let mut left_out = Vec::new();
        for title in DISPENSABLE {
            if self.width() <= room {
                break;
            }
            if title != "callers" {
                self.shorten(room, SHORT);
            }
            if self.width() > room && self.remove(title) {
                left_out.push(title);
            }
        }
        self.shorten(room, SHORTEST);
        left_out
    }

    fn widths(&self) -> impl Iterator<Item = usize> {
        let width = |text: &String| console::measure_text_width(text);
        (0..self.titles.len()).map(move |n| {
            let cells = self.rows.iter().filter_map(|row| row.get(n));
            cells.chain(self.titles.get(n)).map(width).max().unwrap_or(0)
        })
    }

    fn width(&self) -> usize {
        self.widths().map(|width| width + GAP).sum::<usize>().saturating_sub(GAP)
    }

    fn place(&self, title: &str) -> Option<usize> {
        self.titles.iter().position(|other| other == title)
    }

    fn remove(&mut self, title: &str) -> bool {
        let Some(place) = self.place(title) else { return false };
        self.titles.remove(place);
        self.rows.iter_mut().filter(|row| place < row.len()).for_each(|row| drop(row.remove(place)));
        true
    }

    /// Shortens names as far as needed, to at least `shortest` characters.
    fn shorten(&mut self, room: usize, shortest: usize) {
        for title in NAMES {
            let too_wide = self.width().saturating_sub(room);
            let Some(place) = self.place(title).filter(|_| too_wide > 0) else { continue };
            let limit = self.widths().nth(place).unwrap_or(0).saturating_sub(too_wide).max(shortest);
            for cell in self.rows.iter_mut().filter_map(|row| row.get_mut(place)) {
                *cell = name_text(std::mem::take(cell), limit, TableOptions::default());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_where_there_is_no_room() {
        let titles = ["self %", "total", "calls", "avg", "min", "max", "function", "callers"];
        let name = "core::iter::adapters::map::Map<I, F>::fold";
        let row = ["58.6", "17.8 ms", "200,000", "89 ns", "<3 us", "2.294 ms", name, "main"];
        let fitted = |room| {
            let rows = vec![row.map(str::to_owned).to_vec()];
            let mut texts = Texts { titles: titles.map(str::to_owned).to_vec(), rows };
            let left_out = texts.fit(room);
            (left_out.join(" "), texts.width(), texts.rows[0].join(" "))
        };
        assert_eq!(fitted(200).0, "");
        let left_out = |room| {
            let (left_out, width, _) = fitted(room);
            assert!(width <= room, "{room}: {width}");
            left_out
        };
        assert_eq!(
            [120, 90, 60, 40].map(left_out),
            ["", "callers", "callers min max", "callers min max avg total"]
        );
        assert_eq!(fitted(40).2, "58.6 200,000 core::iter..I, F>::fold");
        // The minimum.
        assert_eq!(fitted(1).2, "58.6 200,000 cor..old");
    }
}
