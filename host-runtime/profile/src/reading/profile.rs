//! The profile of a trace: everything that a report needs.

use crate::frames::counts::Counts;
use crate::frames::filter::CallFilter;
use crate::frames::filtered::AtRange;
use crate::frames::named::TraceVisitor;
use crate::frames::open::LaneStatus;
use crate::reading::drive::{Driven, drive};
use crate::reading::health::Health;
use crate::sampled::precision::Precision;
use crate::sampled::sampling::{SampledPlaces, Sampling, TreePlaces, WindowProfile};
use crate::symbols::{HOST, OTHER, Symbols};
use crate::tree::builder::Growth;
use crate::tree::links::{Links, SpanLink};
use crate::tree::nodes::{CallTree, Node, mean};
use crate::tree::observer::CallObserver;
use kperf_trace::{ClockKind, Header, ProbeCost, TickTotal, TraceReader};
use std::io::{self, Read};

/// The figures that were computed from a trace.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Clock, host, command.
    pub header: Header,
    /// The functions.
    pub symbols: Symbols,
    /// The calls of all lanes.
    pub tree: CallTree,
    /// The lanes, in the order in which they first appear.
    pub lanes: Vec<LaneStatus>,
    /// What people must know before they trust the figures.
    pub health: Health,
    /// Length of the file, in bytes.
    pub bytes: u64,
    /// When the first lane began.
    pub start_ticks: u64,
    /// When the recording ended.
    pub end_ticks: u64,
    /// How many calls were counted without being recorded one by one, in a trace that is a profile.
    pub counted_calls: u64,
    /// How many calls a filter left out.
    pub hidden_calls: u64,
    /// Where in their code samples found the functions, as far as a native profile says it. For each function a part of its self
    /// time.
    pub places: SampledPlaces,
    /// The same for each node of the tree.
    pub tree_places: TreePlaces,
    /// Each window by itself, if the filter asked for that ([`WindowChoice::Each`](crate::WindowChoice::Each)). In the order of
    /// the trace: the windows of one lane are in the order of time. If the program ran several times, a window is one run, and all other
    /// figures are means of the runs.
    pub windows: Vec<WindowProfile>,
    /// The spans of the tree's links: see [`link_number`](crate::link_number). There are none, but with
    /// [`Profile::read_linked`].
    pub links: Vec<SpanLink>,
}

impl Profile {
    /// Reads a trace to its end. `progress` gets the number of bytes read so far.
    ///
    /// Fails only where reading does: damage is in [`Profile::health`].
    pub fn read<R: Read>(reader: TraceReader<R>, progress: impl FnMut(u64)) -> io::Result<Profile> {
        Profile::read_observed(reader, (), None, progress).map(|(profile, ())| profile)
    }

    /// Reads a trace to its end, and keeps the calls that a filter lets through. A call that is only partly in the filter's
    /// range counts with that part. Lanes and health are of the whole trace.
    pub fn read_filtered<R: Read>(
        reader: TraceReader<R>,
        filter: &CallFilter<'_>,
        progress: impl FnMut(u64),
    ) -> io::Result<Profile> {
        Profile::read_observed(reader, (), Some(filter), progress).map(|(profile, ())| profile)
    }

    /// Reads a trace to its end, and shows each call to `observer` when the call ends. With a filter, these are the calls
    /// that it lets through. Answers the profile and the observer.
    pub fn read_observed<R: Read, O: CallObserver>(
        reader: TraceReader<R>,
        observer: O,
        filter: Option<&CallFilter<'_>>,
        progress: impl FnMut(u64),
    ) -> io::Result<(Profile, O)> {
        Profile::grown(reader, Growth::new(observer), filter, progress)
    }

    /// [`Profile::read_observed`] without lines: the profile's symbols have no code and no inlined functions
    /// ([`Symbols::leave_code_out`]).
    pub fn read_without_code<R: Read, O: CallObserver>(
        reader: TraceReader<R>,
        observer: O,
        filter: Option<&CallFilter<'_>>,
        progress: impl FnMut(u64),
    ) -> io::Result<(Profile, O)> {
        let mut growth = Growth::new(observer);
        growth.symbols().leave_code_out();
        Profile::grown(reader, growth, filter, progress)
    }

    fn grown<R: Read, O: CallObserver>(
        mut reader: TraceReader<R>,
        mut growth: Growth<O>,
        filter: Option<&CallFilter<'_>>,
        mut progress: impl FnMut(u64),
    ) -> io::Result<(Profile, O)> {
        growth.observer.begin(reader.header());
        let clipped = filter.map(|filter| (filter, AtRange::Clipped));
        let driven = drive(&mut reader, growth, clipped, &mut progress)?;
        Ok(Profile::of(driven, &reader, filter))
    }

    /// [`Profile::read_filtered`], with a tree that is split by the spans around calls: the parents that the trace names for calls of
    /// the host. A link's node has no figures of its own.
    pub fn read_linked<R: Read>(
        reader: TraceReader<R>,
        filter: Option<&CallFilter<'_>>,
        progress: impl FnMut(u64),
    ) -> io::Result<Profile> {
        Profile::read_linked_observed(reader, (), filter, progress).map(|(profile, ())| profile)
    }

    /// [`Profile::read_linked`], with an observer that sees each call.
    pub fn read_linked_observed<R: Read, O: CallObserver>(
        reader: TraceReader<R>,
        observer: O,
        filter: Option<&CallFilter<'_>>,
        progress: impl FnMut(u64),
    ) -> io::Result<(Profile, O)> {
        let links = Links::new(filter.is_some());
        let (mut profile, (links, observer)) =
            Profile::read_observed(reader, (links, observer), filter, progress)?;
        profile.health.over_limit.links = links.over_limit;
        Ok((Profile { links: links.spans, ..profile }, observer))
    }

    /// The profile of an empty trace.
    pub(crate) fn of_nothing(header: Header) -> Profile {
        Profile {
            header,
            symbols: Symbols::default(),
            tree: CallTree::new(vec![Node::new(CallTree::ROOT, HOST)]),
            lanes: Vec::new(),
            health: Health::default(),
            bytes: 0,
            start_ticks: 0,
            end_ticks: 0,
            counted_calls: 0,
            hidden_calls: 0,
            places: SampledPlaces::default(),
            tree_places: TreePlaces::default(),
            windows: Vec::new(),
            links: Vec::new(),
        }
    }

    /// The profile of a finished pass, and the observer that saw the calls.
    pub(crate) fn of<R: Read, O: CallObserver>(
        driven: Driven<Growth<O>>,
        reader: &TraceReader<R>,
        filter: Option<&CallFilter<'_>>,
    ) -> (Profile, O) {
        let Driven { mut visitor, mut health, lanes, end_ticks, shown, mut windows } = driven;
        let symbols = std::mem::take(visitor.symbols());
        let unplaced = std::mem::take(&mut visitor.unplaced);
        let (nodes, observer) = visitor.into_nodes();
        let counted = windows.calls();
        let each = windows.take_each(filter, &symbols);
        let (mut places, mut tree_places) = windows.places(filter, &symbols);
        let (tree, hidden_calls) = if windows.is_empty() {
            let tree = CallTree::new(nodes).with_unplaced(unplaced);
            (tree, health.counts.calls + health.counts.without_enter - shown)
        } else {
            let tree = CallTree::new(windows.into_nodes(filter, &symbols)).with(nodes);
            let all = counted + health.counts.calls + health.counts.without_enter - health.counts.spans;
            let kept = tree.iter().fold(0u64, |sum, (_, node)| sum.saturating_add(node.calls));
            (tree, all.saturating_sub(kept))
        };
        let mut header = reader.header().clone();
        let (mut tree, mut counted, mut hidden_calls) = (tree, counted, hidden_calls);
        if header.repeated && !each.is_empty() {
            let runs = each.len() as u64;
            tree = tree.mean(runs);
            (counted, hidden_calls) = (mean(counted, runs), mean(hidden_calls, runs));
            for place in places.values_mut().chain(tree_places.values_mut()) {
                place.ticks = mean(place.ticks, runs);
            }
        }
        let told_last = health.summary.as_ref().and_then(|summary| summary.probe_cost);
        header.probe_cost = header.probe_cost.or(told_last);
        let other = tree.iter().filter(|(_, node)| node.func == OTHER);
        let other = other.fold(0u64, |sum, (_, node)| sum.saturating_add(node.calls));
        health.over_limit.paths = other.saturating_sub(health.over_limit.frames);
        let profile = Profile {
            header,
            health,
            symbols,
            tree,
            start_ticks: lanes.iter().map(|lane| lane.start_ticks).min().unwrap_or(end_ticks),
            lanes,
            bytes: reader.offset(),
            end_ticks,
            counted_calls: counted,
            hidden_calls,
            places,
            tree_places,
            windows: each,
            links: Vec::new(),
        };
        (profile, observer)
    }

    /// The profile of the functions and levels that a filter wants, for profiles that were not read from a trace. The rest of the filter is
    /// about single calls, and isn't looked at.
    pub fn filtered(self, filter: &CallFilter<'_>) -> Profile {
        let tree = self.tree.filtered(|func| (filter.keep)(&self.symbols, func), filter.depth);
        let kept = tree.iter().fold(0u64, |sum, (_, node)| sum.saturating_add(node.calls));
        Profile {
            hidden_calls: self.calls().saturating_sub(kept),
            tree,
            tree_places: TreePlaces::new(),
            ..self
        }
    }

    /// The runs, if the program ran several times.
    pub fn runs(&self) -> Option<&[WindowProfile]> {
        Some(&self.windows[..]).filter(|runs| self.header.repeated && !runs.is_empty())
    }

    /// Shows `each` the profile of each run if the program ran several times, otherwise this one.
    pub fn each_run(mut self, mut each: impl FnMut(&Profile)) {
        if self.runs().is_none() {
            return each(&self);
        }
        for run in std::mem::take(&mut self.windows) {
            self.counted_calls = run.tree.iter().fold(0u64, |sum, (_, node)| sum.saturating_add(node.calls));
            self.hidden_calls = 0;
            (self.tree, self.health.sampling) = (run.tree, Some(run.sampling));
            each(&self);
        }
    }

    /// How often a function was entered, as far as the filter let it through.
    pub fn calls(&self) -> u64 {
        let Counts { calls, spans, .. } = self.health.counts;
        (calls - spans + self.counted_calls).saturating_sub(self.hidden_calls)
    }

    /// Whether the numbers of calls are known. Those of a program that ran several times are of its runs with probes.
    pub fn has_counts(&self) -> bool {
        !self.header.repeated || self.sampling().is_none() || self.counted_calls > 0
    }

    /// How far the times can be trusted, if they were sampled.
    pub fn sampling(&self) -> Option<&Sampling> {
        self.health.sampling.as_ref()
    }

    /// How far times with the sum `self_nanos` can be trusted. `None` if each event read the clock, or if it is unknown: a
    /// trace that was cut off doesn't say how often its ticker ticked.
    pub fn precision(&self, self_nanos: f64) -> Option<Precision> {
        if let Some(sampling) = self.sampling() {
            let of_samples = || Precision::of_samples(sampling, self_nanos, self.calls(), self.count_nanos());
            return (!sampling.is_counted()).then(of_samples);
        }
        let ticks = self.ticks()?;
        let cost = self.header.probe_cost.as_ref();
        let preempted = self.health.preempted();
        (ticks.count > 0 && ticks.squares > 0.0).then(|| {
            Precision::of_ticks(ticks, self_nanos, self.calls(), cost)
                .beside_others(&preempted.unwrap_or_default(), self.wall_nanos() as f64)
        })
    }

    /// How far shares may be off by what probes add, if each event read the clock and the trace has the cost of a probe.
    pub(crate) fn event_precision(&self, self_nanos: f64) -> Option<Precision> {
        let clock = &self.header.clock;
        let cost = self.header.probe_cost.as_ref().filter(|_| clock.kind == ClockKind::Precise)?;
        Some(Precision::of_events(clock.resolution_nanos, self_nanos, self.calls(), cost))
    }

    /// What counting a call cost a profile's guest at most, in nanoseconds, if the trace says it.
    pub fn count_nanos(&self) -> Option<f64> {
        let said = self.health.summary.as_ref()?.count_nanos;
        said.filter(|nanos| nanos.is_finite() && *nanos >= 0.0)
    }

    /// How a ticker ticked, if one was the clock and the trace says so.
    pub fn ticks(&self) -> Option<&TickTotal> {
        let summary = self.health.summary.as_ref()?;
        // Traces of earlier versions don't say it.
        let is_told = summary.ticks != TickTotal::default();
        (self.header.clock.kind == ClockKind::Ticker && is_told).then_some(&summary.ticks)
    }

    /// The cost of the probes of each call, to subtract from times.
    ///
    /// # Errors
    ///
    /// Half a sentence that says why it can't be subtracted: the trace has no cost of probes, or the times would get worse.
    pub fn compensation(&self) -> Result<ProbeCost, &'static str> {
        if self.header.clock.kind == ClockKind::Ticker {
            // 23 points off a sampler instead of 9 on the Game of Life (`cargo bench --workspace --bench accuracy`).
            return Err(
                "its times are a ticker's, in which the time of probes falls to functions by chance: taking it off made \
                 shares worse",
            );
        }
        self.header.probe_cost.ok_or("it doesn't say what its probes cost")
    }

    /// From the first lane's beginning to the end of the recording, in nanoseconds.
    pub fn wall_nanos(&self) -> u64 {
        self.header.nanos(self.end_ticks.saturating_sub(self.start_ticks))
    }
}
