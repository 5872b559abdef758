//! Everything that a report needs, from one pass over a trace.

use crate::builder::Growth;
use crate::calls::CallObserver;
use crate::drive::{Driven, Named, drive};
use crate::filter::CallFilter;
use crate::frames::{AtRange, Counts, LaneStatus};
use crate::health::Health;
use crate::nodes::CallTree;
use crate::sampled::{Sampling, WindowProfile};
use crate::symbols::Symbols;
use kperf_trace::{Header, TraceReader};
use std::io::{self, Read};

/// What a trace says. The file is a trace; this is computed from it.
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
    /// What is to be told besides the figures.
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
    /// Its windows one by one, if they were wanted so ([`WindowChoice::Each`](crate::WindowChoice::Each)), in their order in the
    /// trace: each lane's in the order of time.
    pub windows: Vec<WindowProfile>,
}

impl Profile {
    /// Reads a trace to its end. `progress` is told how many bytes were read so far, chunk by chunk.
    ///
    /// Fails only where reading does: damage is in [`Profile::health`].
    pub fn read<R: Read>(reader: TraceReader<R>, progress: impl FnMut(u64)) -> io::Result<Profile> {
        Profile::read_observed(reader, (), None, progress).map(|(profile, ())| profile)
    }

    /// The same of those calls that a filter lets through. Of calls that were open in its range, the part counts that
    /// lies in it. Lanes and health are those of the whole trace.
    pub fn read_filtered<R: Read>(
        reader: TraceReader<R>,
        filter: &CallFilter<'_>,
        progress: impl FnMut(u64),
    ) -> io::Result<Profile> {
        Profile::read_observed(reader, (), Some(filter), progress).map(|(profile, ())| profile)
    }

    /// The same, with somebody who sees every call (that the filter lets through, if there is one) when it ends, and
    /// comes back with the profile.
    pub fn read_observed<R: Read, O: CallObserver>(
        mut reader: TraceReader<R>,
        observer: O,
        filter: Option<&CallFilter<'_>>,
        mut progress: impl FnMut(u64),
    ) -> io::Result<(Profile, O)> {
        let clipped = filter.map(|filter| (filter, AtRange::Clipped));
        let driven = drive(&mut reader, Growth::new(observer), clipped, &mut progress)?;
        Ok(Profile::of(driven, &reader, filter))
    }

    /// What a pass found, and who saw the calls.
    pub(crate) fn of<R: Read, O: CallObserver>(
        driven: Driven<Growth<O>>,
        reader: &TraceReader<R>,
        filter: Option<&CallFilter<'_>>,
    ) -> (Profile, O) {
        let Driven { mut visitor, health, lanes, end_ticks, shown, mut windows } = driven;
        let symbols = std::mem::take(visitor.symbols());
        let (nodes, observer) = visitor.into_nodes();
        let counted = windows.calls();
        let each = windows.take_each(filter, &symbols);
        let (tree, hidden_calls) = if windows.is_empty() {
            (CallTree::new(nodes), health.counts.calls + health.counts.without_enter - shown)
        } else {
            let tree = CallTree::new(windows.into_nodes(filter, &symbols)).with(nodes);
            let all = counted + health.counts.calls + health.counts.without_enter - health.counts.spans;
            let kept = tree.iter().fold(0u64, |sum, (_, node)| sum.saturating_add(node.calls));
            (tree, all.saturating_sub(kept))
        };
        let profile = Profile {
            header: reader.header().clone(),
            health,
            symbols,
            tree,
            start_ticks: lanes.iter().map(|lane| lane.start_ticks).min().unwrap_or(end_ticks),
            lanes,
            bytes: reader.offset(),
            end_ticks,
            counted_calls: counted,
            hidden_calls,
            windows: each,
        };
        (profile, observer)
    }

    /// How often a function was entered, as far as the filter let it through.
    pub fn calls(&self) -> u64 {
        let Counts { calls, spans, .. } = self.health.counts;
        (calls - spans + self.counted_calls).saturating_sub(self.hidden_calls)
    }

    /// How far the times can be trusted, if they were sampled.
    pub fn sampling(&self) -> Option<&Sampling> {
        self.health.sampling.as_ref()
    }

    /// From the first lane's beginning to the end of the recording, in nanoseconds.
    pub fn wall_nanos(&self) -> u64 {
        self.header.nanos(self.end_ticks.saturating_sub(self.start_ticks))
    }
}
