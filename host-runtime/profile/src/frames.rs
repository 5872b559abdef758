//! Which calls are open, at every moment of a trace.
//!
//! [`Frames`] takes the batches of a trace, keeps a stack of open frames per lane, and tells a [`Visitor`] of every frame
//! that opens or closes. The call tree, the replay and the exports are visitors, so that all of them agree on what an
//! unwind, a gap or a leave without a frame means.

mod counts;
mod filtered;
mod visitor;

pub use counts::Counts;
pub(crate) use filtered::{AtRange, Filtered};
pub use visitor::{Ending, Visitor};

use crate::problem::{Problem, Problems};
use crate::symbols::LOST;
use kperf_trace::{Batch, Event, LaneId, TimedEvent};
use rustc_hash::FxHashMap;
use std::num::NonZeroU32;

/// A lane: one stack of one recorder.
#[derive(Clone, Debug)]
struct Lane<F> {
    id: LaneId,
    /// The outermost first.
    frames: Vec<F>,
    calls: u64,
    start_ticks: u64,
    now: u64,
    /// Events of its recorder were lost since its last batch, so that its next one may begin at any depth.
    after_a_gap: bool,
}

/// What [`Frames`] knows of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneStatus {
    /// Which.
    pub id: LaneId,
    /// Enters so far.
    pub calls: u64,
    /// Where its first batch began.
    pub start_ticks: u64,
    /// Its last event so far.
    pub end_ticks: u64,
    /// How many frames are open.
    pub depth: usize,
}

/// The open frames of every lane.
#[derive(Clone, Debug)]
pub struct Frames<V: Visitor> {
    /// In the order in which they first appeared.
    lanes: Vec<Lane<V::Frame>>,
    by_id: FxHashMap<LaneId, usize>,
    visitor: V,
    counts: Counts,
    problems: Problems,
}

impl<V: Visitor> Frames<V> {
    /// No lane yet.
    pub fn new(visitor: V) -> Frames<V> {
        let counts = Counts::default();
        Frames {
            lanes: Vec::new(),
            by_id: FxHashMap::default(),
            visitor,
            counts,
            problems: Problems::default(),
        }
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
                    calls: 0,
                    start_ticks,
                    now: start_ticks,
                    after_a_gap: false,
                });
                self.by_id.insert(id, self.lanes.len() - 1);
                if self.lanes.len() == 1 {
                    self.visitor.begin(start_ticks)?;
                }
                self.visitor.lane(id, start_ticks)?;
                self.lanes.len() - 1
            }
        };
        if matches!(batch.events, [TimedEvent { event: Event::Lost { .. }, .. }, ..]) {
            // What is lost is the recorder's: any of its stacks may have been concerned.
            for lane in self.lanes.iter_mut().filter(|lane| lane.id.recorder == batch.lane.recorder) {
                lane.after_a_gap = true;
            }
        }
        let Some(lane) = self.lanes.get_mut(index) else { return Ok(()) };
        let mut step =
            Step { lane, visitor: &mut self.visitor, counts: &mut self.counts, problems: &mut self.problems };
        let events = step.begin(batch)?;
        step.events(events)?;
        if lane.frames.is_empty() {
            // A host with a store per request has as many lanes as requests: those that rest must cost nothing.
            lane.frames = Vec::new();
        }
        Ok(())
    }

    /// Takes the next batch of slow calls that samples saw. They are calls like others, but that [`Counts::spans`] counts
    /// them too.
    pub fn push_spans(&mut self, batch: &Batch<'_>) -> Result<(), V::Error> {
        let before = self.counts.calls;
        let result = self.push(batch);
        self.counts.spans += self.counts.calls - before;
        result
    }

    /// Closes what is still open: the recording was cut off. The end is that of the trace, or the lane's last event if
    /// that comes later.
    pub fn finish(&mut self, end_ticks: u64) -> Result<(), V::Error> {
        for lane in &mut self.lanes {
            if !lane.frames.is_empty() {
                lane.now = lane.now.max(end_ticks);
            }
            let mut step = Step {
                lane,
                visitor: &mut self.visitor,
                counts: &mut self.counts,
                problems: &mut self.problems,
            };
            step.close_above(0, Ending::CutOff)?;
        }
        Ok(())
    }

    /// The lanes, in the order in which they first appeared.
    pub fn lanes(&self) -> impl Iterator<Item = LaneStatus> + '_ {
        self.lanes.iter().map(|lane| LaneStatus {
            id: lane.id,
            calls: lane.calls,
            start_ticks: lane.start_ticks,
            end_ticks: lane.now,
            depth: lane.frames.len(),
        })
    }

    /// The last event of any lane; 0 without one.
    pub fn last_ticks(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.now).max().unwrap_or(0)
    }

    /// How often what happened so far.
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
        let mut events = batch.events;
        let after_a_gap = std::mem::take(&mut self.lane.after_a_gap);
        while let Some((&TimedEvent { event: Event::Lost { events: lost }, .. }, rest)) = events.split_first()
        {
            self.lost(lost)?;
            events = rest;
        }
        let depth = batch.depth as usize;
        let open = self.lane.frames.len();
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
            while self.lane.frames.len() < depth.min(MAX_UNKNOWN) {
                self.counts.without_enter += 1;
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
        while self.lane.frames.len() > depth {
            let Some(frame) = self.lane.frames.pop() else { break };
            let count = match ending {
                Ending::Leave => &mut self.counts.leaves,
                Ending::Unwound(reason) => &mut self.counts.unwound[reason as usize],
                Ending::Lost => &mut self.counts.closed_in_gaps,
                Ending::CutOff => &mut self.counts.cut_off,
            };
            *count += 1;
            self.visitor.leave(self.lane.id, &mut self.lane.frames, frame, ending, self.lane.now)?;
        }
        Ok(())
    }

    /// The hot loop.
    fn events(&mut self, events: &[TimedEvent]) -> Result<(), V::Error> {
        let id = self.lane.id;
        let (mut calls, mut leaves) = (0, 0);
        let mut now = self.lane.now;
        for &TimedEvent { ticks, event } in events {
            now = now.max(ticks);
            match event {
                Event::Enter(func) => {
                    calls += 1;
                    let frame = self.visitor.enter(id, &mut self.lane.frames, func, now)?;
                    self.lane.frames.push(frame);
                }
                Event::Leave => {
                    leaves += 1;
                    match self.lane.frames.pop() {
                        Some(frame) => {
                            self.visitor.leave(id, &mut self.lane.frames, frame, Ending::Leave, now)?;
                        }
                        None => {
                            self.counts.leaves_without_frame += 1;
                            self.problems.add(Problem::LeaveWithoutFrame { lane: id, ticks: now });
                        }
                    }
                }
                _ => {
                    self.lane.now = now;
                    self.rare(event)?;
                }
            }
        }
        self.lane.now = now;
        self.lane.calls += calls;
        self.counts.calls += calls;
        self.counts.leaves += leaves;
        Ok(())
    }

    #[cold]
    fn rare(&mut self, event: Event) -> Result<(), V::Error> {
        let (lane, ticks) = (self.lane.id, self.lane.now);
        match event {
            Event::Unwind { depth, reason } => {
                self.counts.unwinds += 1;
                let open = self.lane.frames.len();
                if depth as usize >= open {
                    self.problems.add(Problem::UnwindOfNothing { lane, ticks, depth, open });
                }
                self.close_above(depth as usize, Ending::Unwound(reason))
            }
            Event::Mark(value) => {
                self.counts.marks += 1;
                self.visitor.mark(lane, &mut self.lane.frames, value, ticks)
            }
            Event::Lost { events } => self.lost(events),
            Event::Enter(_) | Event::Leave => Ok(()),
        }
    }
}

/// How many frames may be open that the trace knows nothing of. Hardly an engine has a stack this deep; a damaged block
/// claims any depth, and a small file may have many of those.
const MAX_UNKNOWN: usize = 1 << 14;
