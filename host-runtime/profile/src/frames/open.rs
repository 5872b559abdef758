//! The open calls of each lane, at each moment of a trace.
//!
//! [`Frames`] takes the batches of a trace, keeps a stack of open frames per lane, and shows a [`Visitor`] every frame that
//! opens or closes. The call tree, the replay and the exports are visitors, so that all of them agree on what an unwind, a
//! gap or a leave without a frame means.
//!
//! A wait of the guest's own ([`WAIT`]) is an open call to its recorder, but no frame: visitors see it as a pause when it ends.
//!
//! All lanes together keep at most [`MAX_OPEN_FRAMES`](crate::MAX_OPEN_FRAMES) frames at once. A lane that goes deeper gets
//! one more frame, of the function [`OTHER`], which represents all frames above it until they have closed.

mod over_limit;
mod waits;

use crate::frames::counts::Counts;
use crate::frames::pauses::Pauses;
use crate::frames::problem::{Problem, Problems};
use crate::frames::visitor::{Ending, Visitor};
use crate::limits::MAX_OPEN_FRAMES;
use crate::symbols::{LOST, OTHER};
use crate::unit::Unit;
use kperf_abi::FuncId;
use kperf_abi::allocation::WORDS;
use kperf_abi::word::RECORD_MORE;
use kperf_trace::{Allocation, Batch, Event, LaneId, TimedEvent};
use rustc_hash::FxHashMap;
use std::num::NonZeroU32;
use waits::WAIT;

/// A lane: one stack of one recorder.
#[derive(Clone, Debug)]
struct Lane<F> {
    id: LaneId,
    /// The outermost first.
    frames: Vec<F>,
    /// How many open frames the last of `frames` represents; 0 for an ordinary frame.
    over_limit: usize,
    /// How many calls that frame represents, ended ones included.
    over_limit_calls: u64,
    /// Since when the guest waits, in ticks, if it does. The wait is inside of all frames.
    waits_since: Option<u64>,
    calls: u64,
    start_ticks: u64,
    now: u64,
    /// The time of its last event that is no pause.
    last: u64,
    /// The words of a record of memory that isn't complete, and how many there are.
    record: ([u32; WORDS], usize),
    /// The function that has left last.
    left: FuncId,
    /// That of its last batch.
    elsewhere: u64,
    /// Events of its recorder were lost since its last batch, so that its next one may begin at any depth.
    after_a_gap: bool,
}

/// What [`Frames`] knows of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneStatus {
    /// Its id.
    pub id: LaneId,
    /// How many enters it had so far.
    pub calls: u64,
    /// When its first batch began, in ticks.
    pub start_ticks: u64,
    /// The time of its last event so far, in ticks.
    pub end_ticks: u64,
    /// How many frames are open.
    pub depth: usize,
}

impl<F> Lane<F> {
    /// How many frames are kept, without the one that represents others.
    fn kept(&self) -> usize {
        self.frames.len() - usize::from(self.over_limit != 0)
    }

    /// How many calls are open, as the recorder counts them.
    fn depth(&self) -> usize {
        self.kept() + self.over_limit + usize::from(self.waits_since.is_some())
    }
}

/// The open frames of every lane.
#[derive(Clone, Debug)]
pub struct Frames<V: Visitor> {
    /// In the order in which they first appeared.
    lanes: Vec<Lane<V::Frame>>,
    by_id: FxHashMap<LaneId, usize>,
    /// How many frames all lanes keep, and may keep.
    kept: usize,
    max: usize,
    /// When the trace begins, if that is known.
    beginning: Option<u64>,
    visitor: V,
    counts: Counts,
    problems: Problems,
}

impl<V: Visitor> Frames<V> {
    /// No lane yet.
    pub fn new(visitor: V) -> Frames<V> {
        Frames::with_limit(visitor, MAX_OPEN_FRAMES)
    }

    /// No lane yet; at most `most` open frames are kept at once.
    pub fn with_limit(visitor: V, max: usize) -> Frames<V> {
        let counts = Counts::default();
        Frames {
            lanes: Vec::new(),
            by_id: FxHashMap::default(),
            kept: 0,
            max,
            beginning: None,
            visitor,
            counts,
            problems: Problems::default(),
        }
    }

    /// Sets when the trace begins, as its first lane may not be the earliest.
    pub(crate) fn begins_at(&mut self, ticks: Option<u64>) {
        self.beginning = ticks;
    }

    /// Takes the next batch of a trace. Fails only if the visitor does.
    pub fn push(&mut self, batch: &Batch<'_>) -> Result<(), V::Error> {
        let index = match self.by_id.get(&batch.lane) {
            Some(&index) => index,
            None => {
                let (id, start_ticks) = (batch.lane, batch.start_ticks);
                let frames = Vec::new();
                self.lanes.push(Lane {
                    id,
                    frames,
                    over_limit: 0,
                    over_limit_calls: 0,
                    waits_since: None,
                    calls: 0,
                    start_ticks,
                    now: start_ticks,
                    last: start_ticks,
                    record: ([0; WORDS], 0),
                    left: OTHER,
                    elsewhere: 0,
                    after_a_gap: false,
                });
                self.by_id.insert(id, self.lanes.len() - 1);
                if self.lanes.len() == 1 {
                    self.visitor.begin(self.beginning.unwrap_or(start_ticks))?;
                }
                self.visitor.lane(id, start_ticks)?;
                self.lanes.len() - 1
            }
        };
        if matches!(batch.events, [TimedEvent { event: Event::Lost { .. }, .. }, ..]) {
            // The recorder lost it: any of its stacks may be affected.
            for lane in self.lanes.iter_mut().filter(|lane| lane.id.recorder == batch.lane.recorder) {
                lane.after_a_gap = true;
            }
        }
        self.step(index, |step| step.begin(batch).and_then(|events| step.events(events)))
    }

    /// Takes more events of a lane's last batch, for callers that don't take a whole batch at once. `are_spans` says that they are
    /// slow calls that samples saw.
    pub fn go_on(&mut self, lane: LaneId, events: &[TimedEvent], are_spans: bool) -> Result<(), V::Error> {
        let Some(&index) = self.by_id.get(&lane) else { return Ok(()) };
        let before = self.counts.calls;
        let result = self.step(index, |step| step.events(events));
        self.counts.spans += if are_spans { self.counts.calls - before } else { 0 };
        result
    }

    fn step(
        &mut self,
        index: usize,
        work: impl FnOnce(&mut Step<'_, V>) -> Result<(), V::Error>,
    ) -> Result<(), V::Error> {
        let Some(lane) = self.lanes.get_mut(index) else { return Ok(()) };
        let elsewhere = self.kept - lane.kept();
        let max = self.max.saturating_sub(elsewhere);
        let (visitor, counts, problems) = (&mut self.visitor, &mut self.counts, &mut self.problems);
        let result = work(&mut Step { lane, max, visitor, counts, problems });
        self.kept = elsewhere + lane.kept();
        if lane.frames.is_empty() {
            // A host with a store per request has as many lanes as requests: those that rest must cost nothing.
            lane.frames = Vec::new();
        }
        result
    }

    /// Takes the next batch of slow calls that samples saw. They are calls like others; [`Counts::spans`] counts them as well.
    pub fn push_spans(&mut self, batch: &Batch<'_>) -> Result<(), V::Error> {
        let before = self.counts.calls;
        let result = self.push(batch);
        self.counts.spans += self.counts.calls - before;
        result
    }

    /// Closes open frames as cut off: at the end of the trace, or at the lane's last event if that comes later. Lanes that
    /// count their own instructions say nothing of each other: each ends with its last event.
    pub fn finish(&mut self, end_ticks: u64, unit: Unit) -> Result<(), V::Error> {
        let is_one_clock = unit == Unit::Time || self.lanes.len() == 1;
        for lane in &mut self.lanes {
            if lane.depth() > 0 && is_one_clock {
                lane.now = lane.now.max(end_ticks);
            }
            let mut step = Step {
                lane,
                max: 0,
                visitor: &mut self.visitor,
                counts: &mut self.counts,
                problems: &mut self.problems,
            };
            step.close_above(0, Ending::CutOff)?;
        }
        self.kept = 0;
        Ok(())
    }

    /// The lanes, in the order in which they first appeared.
    pub fn lanes(&self) -> impl Iterator<Item = LaneStatus> + '_ {
        self.lanes.iter().map(|lane| LaneStatus {
            id: lane.id,
            calls: lane.calls,
            start_ticks: lane.start_ticks,
            end_ticks: lane.now,
            depth: lane.depth(),
        })
    }

    /// The time of the last event of any lane, in ticks; 0 if there is none.
    pub fn last_ticks(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.now).max().unwrap_or(0)
    }

    /// How often each kind of event happened so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// What didn't fit together so far.
    pub fn problems(&self) -> &Problems {
        &self.problems
    }

    /// The visitor.
    pub fn visitor(&mut self) -> &mut V {
        &mut self.visitor
    }

    /// The visitor, for good.
    pub fn into_visitor(self) -> V {
        self.visitor
    }
}

/// A batch's work on its lane.
struct Step<'a, V: Visitor> {
    lane: &'a mut Lane<V::Frame>,
    /// How many frames it may keep.
    max: usize,
    visitor: &'a mut V,
    counts: &'a mut Counts,
    problems: &'a mut Problems,
}

impl<V: Visitor> Step<'_, V> {
    /// Brings the lane to the depth that the recorder says it has when the batch begins. Answers the events that are
    /// left to do.
    fn begin<'e>(&mut self, batch: &Batch<'e>) -> Result<&'e [TimedEvent], V::Error> {
        let id = self.lane.id;
        if batch.start_ticks < self.lane.now {
            self.problems.add(Problem::TimeWentBack {
                lane: id,
                ticks: self.lane.now,
                to: batch.start_ticks,
            });
        }
        self.lane.now = self.lane.now.max(batch.start_ticks);
        self.lane.elsewhere = batch.elsewhere;
        let mut events = batch.events;
        let after_a_gap = std::mem::take(&mut self.lane.after_a_gap);
        let mut is_known = !after_a_gap;
        while let Some((&TimedEvent { event: Event::Lost { events: lost }, .. }, rest)) = events.split_first()
        {
            self.lost(lost)?;
            events = rest;
            is_known = false;
        }
        let depth = batch.depth as usize;
        let open = self.lane.depth();
        // A stack may begin with a wait for the time in which it was suspended.
        if !is_known || open == 0 || depth != open {
            self.lane.last = self.lane.now;
        }
        if depth != open {
            if !after_a_gap {
                self.problems.add(Problem::DepthDiffers {
                    lane: id,
                    ticks: self.lane.now,
                    open,
                    recorder: depth,
                });
            }
            self.close_above(depth, Ending::Lost)?;
            if self.lane.depth() < depth {
                self.enter_wait()?;
            }
            while self.lane.depth() < depth.min(MAX_UNKNOWN) {
                self.counts.without_enter += 1;
                if self.lane.over_limit != 0 || self.lane.frames.len() >= self.max {
                    self.enter_beyond(self.lane.now)?;
                    continue;
                }
                let frame = self.visitor.enter(id, &mut self.lane.frames, LOST, self.lane.now)?;
                self.lane.frames.push(frame);
            }
        }
        Ok(events)
    }

    fn lost(&mut self, events: Option<NonZeroU32>) -> Result<(), V::Error> {
        let events = events.map(|events| u64::from(events.get()));
        self.counts.gaps += 1;
        match events {
            Some(events) => self.counts.lost_events = self.counts.lost_events.saturating_add(events),
            None => self.counts.gaps_of_unknown_size += 1,
        }
        self.visitor.lost(self.lane.id, &mut self.lane.frames, events, self.lane.now)
    }

    /// Closes the frames deeper than `depth`, the innermost first, at the lane's present time.
    fn close_above(&mut self, depth: usize, ending: Ending) -> Result<(), V::Error> {
        if self.lane.depth() > depth {
            self.end_wait()?;
        }
        let count = match ending {
            Ending::Leave => &mut self.counts.leaves,
            Ending::Unwound(reason) => &mut self.counts.unwound[reason as usize],
            Ending::Lost => &mut self.counts.closed_in_gaps,
            Ending::CutOff => &mut self.counts.cut_off,
        };
        *count += self.lane.depth().saturating_sub(depth) as u64;
        if self.lane.over_limit != 0 {
            let closed = self.lane.over_limit.min(self.lane.depth().saturating_sub(depth));
            self.leave_beyond(closed, ending, self.lane.now)?;
        }
        while self.lane.depth() > depth {
            let Some(frame) = self.lane.frames.pop() else { break };
            self.visitor.leave(self.lane.id, &mut self.lane.frames, frame, ending, self.lane.now)?;
        }
        Ok(())
    }

    /// The hot loop.
    fn events(&mut self, events: &[TimedEvent]) -> Result<(), V::Error> {
        let id = self.lane.id;
        let mut events = self.go_on_waiting(events)?;
        let (mut calls, mut leaves) = (0, 0);
        let (mut now, mut last) = (self.lane.now, self.lane.last);
        // No frame may be kept above the one that represents others.
        let max = |step: &Self| if step.lane.over_limit == 0 { step.max } else { 0 };
        let mut kept_max = max(self);
        while let [TimedEvent { ticks, event }, after @ ..] = events {
            events = after;
            now = now.max(*ticks);
            match *event {
                Event::Enter(WAIT) => {
                    self.lane.now = now;
                    events = self.begin_wait(events)?;
                    now = self.lane.now;
                    kept_max = max(self);
                }
                Event::Enter(_) if self.lane.frames.len() >= kept_max => {
                    calls += 1;
                    self.enter_beyond(now)?;
                    kept_max = 0;
                }
                Event::Enter(func) => {
                    calls += 1;
                    let frame = self.visitor.enter(id, &mut self.lane.frames, func, now)?;
                    self.lane.frames.push(frame);
                }
                Event::Leave if kept_max == 0 && self.lane.over_limit != 0 => {
                    leaves += 1;
                    self.leave_beyond(1, Ending::Leave, now)?;
                    kept_max = max(self);
                }
                Event::Leave => {
                    leaves += 1;
                    match self.lane.frames.pop() {
                        Some(frame) => {
                            self.lane.left = self.visitor.function(&frame);
                            self.visitor.leave(id, &mut self.lane.frames, frame, Ending::Leave, now)?;
                        }
                        None => {
                            self.counts.leaves_without_frame += 1;
                            self.problems.add(Problem::LeaveWithoutFrame { lane: id, ticks: now });
                        }
                    }
                }
                Event::Pause(_) | Event::Wait(_) => {
                    let mut pauses = Pauses { end: now, ..Pauses::default() };
                    self.pause(&mut pauses, *event);
                    while let [TimedEvent { ticks, event }, after @ ..] = events
                        && *ticks <= now
                        && self.pause(&mut pauses, *event)
                    {
                        events = after;
                    }
                    for (func, paused, end) in pauses.within(now - last).iter() {
                        self.visitor.pause(id, &mut self.lane.frames, func, paused, end)?;
                    }
                    continue;
                }
                event => {
                    self.lane.now = now;
                    self.rare(event)?;
                    kept_max = max(self);
                }
            }
            last = now;
        }
        self.lane.now = now;
        self.lane.last = last;
        self.lane.calls += calls;
        self.counts.calls += calls;
        self.counts.leaves += leaves;
        Ok(())
    }

    /// Adds an event to pauses, if it is one.
    fn pause(&mut self, pauses: &mut Pauses, event: Event) -> bool {
        if let Event::Wait(waited) = event
            && !self.lane.frames.is_empty()
        {
            let sum = &mut self.counts.waited[waited.wait() as usize];
            *sum = sum.saturating_add(waited.ticks());
        }
        pauses.add(event)
    }

    #[cold]
    fn rare(&mut self, event: Event) -> Result<(), V::Error> {
        let (lane, ticks) = (self.lane.id, self.lane.now);
        match event {
            Event::Unwind { depth, reason } => {
                self.counts.unwinds += 1;
                let open = self.lane.depth();
                if depth as usize >= open {
                    self.problems.add(Problem::UnwindOfNothing { lane, ticks, depth, open });
                }
                self.close_above(depth as usize, Ending::Unwound(reason))
            }
            Event::Mark(value) => {
                self.counts.marks += 1;
                self.visitor.mark(lane, &mut self.lane.frames, value, ticks)
            }
            Event::Memory(word) => self.record(word),
            Event::Lost { events } => self.lost(events),
            Event::Enter(_) | Event::Leave | Event::Pause(_) | Event::Wait(_) => Ok(()),
        }
    }

    /// The next word of a record of memory. Unknown records are skipped.
    fn record(&mut self, word: u32) -> Result<(), V::Error> {
        let (words, len) = &mut self.lane.record;
        if word < RECORD_MORE {
            *len = 0;
        }
        let Some(place) = words.get_mut(*len) else { return Ok(()) };
        *place = word;
        *len = (*len + 1) % WORDS;
        if *len > 0 {
            return Ok(());
        }
        let Some(allocation) = Allocation::decode(*words) else { return Ok(()) };
        self.counts.records += 1;
        // Blocks are of all stacks.
        let (lane, ticks) = (self.lane.id, self.lane.now.saturating_add(self.lane.elsewhere));
        let by = match allocation {
            Allocation::Grown { .. } | Allocation::Created { .. } => {
                self.lane.frames.last().map_or(OTHER, |frame| self.visitor.function(frame))
            }
            _ => self.lane.left,
        };
        self.visitor.allocation(lane, &mut self.lane.frames, by, &allocation, ticks)
    }
}

/// How many frames may be open whose enters the trace doesn't have: a damaged block may claim any depth, beyond any engine's stack.
const MAX_UNKNOWN: usize = 1 << 14;
