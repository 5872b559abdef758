//! Flags that choose functions and calls, the same in every command.

use crate::shared::symbols::SymbolArgs;
use anyhow::{Context, bail};
use kperf_profile::frames::LaneStatus;
use kperf_profile::{CallFilter, Health, LaneChoice, Range, Symbols, WindowChoice};
use kperf_rewriter::{Filter, Pattern};
use kperf_trace::LaneId;
use std::collections::BTreeSet;

/// Which functions.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterArgs {
    /// Only functions with a demangled name that matches a glob (`life::*`) or a `/regex/`. A name as reports show it matches too,
    /// with its escapes (`a\nb`) and its number (`copy #17`). May be repeated.
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// Leave out functions with a matching demangled name, even if --only has them. May be repeated.
    #[arg(long, value_name = "PATTERN")]
    skip: Vec<String>,
    /// How to read the patterns of --only and --skip.
    #[arg(long = "match", value_enum, value_name = "HOW", default_value = "auto")]
    how: Match,
}

/// How to read patterns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Match {
    /// `/regex/` between slashes, otherwise a glob.
    #[default]
    Auto,
    /// A glob that matches the whole name.
    Glob,
    /// A regular expression that matches anywhere in the name.
    Regex,
    /// A text anywhere in the name; `*`, `[` and `<` have no special meaning.
    Text,
}

impl FilterArgs {
    /// The patterns, parsed.
    pub fn filter(&self) -> anyhow::Result<Filter> {
        let parse = |flag: &str, texts: &[String]| {
            texts
                .iter()
                .map(|text| {
                    self.how.pattern(text).with_context(|| format!("failed to read the pattern of {flag}"))
                })
                .collect::<anyhow::Result<Vec<_>>>()
        };
        Ok(Filter {
            only: parse("--only", &self.only)?,
            skip: parse("--skip", &self.skip)?,
            ..Filter::default()
        })
    }

    /// The flags as they would be typed.
    pub fn describe(&self, words: &mut Vec<String>) {
        for (flag, texts) in [("--only", &self.only), ("--skip", &self.skip)] {
            for text in texts {
                words.extend([flag.to_owned(), text.clone()]);
            }
        }
        if self.how != Match::Auto {
            words.extend(["--match".to_owned(), format!("{:?}", self.how).to_lowercase()]);
        }
    }
}

impl Match {
    fn pattern(self, text: &str) -> Result<Pattern, kperf_rewriter::Error> {
        match self {
            Match::Auto => Pattern::parse(text),
            Match::Glob => Pattern::glob(text),
            Match::Regex => Pattern::regex(text),
            Match::Text => Pattern::text(text),
        }
    }
}

/// Which calls of a trace. Other calls are left out as if their functions had no probes.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Which calls")]
pub struct CallArgs {
    #[command(flatten)]
    functions: FilterArgs,
    /// Only the outermost N levels of calls.
    #[arg(long, alias = "max-depth", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,
    /// Only calls that took at least this long: `10us`, `1.5ms`, `2s`.
    #[arg(long, alias = "min-duration", value_name = "DURATION", value_parser = duration_nanos)]
    min_time: Option<u64>,
    /// Only calls that were open in this range of time, counted from the trace's beginning: `1ms~2ms`, `~500us`, `2s~`. Lists
    /// show these calls in full; sums have only the part in the range.
    #[arg(long, value_name = "START~END", value_parser = range)]
    range: Option<Range>,
    /// Only this lane: `3` is all stacks of lane 3, `3.1` one of them. May be repeated.
    #[arg(long, value_name = "LANE", value_parser = lane)]
    lane: Vec<LaneChoice>,
    #[command(flatten)]
    pub symbols: SymbolArgs,
}

impl CallArgs {
    /// The flags, with their patterns parsed.
    pub fn parse(&self) -> anyhow::Result<CallSelection<'_>> {
        Ok(CallSelection {
            functions: self.functions.filter()?,
            windows: WindowChoice::Sum,
            lines: true,
            args: self,
        })
    }

    /// The flag that chooses calls by their length or their depth, if one is given.
    pub fn of_single_calls_or_depth(&self) -> Option<&'static str> {
        match self {
            CallArgs { min_time: Some(1..), .. } => Some("--min-time"),
            CallArgs { depth: Some(_), .. } => Some("--depth"),
            _ => None,
        }
    }

    /// The choice for OpenTelemetry's spans. Fails if --range or --lane is given, which they don't support.
    pub fn without_range_and_lane(&self) -> anyhow::Result<CallChoice> {
        if self.range.is_some() || !self.lane.is_empty() {
            bail!("--range and --lane don't work for spans; remove them");
        }
        Ok(CallChoice {
            functions: self.functions.filter()?,
            depth: self.depth,
            min_nanos: self.min_time.unwrap_or(0),
        })
    }
}

/// Which calls, at any time and in any lane.
pub struct CallChoice {
    /// Their functions.
    pub functions: Filter,
    /// How many of the outermost levels.
    pub depth: Option<u32>,
    /// How long they took at least, in nanoseconds.
    pub min_nanos: u64,
}

impl CallSelection<'_> {
    /// Where names come from.
    pub fn symbols(&self) -> &SymbolArgs {
        &self.args.symbols
    }

    /// A given flag that blocks can't be combined with: they are followed through the whole trace, over all lanes.
    pub fn of_parts(&self) -> Option<&'static str> {
        let lane = (!self.args.lane.is_empty()).then_some("--lane");
        self.of_single_calls().or(lane)
    }

    /// The flag that chooses calls by their time or their length, if one is given.
    pub fn of_single_calls(&self) -> Option<&'static str> {
        match self.args {
            CallArgs { min_time: Some(1..), .. } => Some("--min-time"),
            CallArgs { range: Some(_), .. } => Some("--range"),
            _ => None,
        }
    }
}

/// The filter of calls, with its patterns compiled.
pub struct CallSelection<'a> {
    functions: Filter,
    /// Which windows count, if the profile was sampled.
    pub windows: WindowChoice,
    /// Whether lines are shown. Otherwise code positions in symbol tables are dropped.
    pub lines: bool,
    args: &'a CallArgs,
}

impl CallSelection<'_> {
    /// Calls `work` with the filter for `kperf-profile`, which borrows a function from here and so can't be returned.
    pub fn with<T>(&self, work: impl FnOnce(&CallFilter<'_>) -> T) -> T {
        let CallArgs { depth, min_time, range, ref lane, .. } = *self.args;
        let (min_nanos, range, lanes) = (min_time.unwrap_or(0), range.unwrap_or_default(), lane.clone());
        let windows = self.windows;
        work(&CallFilter {
            keep: &|symbols, func| {
                self.functions.matches_function(&symbols.name(func), || symbols.label(func))
            },
            depth,
            min_nanos,
            range,
            lanes,
            windows,
        })
    }

    /// Whether no call is left out.
    pub fn are_all(&self) -> bool {
        let CallArgs { functions: _, depth, min_time, range, lane, symbols: _ } = self.args;
        self.functions.is_empty()
            && self.windows == WindowChoice::Sum
            && depth.is_none()
            && min_time.unwrap_or(0) == 0
            && range.is_none()
            && lane.is_empty()
    }

    /// Whether calls are chosen by their time, counted from the trace's beginning.
    pub fn have_range(&self) -> bool {
        self.args.range.is_some()
    }

    /// Whether calls of this lane are chosen.
    pub fn want_lane(&self, lane: LaneId) -> bool {
        self.args.lane.is_empty() || self.args.lane.iter().any(|choice| choice.has(lane))
    }

    /// The value of --min-time, if it is given.
    pub fn min_nanos(&self) -> Option<u64> {
        self.args.min_time
    }

    /// Fails if a pattern or a lane matches nothing in a trace, or if no function is left. Call it after the trace was read.
    pub fn check(&self, symbols: &Symbols, health: &Health, lanes: &[LaneStatus]) -> anyhow::Result<()> {
        let mut known = TraceContents::default();
        known.add(symbols, health, lanes);
        self.check_known(&known)
    }

    /// [`check`](CallSelection::check) with the functions and lanes of several traces.
    pub fn check_known(&self, known: &TraceContents) -> anyhow::Result<()> {
        check_names(&self.functions, known.names.iter().map(String::as_str), Some(&known.labels))?;
        for choice in &self.args.lane {
            if !known.lanes.iter().any(|lane| choice.has(*lane)) {
                let first: Vec<String> = known.lanes.iter().take(10).map(LaneId::to_string).collect();
                let more = if known.lanes.len() > first.len() { ", .." } else { "" };
                bail!("--lane `{choice}` is none of the trace's lanes: {}{more}", first.join(", "));
            }
        }
        Ok(())
    }
}

/// The functions and lanes of one trace, or of several.
#[derive(Default)]
pub struct TraceContents {
    names: BTreeSet<String>,
    /// Of functions that share a name with others.
    labels: BTreeSet<String>,
    lanes: BTreeSet<LaneId>,
}

impl TraceContents {
    /// Adds the functions and lanes of a trace.
    pub fn add(&mut self, symbols: &Symbols, health: &Health, lanes: &[LaneStatus]) {
        self.names.extend(symbols.iter().map(|symbol| symbol.display_name().to_owned()));
        self.labels.extend(symbols.numbered_labels());
        if health.counts.without_enter > 0 {
            self.names.insert(symbols.name(kperf_profile::LOST).into_owned());
        }
        if health.over_limit.calls() > 0 {
            self.names.insert(symbols.name(kperf_profile::OTHER).into_owned());
        }
        self.lanes.extend(lanes.iter().map(|lane| lane.id));
    }
}

/// Fails if a filter leaves no function, or if one of its patterns matches none. `labels`: more names, each of one function.
pub fn check_names<'n>(
    filter: &Filter,
    names: impl Iterator<Item = &'n str> + Clone,
    labels: Option<&BTreeSet<String>>,
) -> anyhow::Result<()> {
    let is_label = |pattern: &Pattern| labels.is_some_and(|labels| labels.contains(pattern.as_str()));
    for (flag, patterns) in [("--only", &filter.only), ("--skip", &filter.skip)] {
        for pattern in patterns {
            if !is_label(pattern) && !names.clone().any(|name| pattern.matches(name)) {
                let hint = pattern.hint(names.clone()).map(|hint| format!("; did you mean `{hint}`?"));
                let (count, pattern) = (names.count(), pattern.as_str());
                bail!(
                    "{flag} `{pattern}` matches none of the trace's {count} functions{}",
                    hint.unwrap_or_default()
                );
            }
        }
    }
    if !filter.is_empty()
        && !filter.only.iter().any(is_label)
        && !names.clone().any(|name| filter.matches(name))
    {
        bail!("the filters leave none of the trace's {} functions", names.count());
    }
    Ok(())
}

/// A duration as a person writes it, in nanoseconds.
pub fn duration_nanos(text: &str) -> Result<u64, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    u64::try_from(duration.as_nanos()).map_err(|_| "more nanoseconds than 64 bits can hold".to_owned())
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

fn lane(text: &str) -> Result<LaneChoice, String> {
    text.parse().map_err(str::to_owned)
}

fn range(text: &str) -> Result<Range, String> {
    let Some((start, end)) = text.split_once('~') else {
        return Err("give two durations with a `~` between them, such as `1ms~2ms`".to_owned());
    };
    let all = Range::default();
    let end_of = |text: &str, default| if text.is_empty() { Ok(default) } else { duration_nanos(text) };
    let range =
        Range { start_nanos: end_of(start, all.start_nanos)?, end_nanos: end_of(end, all.end_nanos)? };
    if range.start_nanos > range.end_nanos { Err("it ends before it begins".to_owned()) } else { Ok(range) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_two_ends() {
        let parsed = |text| range(text).map(|range| (range.start_nanos, range.end_nanos));
        assert_eq!(parsed("1ms~2.5ms"), Ok((1_000_000, 2_500_000)));
        assert_eq!(parsed("~10us"), Ok((0, 10_000)));
        assert_eq!(parsed("2s~"), Ok((2_000_000_000, u64::MAX)));
        assert_eq!(parsed("~"), Ok((0, u64::MAX)));
        assert_eq!(parsed("2ms~1ms"), Err("it ends before it begins".to_owned()));
        assert!(parsed("1ms").is_err() && parsed("1~2").is_err() && parsed("x~1ms").is_err());
    }

    #[test]
    fn shares_are_read() {
        assert_eq!(["10%", "0.5 %", "0.1", "0%"].map(share), [Ok(0.1), Ok(0.005), Ok(0.1), Ok(0.0)]);
        assert!(
            ["", "%", "-1%", "NaN", "inf", "ten", "10", "1.5"].into_iter().all(|text| share(text).is_err())
        );
    }
}
