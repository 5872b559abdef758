//! The filter of calls that reports, replays, graphs and exports share.

use crate::symbols::Symbols;
use kperf_abi::FuncId;
use kperf_trace::LaneId;
use std::fmt;
use std::str::FromStr;

/// Which calls are wanted. The others are treated as if they had no probes: their callees move up a level, and their self time
/// counts for their caller.
#[derive(Clone)]
pub struct CallFilter<'a> {
    /// Which functions.
    pub keep: &'a dyn Fn(&Symbols, FuncId) -> bool,
    /// The number of outermost levels of calls that are kept; `None` for all. Only kept functions count as levels.
    pub depth: Option<u32>,
    /// The shortest call that is kept, in nanoseconds.
    pub min_nanos: u64,
    /// Only calls that were open at some time in this range.
    pub range: Range,
    /// Only these lanes; all if there are none.
    pub lanes: Vec<LaneChoice>,
    /// Which windows count, if the profile was sampled.
    pub windows: WindowChoice,
}

impl Default for CallFilter<'_> {
    /// All calls.
    fn default() -> Self {
        CallFilter {
            keep: &|_, _| true,
            depth: None,
            min_nanos: 0,
            range: Range::default(),
            lanes: Vec::new(),
            windows: WindowChoice::default(),
        }
    }
}

impl CallFilter<'_> {
    /// Whether calls of this lane are wanted.
    pub(crate) fn wants_lane(&self, lane: LaneId) -> bool {
        self.lanes.is_empty() || self.lanes.iter().any(|choice| choice.has(lane))
    }
}

impl fmt::Debug for CallFilter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CallFilter { keep: _, depth, min_nanos, range, lanes, windows } = self;
        write!(f, "CallFilter({depth:?}, {min_nanos}, {range:?}, {lanes:?}, {windows:?})")
    }
}

/// Chooses windows of a profile. Each lane has windows of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowChoice {
    /// All windows together.
    #[default]
    Sum,
    /// All windows together, and also each by itself: [`Profile::windows`](crate::Profile::windows).
    Each,
    /// The last window of each lane.
    Last,
    /// The n-th window of each lane, counted from 1.
    Nth(u64),
}

/// A range of time, both ends included, in nanoseconds since the trace's beginning. That is set in the reader
/// ([`TraceReader::with_beginning`](kperf_trace::TraceReader::with_beginning)); by default it is the beginning of the first
/// block's lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Its beginning.
    pub start_nanos: u64,
    /// Its end.
    pub end_nanos: u64,
}

impl Default for Range {
    /// All of the trace.
    fn default() -> Range {
        Range { start_nanos: 0, end_nanos: u64::MAX }
    }
}

/// A lane, or all lanes of one recorder: `3.1`, `3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneChoice {
    /// Which recorder.
    pub recorder: u32,
    /// Which of its stacks; `None` for all.
    pub stack: Option<u32>,
}

impl LaneChoice {
    /// Whether this lane is meant.
    pub fn has(&self, lane: LaneId) -> bool {
        self.recorder == lane.recorder && self.stack.is_none_or(|stack| stack == lane.stack)
    }
}

impl FromStr for LaneChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<LaneChoice, Self::Err> {
        let number = |text: &str| text.parse().map_err(|_| "a lane is a number, such as `0`, or two: `0.3`");
        match text.split_once('.') {
            Some((recorder, stack)) => {
                Ok(LaneChoice { recorder: number(recorder)?, stack: Some(number(stack)?) })
            }
            None => Ok(LaneChoice { recorder: number(text)?, stack: None }),
        }
    }
}

impl fmt::Display for LaneChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stack {
            Some(stack) => write!(f, "{}.{stack}", self.recorder),
            None => write!(f, "{}", self.recorder),
        }
    }
}
