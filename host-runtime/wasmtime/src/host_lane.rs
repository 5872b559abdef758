//! The recorder as host functions: for embedders who can't give every store a module of its own.

use crate::core::{LaneCore, LaneGuard};
use crate::lane::{Abandon, close_abandoned};
use crate::memory::LaneMemory;
use crate::reason::reason_of;
use crate::record::Pen;
use crate::recording::Recording;
use crate::state::State;
use kperf_abi::word::Reason;
use kperf_trace::TraceContext;
use std::sync::Arc;
use wasmtime::{AsContextMut, Result};

/// A lane that stands in a store's data. [`Recorder::host_lane`](crate::Recorder::host_lane) makes one for each store, and
/// the functions of [`Recorder::add_to_linker`](crate::Recorder::add_to_linker) write to it.
///
/// When it is dropped, with its store, it hands over what it holds and closes the frames that are open.
pub struct HostLane {
    guard: LaneGuard,
    state: State,
}

impl HostLane {
    pub(crate) fn new(recording: &Arc<Recording>) -> HostLane {
        let mut lane = HostLane {
            guard: LaneGuard(recording.open_lane(LaneMemory::own(), false)),
            state: State::default(),
        };
        lane.pen().init();
        lane
    }

    #[inline]
    pub(crate) fn pen(&mut self) -> Pen<'_> {
        Pen { lane: &self.guard.0, state: &mut self.state }
    }

    fn settled_pen(&mut self) -> Pen<'_> {
        let mut pen = self.pen();
        close_abandoned(&mut pen);
        pen
    }

    /// Calls the guest by `call`, and if that fails closes the frames that it opened, for the reason that
    /// [`reason_of`] finds in the error. `lane` finds the lane in the store's data.
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub fn call<S: AsContextMut, R>(
        store: &mut S,
        lane: impl Fn(&mut S::Data) -> &mut HostLane,
        call: impl FnOnce(&mut S) -> Result<R>,
    ) -> Result<R> {
        let (core, depth) = open(store, &lane);
        let abandon = Abandon { core: &core, depth };
        let result = call(store);
        std::mem::forget(abandon);
        lane(store.as_context_mut().data_mut()).settle(depth, &result);
        result
    }

    /// [`call`](HostLane::call) for asynchronous calls. When the future is dropped halfway, the frames are closed for
    /// [`Reason::Host`].
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub async fn call_async<S: AsContextMut, R>(
        store: &mut S,
        lane: impl Fn(&mut S::Data) -> &mut HostLane,
        call: impl AsyncFnOnce(&mut S) -> Result<R>,
    ) -> Result<R> {
        let (core, depth) = open(store, &lane);
        let abandon = Abandon { core: &core, depth };
        let result = call(store).await;
        std::mem::forget(abandon);
        lane(store.as_context_mut().data_mut()).settle(depth, &result);
        result
    }

    /// The recorder's number in the trace. It is given to another lane when this one is gone.
    pub fn id(&self) -> u32 {
        self.guard.0.number
    }

    /// How many frames are open on the stack that runs.
    pub fn depth(&mut self) -> u32 {
        self.settled_pen().state.depth
    }

    /// Closes the frames deeper than `depth`.
    pub fn close(&mut self, reason: Reason, depth: u32) {
        self.settled_pen().close(reason, depth);
    }

    /// Notes a point in time, with a number of up to 26 bits.
    pub fn mark(&mut self, value: u32) {
        self.settled_pen().mark(value);
    }

    /// From here on the events belong to another of the lane's stacks, of which there are 768.
    pub fn switch(&mut self, stack: u32) {
        self.settled_pen().switch(stack);
    }

    /// Says whose children the host's next calls into the running stack are: see
    /// [`Lane::set_parent`](crate::Lane::set_parent).
    pub fn set_parent(&mut self, context: Option<TraceContext>) {
        self.settled_pen().set_parent(context);
    }

    /// Hands what is recorded so far to the writer. Full blocks are handed over anyway.
    pub fn flush(&mut self) {
        self.settled_pen().flush();
    }

    fn settle<R>(&mut self, depth: u32, result: &Result<R>) {
        // A guest that returned has left its frames, unless somebody unwound them and didn't say so.
        let reason = result.as_ref().err().map_or(Reason::Caught, reason_of);
        self.close(reason, depth);
    }
}

fn open<S: AsContextMut>(
    store: &mut S,
    lane: impl Fn(&mut S::Data) -> &mut HostLane,
) -> (Arc<LaneCore>, u32) {
    let mut context = store.as_context_mut();
    let lane = lane(context.data_mut());
    (lane.guard.0.clone(), lane.depth())
}
