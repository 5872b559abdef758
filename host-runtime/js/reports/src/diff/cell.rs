//! A figure of a comparison, for people and for programs. The figures are those of the command of Rust.

use kperf_profile::Unit;
use serde_json::Value;

/// One figure.
pub(crate) enum Cell {
    /// A name.
    Name(String),
    /// A few words.
    Word(&'static str),
    /// A star, or nothing.
    Flag(bool),
    Count(u64),
    /// A duration, or a change of one.
    Nanos(f64),
    /// How many times as much.
    Ratio(f64),
    /// A number without a unit.
    Number(f64),
    /// No figure.
    Nothing,
    /// A time that nobody knows.
    Untimed,
}

impl Cell {
    pub(crate) fn text(&self, unit: Unit) -> String {
        match self {
            Cell::Name(name) => name.clone(),
            Cell::Word(word) => (*word).to_owned(),
            Cell::Flag(flag) => if *flag { "*" } else { "" }.to_owned(),
            Cell::Count(count) => grouped(*count),
            Cell::Nanos(nanos) => {
                let sign = if nanos.round() < 0.0 { "-" } else { "" };
                format!("{sign}{}", unit.text(nanos.abs().round() as u64))
            }
            Cell::Ratio(ratio) => format!("x{ratio:.2}"),
            Cell::Number(number) => format!("{number:.3}"),
            Cell::Nothing => String::new(),
            Cell::Untimed => "-".to_owned(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        match self {
            Cell::Name(name) => name.as_str().into(),
            Cell::Word(word) => (*word).into(),
            Cell::Flag(flag) => (*flag).into(),
            Cell::Count(count) => (*count).into(),
            // No clock is finer than a thousandth of a nanosecond.
            Cell::Nanos(nanos) => ((nanos * 1e3).round() / 1e3).into(),
            Cell::Ratio(number) | Cell::Number(number) => ((number * 1e6).round() / 1e6).into(),
            Cell::Nothing | Cell::Untimed => Value::Null,
        }
    }
}

/// `1,234,567`.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
