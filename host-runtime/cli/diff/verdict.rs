//! `--fail-on`: slower, not slower, or unknown.

use kperf_profile::{Change, DiffRow, Metric, ProfileDiff, Unit, printable};
use std::fmt;
use std::process::ExitCode;

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

/// How likely any of the judged functions is said to have grown too much, or not to have, while the opposite is true.
const MISS: f64 = 0.01;
/// How many unknown functions are listed.
const LISTED: usize = 5;

/// What grew too much, and what may have.
#[derive(Debug, Default)]
pub struct Verdict {
    /// The whole if it grew too much, then the functions.
    pub grown: Vec<Finding>,
    /// The same for those that may have.
    pub unknown: Vec<Finding>,
}

/// Something that grew too much, or may have.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The function or path; `None` for the whole.
    pub function: Option<String>,
    text: String,
    /// On which path of calls it grew most.
    pub place: Option<String>,
}

impl Verdict {
    /// 3 if anything grew too much, 4 if anything may have.
    pub fn exit_code(&self) -> ExitCode {
        match (&self.grown[..], &self.unknown[..]) {
            ([_, ..], _) => ExitCode::from(3),
            ([], [_, ..]) => ExitCode::from(4),
            _ => ExitCode::SUCCESS,
        }
    }

    /// A run after ended like this, and none before: what it would have taken is unknown.
    pub fn add_failure(&mut self, outcome: &str) {
        let text = format!(
            "unknown what a whole run takes: before, all completed; after, one didn't: {}",
            printable(outcome)
        );
        self.unknown.push(Finding { function: None, text, place: None });
    }

    /// A line for each finding that decides the exit code.
    pub fn lines(&self) -> Vec<String> {
        if !self.grown.is_empty() {
            return self.grown.iter().map(Finding::to_string).collect();
        }
        let listed = self.unknown.iter().take(LISTED);
        let more = self.unknown.len().saturating_sub(LISTED);
        let more = (more > 0).then(|| format!("{more} more may have grown"));
        listed.map(Finding::to_string).chain(more).collect()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.place.iter().try_for_each(|place| write!(f, "; {place}"))
    }
}

/// Whether the growth is over the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growth {
    Over,
    Allowed,
    Unknown,
}

impl Growth {
    /// The range of what is more than allowed begins at `start`; `end` is its end, less what doesn't count.
    fn of(start: f64, end: f64) -> Growth {
        match (start > 0.0, end <= 0.0) {
            (true, _) => Growth::Over,
            (_, true) => Growth::Allowed,
            _ => Growth::Unknown,
        }
    }
}

impl Limit {
    /// Judges the whole and each function that has the minimal share. A function's growth that is only possible counts if it is that
    /// share of the whole.
    pub fn judge(self, diff: &ProfileDiff) -> Verdict {
        let is_judged = |row: &&DiffRow| self.metric == Metric::Calls || !row.is_counted;
        let has_share = |row: &&DiffRow| largest_share(row, &diff.whole, self.metric) >= self.min_share;
        let rows: Vec<&DiffRow> =
            [&diff.whole].into_iter().chain(diff.rows.iter().filter(is_judged).filter(has_share)).collect();
        // Bonferroni's correction.
        let miss = MISS / rows.len() as f64;
        let mut verdict = Verdict::default();
        for (n, row) in rows.into_iter().enumerate() {
            let function = (n > 0).then(|| row.name.clone());
            let (start, end) = row.change(self.metric).excess(self.growth, miss);
            let slack = if n > 0 { self.min_share * diff.whole.change(self.metric).before } else { 0.0 };
            match Growth::of(start, end - slack) {
                Growth::Allowed => {}
                Growth::Over => verdict.grown.push(self.grown(row, diff.unit, function)),
                Growth::Unknown => verdict.unknown.push(self.unknown(row, function, (start, end))),
            }
        }
        verdict
    }

    fn figure(self, unit: Unit) -> String {
        match self.metric {
            Metric::SelfTime => format!("self {}", unit.noun()),
            Metric::Total => format!("total {}", unit.noun()),
            Metric::Calls => "calls".to_owned(),
        }
    }

    fn grown(self, row: &DiffRow, unit: Unit, function: Option<String>) -> Finding {
        let change = row.change(self.metric);
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
            "{}: {} grew {grown}, from {} to {}; {} are allowed",
            printable(&row.name),
            self.figure(unit),
            text(before),
            text(after),
            percent(self.growth)
        );
        Finding { function, text, place: None }
    }

    /// `excess`: the range of what it took more than is allowed.
    fn unknown(self, row: &DiffRow, function: Option<String>, excess: (f64, f64)) -> Finding {
        let before = row.change(self.metric).before;
        // No time is below 0.
        let end = |excess: f64| signed((excess / before + self.growth).max(-1.0));
        let range = match before > 0.0 {
            _ if excess.1.is_infinite() => "no sample of one side says what it took".to_owned(),
            true => format!("it changed by {} to {}, with 99 % confidence", end(excess.0), end(excess.1)),
            false => "it is new".to_owned(),
        };
        let text = format!(
            "{}: unknown whether it grew by more than {}: {range}",
            printable(&row.name),
            percent(self.growth)
        );
        Finding { function, text, place: None }
    }
}

fn signed(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
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

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn small_shares_have_digits() {
        let texts = [0.0, 0.0009, 0.0001, 0.1, 2.5, f64::NAN].map(percent);
        assert_eq!(texts, ["0.0 %", "0.090 %", "0.010 %", "10.0 %", "250.0 %", "NaN %"]);
    }
}
