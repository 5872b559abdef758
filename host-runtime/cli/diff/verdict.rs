//! `--fail-on`: growth over the limit.

use kperf_profile::{Change, DiffRow, Metric, ProfileDiff, Unit, printable};
use std::fmt;

/// How much growth is allowed. Shares and growth are fractions: 0.1 is 10 %.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// How much more a function, or the whole, may take than before.
    pub growth: f64,
    /// Functions with smaller shares on both sides don't count.
    pub min_share: f64,
    /// The metric to judge by.
    pub metric: Metric,
}

/// Something that grew too much.
#[derive(Clone, Debug)]
pub struct Grown {
    /// The function or path; `None` for the whole.
    pub function: Option<String>,
    text: String,
    /// On which path of calls it grew most.
    pub place: Option<String>,
}

impl fmt::Display for Grown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.place.iter().try_for_each(|place| write!(f, "; {place}"))
    }
}

impl Limit {
    /// Each function that grew too much, after the whole if that did.
    pub fn exceeded_by(self, diff: &ProfileDiff) -> Vec<Grown> {
        let rows =
            diff.rows.iter().filter(|row| largest_share(row, &diff.whole, self.metric) >= self.min_share);
        let rows = rows.filter_map(|row| self.judge(row, diff.unit, Some(row.name.clone())));
        self.judge(&diff.whole, diff.unit, None).into_iter().chain(rows).collect()
    }

    fn judge(self, row: &DiffRow, unit: Unit, function: Option<String>) -> Option<Grown> {
        let change = row.change(self.metric);
        let grew = change.after > change.before * (1.0 + self.growth);
        if !grew || change.is_significant() == Some(false) {
            return None;
        }
        let noun = unit.noun();
        let what = match self.metric {
            Metric::SelfTime => format!("self {noun}"),
            Metric::Total => format!("total {noun}"),
            Metric::Calls => "calls".to_owned(),
        };
        let text = |value: f64| match self.metric {
            Metric::Calls => format!("{value}"),
            _ => unit.text(value.round() as u64),
        };
        let Change { before, after, .. } = *change;
        let grown = match change.ratio() {
            Some(ratio) => format!("by {}, {}", text(after - before), percent(ratio - 1.0)),
            None => "from nothing".to_owned(),
        };
        let text = format!(
            "{}: {what} grew {grown}, from {} to {}; {} are allowed",
            printable(&row.name),
            text(before),
            text(after),
            percent(self.growth)
        );
        Some(Grown { function, text, place: None })
    }
}

/// A share in percent, with two significant digits if it is small.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let digits = if percent > 0.0 { (1.0 - percent.log10().floor()).clamp(1.0, 9.0) as usize } else { 1 };
    format!("{percent:.digits$} %")
}

/// A row's share of the whole, on the side where it is larger.
pub fn largest_share(row: &DiffRow, whole: &DiffRow, metric: Metric) -> f64 {
    let (part, all) = (row.change(metric), whole.change(metric));
    let share = |part: f64, all: f64| if all > 0.0 { part / all } else { 0.0 };
    share(part.before, all.before).max(share(part.after, all.after))
}

/// A share as people write it: `10%`, `0.5%`; or as a fraction: `0.1`.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, divisor) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 100.0),
        None => (text.trim(), 1.0),
    };
    match number.parse::<f64>() {
        // `10` most likely means 10 %; as a fraction it would allow growth up to 1000 %.
        Ok(number) if number > 1.0 && divisor == 1.0 => Err(format!("did you mean {number}%?")),
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number / divisor),
        _ => Err("give a share such as `10%` or `0.1`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{percent, share};

    #[test]
    fn small_shares_have_digits() {
        let texts = [0.0, 0.0009, 0.0001, 0.1, 2.5, f64::NAN].map(percent);
        assert_eq!(texts, ["0.0 %", "0.090 %", "0.010 %", "10.0 %", "250.0 %", "NaN %"]);
    }

    #[test]
    fn shares_are_read() {
        assert_eq!(["10%", "0.5 %", "0.1", "0%"].map(share), [Ok(0.1), Ok(0.005), Ok(0.1), Ok(0.0)]);
        assert!(
            ["", "%", "-1%", "NaN", "inf", "ten", "10", "1.5"].into_iter().all(|text| share(text).is_err())
        );
    }
}
