//! Calls as spans on a time axis, in levels of detail.
//!
//! A level has a resolution. Neighbours on one lane and depth that are shorter together than the resolution become one
//! span, which keeps the number of its calls. Longer spans stay as they were. A picture with pixels as coarse as the
//! resolution looks the same as one of all calls.
//!
//! Memory is bounded: only the finest level is kept while a trace streams by, and when it has more spans than the budget,
//! its resolution is doubled and neighbours are merged. The coarser levels are made of the finest in the end.

use crate::tree::observer::{Call, CallObserver};
use kperf_abi::FuncId;
use kperf_trace::LaneId;
use rustc_hash::FxHashMap;

/// A call, or several joined ones that are shorter than the resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where the first of them begins.
    pub start_ticks: u64,
    /// Where the last of them ends.
    pub end_ticks: u64,
    /// The function of the longest of them.
    pub func: FuncId,
    /// How many there are.
    pub calls: u32,
}

impl Span {
    fn ticks(&self) -> u64 {
        self.end_ticks.saturating_sub(self.start_ticks)
    }
}

/// The spans of one lane at one depth, in the order of time. They don't overlap.
pub type Track = Vec<Span>;

/// The spans of one lane, by depth, the outermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneSpans {
    /// Which lane.
    pub lane: LaneId,
    /// A track for each depth.
    pub tracks: Vec<Track>,
}

/// All lanes at one resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Neighbouring spans that together take less than this many ticks are joined.
    pub resolution_ticks: u64,
    /// The lanes, in the order in which they first ended a call.
    pub lanes: Vec<LaneSpans>,
}

impl Level {
    /// How many spans it has.
    pub fn spans(&self) -> usize {
        self.lanes.iter().flat_map(|lane| &lane.tracks).map(Vec::len).sum()
    }

    /// This level at a coarser resolution.
    fn coarser(&self, resolution_ticks: u64) -> Level {
        let lane = |lane: &LaneSpans| LaneSpans {
            lane: lane.lane,
            tracks: lane.tracks.iter().map(|track| merged(track, resolution_ticks)).collect(),
        };
        Level { resolution_ticks, lanes: self.lanes.iter().map(lane).collect() }
    }
}

/// How many calls were left out because no picture could show them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Calls of lanes over [`Timeline::LANES`].
    pub calls_of_lanes: u64,
    /// Calls deeper than [`Timeline::DEPTH`].
    pub deeper_calls: u64,
}

/// Collects the spans of a trace.
#[derive(Clone, Debug)]
pub struct Timeline {
    level: Level,
    by_lane: FxHashMap<LaneId, usize>,
    /// The lane of the last call, and where it is: calls rarely change lanes.
    last: Option<(LaneId, usize)>,
    spans: usize,
    budget: usize,
    left_out: LeftOut,
}

impl Timeline {
    /// How many lanes are kept: those that first end a call.
    pub const LANES: usize = 256;
    /// How many levels of calls are kept of each.
    pub const DEPTH: usize = 512;
    /// Each level is this many times as coarse as the finer one.
    const STEP: u64 = 4;
    /// Levels with fewer spans have no coarser level.
    const FEW: usize = 4_000;

    /// Nothing yet; the finest level will have at most `budget` spans (or as many as there are lanes and depths, if that
    /// is more).
    pub fn new(budget: usize) -> Timeline {
        Timeline {
            level: Level { resolution_ticks: 1, lanes: Vec::new() },
            by_lane: FxHashMap::default(),
            last: None,
            spans: 0,
            budget,
            left_out: LeftOut::default(),
        }
    }

    /// Calls that are not in the levels.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// The levels, the finest first. A level that would have hardly fewer spans than the finer one is left out.
    pub fn levels(self) -> Vec<Level> {
        let mut levels = vec![self.level];
        let mut resolution = levels.first().map_or(1, |level| level.resolution_ticks);
        while let Some(finer) = levels.last() {
            let Some(next) = resolution.checked_mul(Timeline::STEP) else { break };
            let spans = finer.spans();
            if spans <= Timeline::FEW {
                break;
            }
            resolution = next;
            let level = finer.coarser(resolution);
            if level.spans() <= spans / 3 * 2 {
                levels.push(level);
            }
        }
        levels
    }

    fn lane(&mut self, lane: LaneId) -> Option<usize> {
        if let Some((last, index)) = self.last
            && last == lane
        {
            return Some(index);
        }
        let lanes = &mut self.level.lanes;
        let index = match self.by_lane.get(&lane) {
            Some(&index) => index,
            None if lanes.len() < Timeline::LANES => {
                lanes.push(LaneSpans { lane, tracks: Vec::new() });
                self.by_lane.insert(lane, lanes.len() - 1);
                lanes.len() - 1
            }
            None => return None,
        };
        self.last = Some((lane, index));
        Some(index)
    }

    #[cold]
    fn coarsen(&mut self) {
        while self.spans > self.budget / 2 {
            let Some(resolution) = self.level.resolution_ticks.checked_mul(2) else { break };
            self.level = self.level.coarser(resolution);
            self.spans = self.level.spans();
            if resolution > longest_track(&self.level) {
                // All that could be merged is.
                self.budget = self.budget.max(self.spans * 4);
                break;
            }
        }
    }
}

/// The longest extent of any track, in ticks.
fn longest_track(level: &Level) -> u64 {
    let extent = |track: &Track| match (track.first(), track.last()) {
        (Some(first), Some(last)) => last.end_ticks.saturating_sub(first.start_ticks),
        _ => 0,
    };
    level.lanes.iter().flat_map(|lane| &lane.tracks).map(extent).max().unwrap_or(0)
}

impl CallObserver for Timeline {
    #[inline]
    fn call(&mut self, call: &Call) {
        let Some(lane) = self.lane(call.lane) else {
            self.left_out.calls_of_lanes += 1;
            return;
        };
        if call.depth >= Timeline::DEPTH {
            self.left_out.deeper_calls += 1;
            return;
        }
        let resolution = self.level.resolution_ticks;
        let Some(lane) = self.level.lanes.get_mut(lane) else { return };
        if lane.tracks.len() <= call.depth {
            lane.tracks.resize_with(call.depth + 1, Vec::new);
        }
        let Some(track) = lane.tracks.get_mut(call.depth) else { return };
        let Call { start_ticks, end_ticks, func, .. } = *call;
        self.spans += usize::from(add(track, Span { start_ticks, end_ticks, func, calls: 1 }, resolution));
        if self.spans > self.budget {
            self.coarsen();
        }
    }
}

/// Adds a span to the end of a track; answers whether the track has one more now.
#[inline]
fn add(track: &mut Track, span: Span, resolution: u64) -> bool {
    if let Some(last) = track.last_mut()
        && span.end_ticks.saturating_sub(last.start_ticks) < resolution
    {
        if span.ticks() > last.ticks() {
            last.func = span.func;
        }
        last.end_ticks = last.end_ticks.max(span.end_ticks);
        last.calls = last.calls.saturating_add(span.calls);
        return false;
    }
    track.push(span);
    true
}

fn merged(track: &Track, resolution: u64) -> Track {
    let mut out = Track::new();
    for &span in track {
        add(&mut out, span, resolution);
    }
    out
}
