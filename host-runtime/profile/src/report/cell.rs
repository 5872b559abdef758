//! Figures of a table: for people as text, for programs as JSON.

use crate::text::{grouped, rough_text};
use crate::unit::Unit;
use serde_json::Value;

/// A column: its key in JSON and CSV, and its title in the table (`""` if the table doesn't have it).
pub type Column = (&'static str, &'static str);

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A name; shortened in the middle where it is long.
    Name(String),
    /// A few words.
    Word(&'static str),
    /// A star, or nothing.
    Flag(bool),
    /// A number of calls, blocks or the like.
    Count(u64),
    /// A duration, or a change of one.
    Nanos(f64),
    /// A duration, or a change of one, with the error that it has by sampling.
    Sampled {
        /// The duration.
        nanos: f64,
        /// Half of its interval of 95 % confidence.
        error_nanos: f64,
    },
    /// 0 to 1, in percent for people.
    Share(f64),
    /// How many times as much.
    Ratio(f64),
    /// A number without a unit.
    Number(f64),
    /// No figure.
    Nothing,
    /// A time that isn't known, as the calls were only counted.
    Untimed,
}

impl Cell {
    /// A duration, or `Untimed` if the calls were counted only.
    pub fn time(nanos: f64, is_counted: bool) -> Cell {
        if is_counted { Cell::Untimed } else { Cell::Nanos(nanos) }
    }

    /// The figure for people. Times are in `unit`.
    pub fn text(&self, unit: Unit) -> String {
        match self {
            Cell::Name(name) => name.clone(),
            Cell::Word(word) => (*word).to_owned(),
            Cell::Flag(flag) => if *flag { "*" } else { "" }.to_owned(),
            Cell::Count(count) => grouped(*count),
            Cell::Nanos(nanos) => {
                let sign = if nanos.round() < 0.0 { "-" } else { "" };
                format!("{sign}{}", unit.text(nanos.abs().round() as u64))
            }
            Cell::Sampled { nanos, error_nanos } => {
                let text = rough_text(nanos.abs(), *error_nanos);
                // A bound has no sign.
                if *nanos < 0.0 && nanos.abs() >= *error_nanos { format!("-{text}") } else { text }
            }
            Cell::Share(share) => format!("{:.1}", 100.0 * share),
            Cell::Ratio(ratio) => format!("x{ratio:.2}"),
            Cell::Number(number) => format!("{number:.3}"),
            Cell::Nothing => String::new(),
            Cell::Untimed => "-".to_owned(),
        }
    }

    /// The figure for programs: times in nanoseconds, shares and ratios with six digits.
    pub fn json(&self) -> Value {
        match self {
            Cell::Name(name) => name.as_str().into(),
            Cell::Word(word) => (*word).into(),
            Cell::Flag(flag) => (*flag).into(),
            Cell::Count(count) => (*count).into(),
            // No clock is finer than a thousandth of a nanosecond.
            Cell::Nanos(nanos) | Cell::Sampled { nanos, .. } => ((nanos * 1e3).round() / 1e3).into(),
            Cell::Share(number) | Cell::Ratio(number) | Cell::Number(number) => {
                ((number * 1e6).round() / 1e6).into()
            }
            Cell::Nothing | Cell::Untimed => Value::Null,
        }
    }
}
