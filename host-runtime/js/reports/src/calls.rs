//! Selects calls of a trace.

use crate::answer::Failure;
use kperf_profile::{CallFilter, LaneChoice, Profile, Range, WindowChoice};
use kperf_rewriter::{Filter, Pattern};
use serde::Deserialize;

/// Flags that select calls. Other calls are left out as if their functions had no probes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallFields {
    /// Patterns of functions.
    pub only: Vec<String>,
    /// Patterns of functions that are left out.
    pub skip: Vec<String>,
    /// The kind of patterns.
    pub r#match: Match,
    /// The number of levels of calls.
    pub depth: Option<u32>,
    /// The minimum length of calls: `10us`.
    pub min_time: Option<String>,
    /// Calls that were open in this range: `1ms~2ms`.
    pub range: Option<String>,
    /// Lanes: `3`, `3.1`.
    pub lane: Vec<String>,
}

/// The kind of patterns.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Match {
    /// A regular expression between slashes, else a glob.
    #[default]
    Auto,
    /// A glob that matches the whole name.
    Glob,
    /// A regular expression that matches anywhere in the name.
    Regex,
    /// A part of the name.
    Text,
}

/// [`CallFields`], parsed.
pub(crate) struct Selection {
    functions: Filter,
    depth: Option<u32>,
    pub(crate) min_nanos: Option<u64>,
    range: Option<Range>,
    lanes: Vec<LaneChoice>,
    /// The windows of a profile.
    pub(crate) windows: WindowChoice,
}

impl CallFields {
    pub(crate) fn parse(&self) -> Result<Selection, Failure> {
        let patterns = |flag: &str, texts: &[String]| {
            let parse = |text: &String| {
                let pattern = match self.r#match {
                    Match::Auto => Pattern::parse(text),
                    Match::Glob => Pattern::glob(text),
                    Match::Regex => Pattern::regex(text),
                    Match::Text => Pattern::text(text),
                };
                pattern.map_err(|error| Failure(format!("{flag}: {}", Failure::from(error).0)))
            };
            texts.iter().map(parse).collect::<Result<Vec<_>, _>>()
        };
        let lane = |text: &String| text.parse().map_err(|error| Failure(format!("--lane {text}: {error}")));
        Ok(Selection {
            functions: Filter {
                only: patterns("--only", &self.only)?,
                skip: patterns("--skip", &self.skip)?,
                ..Filter::default()
            },
            depth: self.depth,
            min_nanos: self.min_time.as_deref().map(|text| nanos("--min-time", text)).transpose()?,
            range: self.range.as_deref().map(range).transpose()?,
            lanes: self.lane.iter().map(lane).collect::<Result<_, _>>()?,
            windows: WindowChoice::Sum,
        })
    }
}

impl Selection {
    /// Selection `work` with the filter, or `None` for all calls.
    pub(crate) fn with<T>(&self, work: impl FnOnce(Option<&CallFilter<'_>>) -> T) -> T {
        let is_all = self.functions.is_empty()
            && self.depth.is_none()
            && self.min_nanos.unwrap_or(0) == 0
            && self.range.is_none()
            && self.lanes.is_empty()
            && self.windows == WindowChoice::Sum;
        if is_all {
            return work(None);
        }
        work(Some(&CallFilter {
            keep: &|symbols, func| {
                self.functions.matches_function(&symbols.name(func), || symbols.label(func))
            },
            depth: self.depth,
            min_nanos: self.min_nanos.unwrap_or(0),
            range: self.range.unwrap_or_default(),
            lanes: self.lanes.clone(),
            windows: self.windows,
        }))
    }

    /// Whether calls are selected by their time, counted from the earliest lane.
    pub(crate) fn have_range(&self) -> bool {
        self.range.is_some()
    }

    /// Whether allocated blocks can't be followed, because calls or lanes are left out.
    pub(crate) fn of_parts(&self) -> bool {
        self.of_single_calls().is_some() || !self.lanes.is_empty()
    }

    /// The flag that selects calls by time or length, if it is set.
    pub(crate) fn of_single_calls(&self) -> Option<&'static str> {
        match self {
            Selection { min_nanos: Some(1..), .. } => Some("--min-time"),
            Selection { range: Some(_), .. } => Some("--range"),
            _ => None,
        }
    }

    /// Fails if a pattern matches none of the functions, or if all are left out.
    pub(crate) fn check(&self, profiles: &[&Profile]) -> Result<(), Failure> {
        let names =
            || profiles.iter().flat_map(|profile| profile.symbols.iter()).map(|symbol| symbol.display_name());
        for (flag, patterns) in [("--only", &self.functions.only), ("--skip", &self.functions.skip)] {
            if let Some(pattern) = patterns.iter().find(|pattern| !names().any(|name| pattern.matches(name)))
            {
                return Err(Failure(format!(
                    "{flag} `{}` matches none of the trace's functions",
                    pattern.as_str()
                )));
            }
        }
        if !self.functions.is_empty() && !names().any(|name| self.functions.matches(name)) {
            return Err(Failure("the filters leave none of the trace's functions".to_owned()));
        }
        let lanes = || profiles.iter().flat_map(|profile| &profile.lanes);
        match self.lanes.iter().find(|choice| !lanes().any(|lane| choice.has(lane.id))) {
            Some(choice) => Err(Failure(format!("--lane `{choice}` is none of the trace's lanes"))),
            None => Ok(()),
        }
    }
}

/// Parses a duration.
fn nanos(flag: &str, text: &str) -> Result<u64, Failure> {
    let failure = |why: &str| Failure(format!("{flag} {text}: {why}"));
    let duration = humantime::parse_duration(text).map_err(|error| failure(&error.to_string()))?;
    u64::try_from(duration.as_nanos()).map_err(|_| failure("more nanoseconds than 64 bits can hold"))
}

fn range(text: &str) -> Result<Range, Failure> {
    let failure = |why: &str| Failure(format!("--range {text}: {why}"));
    let (start, end) = text
        .split_once('~')
        .ok_or_else(|| failure("give two durations with a `~` between them, such as `1ms~2ms`"))?;
    let all = Range::default();
    let end_of = |text: &str, default| if text.is_empty() { Ok(default) } else { nanos("--range", text) };
    let range =
        Range { start_nanos: end_of(start, all.start_nanos)?, end_nanos: end_of(end, all.end_nanos)? };
    if range.start_nanos > range.end_nanos { Err(failure("it ends before it begins")) } else { Ok(range) }
}
