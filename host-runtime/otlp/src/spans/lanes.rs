//! The lanes: each lane's thread, and OpenTelemetry's trace of its calls.

use super::functions::encoded;
use crate::attribute::int;
use crate::sampler::Sampler;
use crate::trace::Trace;
use kperf_trace::{CallParent, LaneId};
use rustc_hash::FxHashMap;

/// All lanes, one of them the current one.
#[derive(Debug)]
pub(crate) struct Lanes {
    /// Not empty.
    list: Vec<Lane>,
    by_id: FxHashMap<LaneId, usize>,
    current: usize,
    /// The trace of the whole run, if there is one.
    pub(crate) outer: Option<Trace>,
    /// The trace for calls from the host on a lane that has no trace of its own.
    inner: Option<Trace>,
    /// The parents that the host set for all stacks of a recorder.
    of_recorders: FxHashMap<u32, Option<Trace>>,
    sampler: Sampler,
}

/// A lane.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) id: LaneId,
    /// Attributes of a span that say where it was.
    pub(crate) thread: Box<[u8]>,
    /// The trace of the call from the host that is open.
    pub(crate) trace: Trace,
    /// The trace of the host's next calls, if the host set a parent.
    next: Option<Trace>,
}

impl Lane {
    fn new(id: LaneId, next: Option<Trace>) -> Lane {
        let mut thread = vec![int("thread.id", id.recorder.into())];
        if id.stack != 0 {
            thread.push(int("kperf.stack", id.stack.into()));
        }
        Lane { id, thread: encoded(&thread), trace: Trace::default(), next }
    }
}

impl Lanes {
    pub(crate) fn new(outer: Option<Trace>, inner: Option<Trace>, sampler: Sampler) -> Lanes {
        let first = Lane::new(LaneId::default(), None);
        let by_id = FxHashMap::from_iter([(first.id, 0)]);
        Lanes {
            list: vec![first],
            by_id,
            current: 0,
            outer,
            inner,
            of_recorders: FxHashMap::default(),
            sampler,
        }
    }

    /// The lane that was selected last.
    #[inline]
    pub(crate) fn current(&self) -> &Lane {
        // `current` is only ever the index of a lane.
        &self.list[self.current]
    }

    /// Makes this lane the current one.
    #[inline]
    pub(crate) fn select(&mut self, id: LaneId) {
        if self.current().id != id {
            self.current = self.index(id);
        }
    }

    #[cold]
    fn index(&mut self, id: LaneId) -> usize {
        if let Some(&index) = self.by_id.get(&id) {
            return index;
        }
        let next = self.of_recorders.get(&id.recorder).cloned().flatten();
        self.list.push(Lane::new(id, next));
        self.by_id.insert(id, self.list.len() - 1);
        self.list.len() - 1
    }

    /// The host sets the parent of its next calls.
    pub(crate) fn say(&mut self, parent: &CallParent) {
        let trace = parent.context.as_ref().map(|context| Trace::of(context, self.sampler));
        match parent.stack {
            Some(stack) => {
                let index = self.index(LaneId { recorder: parent.recorder, stack });
                self.list[index].next = trace;
            }
            None => {
                for lane in self.list.iter_mut().filter(|lane| parent.concerns(lane.id)) {
                    lane.next = trace.clone();
                }
                self.of_recorders.insert(parent.recorder, trace);
            }
        }
    }

    /// The host calls into the current lane. Returns the span around that call, 0 if there is none.
    pub(crate) fn begin_trace(&mut self, new: impl FnOnce() -> Trace) -> u64 {
        let lane = &mut self.list[self.current];
        lane.trace = lane.next.as_ref().or(self.inner.as_ref()).cloned().unwrap_or_else(new);
        lane.trace.parent
    }
}
