//! A reader's state of each recorder: its next chunk, losses, the depths of its other stacks.

use crate::anomaly::AnomalyKind;
use crate::decode::{Decoded, Switch};
use crate::event::{Event, LaneId, TimedEvent, depth_after, depth_needed};
use crate::limits::MAX_LANES;
use kperf_abi::block::BlockHeader;
use rustc_hash::{FxHashMap, FxHashSet};
use std::num::NonZeroU32;
use std::ops::Range;

/// All recorders of a trace.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    recorders: FxHashMap<u32, Recorder>,
    /// All lanes so far, up to the limit.
    seen: FxHashSet<LaneId>,
    /// Whether the clock counts instructions, so that only the running stack advances it.
    counts: bool,
    /// The earliest known time of any recorder.
    first: Option<u64>,
}

#[derive(Debug, Default)]
struct Recorder {
    /// The sequence number of its next chunk.
    next: u32,
    /// Events that were lost since the recorder's last chunk.
    lost: Option<Loss>,
    /// Whether events were ever lost: then a stack that isn't in `parked` may have run.
    gapped: bool,
    /// The stack that ran last, and its last time.
    stack: u32,
    ticks: Option<u64>,
    /// The depths of the stacks that don't run, if they are known.
    parked: FxHashMap<u32, u32>,
    /// If the clock counts: by stack, the instructions that the other stacks executed while it didn't run.
    elsewhere: FxHashMap<u32, Elsewhere>,
}

/// The instructions that the other stacks of a recorder have executed since a stack first ran.
#[derive(Clone, Copy, Debug, Default)]
struct Elsewhere {
    /// The clock's reading when the stack stopped, if it doesn't run.
    stopped: Option<u64>,
    ticks: u64,
}

/// Events that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loss {
    /// `None` if unknown.
    events: Option<u64>,
}

/// A batch in the making: events of one stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) lane: LaneId,
    pub(crate) depth: u32,
    pub(crate) start_ticks: u64,
    pub(crate) elsewhere: u64,
    pub(crate) events: Range<usize>,
}

impl Recorder {
    /// The stack `from` stops, and `to` continues. Returns the instructions that others have executed since `to` first ran.
    fn switch(&mut self, from: u32, to: u32, ticks: u64) -> u64 {
        self.elsewhere.entry(from).or_default().stopped = Some(ticks);
        let other = self.elsewhere.entry(to).or_default();
        if let Some(stopped) = other.stopped.take() {
            other.ticks = other.ticks.saturating_add(ticks.saturating_sub(stopped));
        }
        other.ticks
    }

    fn lose(&mut self, events: Option<u64>) {
        let before = self.lost.map_or(Some(0), |loss| loss.events);
        self.lost = Some(Loss { events: before.zip(events).map(|(a, b)| a.saturating_add(b)) });
        self.gapped = true;
        self.parked.clear();
    }
}

impl Loss {
    fn event(self) -> Event {
        let events = self.events.and_then(|events| NonZeroU32::new(events.min(u32::MAX.into()) as u32));
        Event::Lost { events }
    }
}

impl Lanes {
    /// The recorders of a trace. `counts`: its clock counts instructions.
    pub(crate) fn new(counts: bool) -> Lanes {
        Lanes { counts, ..Lanes::default() }
    }

    /// Notes an events chunk with this number. Returns the gap if another number was expected.
    pub(crate) fn arrive(&mut self, recorder: u32, sequence: u32) -> Option<AnomalyKind> {
        let state = self.recorders.entry(recorder).or_default();
        let expected = std::mem::replace(&mut state.next, sequence.wrapping_add(1));
        if sequence == expected {
            return None;
        }
        state.lose(None);
        Some(AnomalyKind::Gap { recorder, expected, found: sequence })
    }

    /// An events chunk with this number can't be read.
    pub(crate) fn spoil(&mut self, recorder: u32, sequence: u32) {
        let state = self.recorders.entry(recorder).or_default();
        state.next = sequence.wrapping_add(1);
        state.lose(None);
    }

    /// Notes events that the writer could not write before the chunk with this number.
    pub(crate) fn lose(&mut self, recorder: u32, next_sequence: u32, events: u64) {
        let state = self.recorders.entry(recorder).or_default();
        state.next = next_sequence;
        if events != 0 {
            state.lose(Some(events));
        }
    }

    /// Notes a time at which an event was recorded.
    pub(crate) fn saw(&mut self, ticks: u64) {
        self.first = Some(self.first.map_or(ticks, |first| first.min(ticks)));
    }

    /// Whether the reader follows a recorder. Its stack 0 is a lane even if it never runs.
    pub(crate) fn follows(&mut self, recorder: u32) -> bool {
        follows(&mut self.seen, LaneId { recorder, stack: 0 })
    }

    /// Cuts a recorder's decoded block at its switches, and puts losses first. Returns how many events it left out
    /// because there are too many lanes. If the clock counts instructions, each stack gets a clock of its own, which
    /// doesn't advance while others run.
    pub(crate) fn cut(
        &mut self,
        recorder: u32,
        header: BlockHeader,
        block: &mut Decoded,
        out: &mut Vec<Segment>,
    ) -> u64 {
        let mut left_out = 0;
        self.saw(header.start_ticks);
        let state = self.recorders.entry(recorder).or_default();
        let mut lost = state.lost.take();
        let mut depth = Some(header.depth);
        let (mut stack, mut start, mut start_ticks) = (header.stack, 0, header.start_ticks);
        state.parked.remove(&stack);
        let mut elsewhere = match state.elsewhere.get(&stack) {
            _ if !self.counts => 0,
            // The switch was lost.
            _ if stack != state.stack => state.switch(state.stack, stack, start_ticks),
            Some(elsewhere) => elsewhere.ticks,
            None => 0,
        };
        let mut followed = follows(&mut self.seen, LaneId { recorder, stack });
        let switches = std::mem::take(&mut block.switches);
        let end = Switch { at: usize::MAX, stack: u32::MAX, ticks: block.end_ticks };
        let mut inserted = 0;
        for switch in switches.iter().chain([&end]) {
            let mut at = switch.at.saturating_add(inserted).min(block.events.len());
            // A stack of unknown depth that does nothing stays unknown.
            if !followed {
                left_out += (at - start) as u64;
            } else if depth.is_some() || at > start {
                let known = depth.unwrap_or_else(|| depth_needed(&block.events[start..at]));
                if let Some(loss) = lost.take() {
                    block.events.insert(start, TimedEvent { ticks: start_ticks, event: loss.event() });
                    inserted += 1;
                    at += 1;
                }
                if at > start {
                    let lane = LaneId { recorder, stack };
                    if elsewhere > 0 {
                        start_ticks = start_ticks.saturating_sub(elsewhere);
                        for event in &mut block.events[start..at] {
                            event.ticks = event.ticks.saturating_sub(elsewhere);
                        }
                    }
                    let events = start..at;
                    out.push(Segment { lane, depth: known, start_ticks, elsewhere, events });
                }
                if *switch != end {
                    state.parked.insert(stack, depth_after(known, &block.events[start..at]));
                }
            }
            if *switch == end {
                break;
            }
            if self.counts {
                elsewhere = state.switch(stack, switch.stack, switch.ticks);
            }
            (stack, start, start_ticks) = (switch.stack, at, switch.ticks);
            followed = follows(&mut self.seen, LaneId { recorder, stack });
            // An unknown stack has never run, or has run while events were lost.
            depth = state.parked.remove(&stack).or((!state.gapped).then_some(0));
            lost = depth.is_none().then_some(Loss { events: None });
        }
        (state.stack, state.ticks) = (stack, Some(block.end_ticks));
        block.switches = switches;
        left_out
    }

    /// Adds losses after the last chunk of a recorder: one event for each such recorder, in the order of their
    /// numbers. The time of a loss of a recorder without chunks is unknown: it gets the trace's earliest time, which is `begun` if
    /// no other is known.
    pub(crate) fn rest(&mut self, begun: u64, events: &mut Vec<TimedEvent>, out: &mut Vec<Segment>) {
        events.clear();
        let unknown = self.first.unwrap_or(begun);
        let lost =
            self.recorders.iter_mut().filter_map(|(&id, state)| Some((id, state.lost.take()?, &*state)));
        let mut lost: Vec<_> = lost.collect();
        lost.sort_unstable_by_key(|(recorder, ..)| *recorder);
        for (recorder, loss, state) in lost {
            let at = events.len();
            let elsewhere = state.elsewhere.get(&state.stack).map_or(0, |elsewhere| elsewhere.ticks);
            let ticks = state.ticks.map_or(unknown, |ticks| ticks.saturating_sub(elsewhere));
            events.push(TimedEvent { ticks, event: loss.event() });
            let lane = LaneId { recorder, stack: state.stack };
            out.push(Segment { lane, depth: 0, start_ticks: ticks, elsewhere, events: at..at + 1 });
        }
    }
}

/// Whether a lane is followed; a new one is, if there is room.
fn follows(seen: &mut FxHashSet<LaneId>, lane: LaneId) -> bool {
    seen.contains(&lane) || seen.len() < MAX_LANES && seen.insert(lane)
}
