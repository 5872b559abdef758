//! Times and numbers as text.

use crate::unit::Unit;

/// A duration for people: [`Unit::text`] of a time.
pub fn nanos_text(nanos: u64) -> String {
    Unit::Time.text(nanos)
}

/// A duration with only as many digits as its error allows: `108 ms`, `1.2 us`, `3.3 ns`. If the error is larger than
/// the duration, the text is a bound: `<2 us`. Duration and error are in nanoseconds.
pub fn rough_text(nanos: f64, error: f64) -> String {
    if !error.is_finite() {
        return "?".to_owned();
    }
    if nanos < error {
        let max = (nanos + error).max(1.0);
        // One digit, rounded up: it is a bound.
        let power_below = |nanos: f64| 10f64.powf(nanos.log10().floor());
        let step = power_below(max);
        let bound = (max / step).ceil() * step;
        return format!("<{}", in_unit(bound, power_below(bound)));
    }
    let step = 10f64.powf(error.max(0.1).log10().floor()).max(0.1);
    in_unit((nanos / step).round() * step, step)
}

/// A duration that is a multiple of a step, a power of ten; both in nanoseconds. It has at most three digits after the
/// point.
fn in_unit(nanos: f64, step: f64) -> String {
    let (unit, name) = match nanos {
        nanos if nanos < 1e3 => (1.0, "ns"),
        nanos if nanos < 1e6 => (1e3, "us"),
        nanos if nanos < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let digits = (unit / step).log10().round().clamp(0.0, 3.0) as usize;
    format!("{:.digits$} {name}", nanos / unit)
}

/// A number with its digits in groups: `2,000,501`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 lane`, `2 lanes`.
pub fn plural(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A name; if it has more characters than `limit`, the middle is left out, because both ends say more.
pub fn shortened(name: String, limit: usize) -> String {
    let length = name.chars().count();
    if length <= limit {
        return name;
    }
    let head = (limit / 2).saturating_sub(1);
    let tail = limit.saturating_sub(head + 2);
    let start: String = name.chars().take(head).collect();
    let end: String = name.chars().skip(length - tail).collect();
    format!("{start}..{end}")
}

/// A number and the noun that goes with it.
pub(crate) fn times(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::{grouped, nanos_text, plural, rough_text, shortened};

    #[test]
    fn digits_end_where_the_error_begins() {
        for (nanos, error, text) in [
            (108e6, 12e6, "110 ms"),
            (108_234_000.0, 2_000.0, "108.234 ms"),
            (108_234_000.0, 300_000.0, "108.2 ms"),
            (3.34, 0.4, "3.3 ns"),
            (3.34, 2.0, "3 ns"),
            (0.0, 2_000.0, "<2 us"),
            (0.0, 7_680.0, "<8 us"),
            (700.0, 2_000.0, "<3 us"),
            (2_345.0, 2_000.0, "2 us"),
            (0.0, 960_000.0, "<1 ms"),
            (999_960.0, 100.0, "1.000 ms"),
            (5e9, 4e9, "5 s"),
            (5e9, 0.0, "5.000 s"),
            (0.0, 0.0, "0.0 ns"),
            (1.0, f64::INFINITY, "?"),
        ] {
            assert_eq!(rough_text(nanos, error), text, "{nanos} {error}");
        }
    }

    #[test]
    fn long_names_lose_their_middle() {
        let short = |name: &str, limit| shortened(name.to_owned(), limit);
        assert_eq!(short("xxxxxxxxxx", 10), "xxxxxxxxxx");
        assert_eq!(short("äbcdefghijk", 10), "äbcd..hijk");
        assert_eq!([0, 1, 2, 3].map(|limit| short("abcdefghijk", limit)), ["..", "..", "..", "..k"]);
    }

    #[test]
    fn digits_stand_in_groups() {
        let texts = [0, 999, 1_000, 2_000_501, u64::MAX].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "2,000,501", "18,446,744,073,709,551,615"]);
        assert_eq!([plural(1, "lane"), plural(1_000, "lane")], ["1 lane", "1,000 lanes"]);
    }

    #[test]
    fn times_have_the_unit_that_suits_them() {
        for (nanos, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.000 us"),
            (999_999, "999.999 us"),
            (1_000_000, "1.000 ms"),
            (1_234_499, "1.234 ms"),
            (1_234_500, "1.235 ms"),
            (999_999_499, "999.999 ms"),
            (999_999_500, "1.000 s"),
            (61_000_499_999, "61.000 s"),
            (u64::MAX, "18446744073.710 s"),
        ] {
            assert_eq!(nanos_text(nanos), text, "{nanos}");
        }
    }
}
