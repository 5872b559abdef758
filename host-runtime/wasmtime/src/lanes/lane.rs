//! A store's lane: what the host can do to it between the guest's events.

use super::core::LaneCore;
use super::reason::reason_of;
use super::record::{Before, Pen};
use super::state::StateGlobals;
use kperf_abi::word::Reason;
use kperf_trace::TraceContext;
use std::sync::Arc;
use wasmtime::{AsContextMut, Result};

/// A recorder module in a store. [`Recorder::link`](crate::Recorder::link) makes one.
///
/// It is cheap to clone. If host functions call the guest again, keep a clone where they find it. Every method takes the store
/// that the lane was linked in, or a `Caller` of it; with another store it panics, as wasmtime's own objects do. No method
/// runs guest code: all work without fuel, after an epoch's end, and in asynchronous stores.
#[derive(Clone)]
pub struct Lane {
    pub(crate) core: Arc<LaneCore>,
    pub(crate) globals: StateGlobals,
}

impl Lane {
    /// The recorder's number in the trace. Another lane may get the number when the store is gone.
    pub fn id(&self) -> u32 {
        self.core.number
    }

    /// Calls the guest through `call`. If that fails, closes the frames that the guest opened, with the reason that [`reason_of`]
    /// finds in the error. The next call then starts at the same depth as this one.
    ///
    /// Calls without `Lane::call` are recorded too. But the frames of a failed call stay open until an outer frame leaves or
    /// the recording ends, and later calls appear as their children.
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub fn call<S: AsContextMut, R>(
        &self,
        store: &mut S,
        call: impl FnOnce(&mut S) -> Result<R>,
    ) -> Result<R> {
        let before = self.before(&mut *store);
        let abandon = Abandon { core: &self.core, depth: before.depth };
        let result = call(store);
        std::mem::forget(abandon);
        self.settle(store, before, &result);
        result
    }

    /// [`call`](Lane::call) for asynchronous calls. If the future is dropped before it is ready, the frames are closed with
    /// [`Reason::Host`] at that time. The time in which it is pending becomes a call of `[suspended]`.
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub async fn call_async<S: AsContextMut, R>(
        &self,
        store: &mut S,
        call: impl AsyncFnOnce(&mut S) -> Result<R>,
    ) -> Result<R> {
        self.core.set_async();
        let before = self.before(&mut *store);
        let abandon = Abandon { core: &self.core, depth: before.depth };
        let wait = |waits| if waits { self.core.suspend() } else { self.core.resume() };
        let result = watched(call(store), wait).await;
        std::mem::forget(abandon);
        self.settle(store, before, &result);
        result
    }

    /// How many frames are open on the stack that runs.
    pub fn depth(&self, store: impl AsContextMut) -> u32 {
        self.act(store, |pen| pen.state.depth)
    }

    /// Closes the frames deeper than `depth`.
    pub fn close(&self, store: impl AsContextMut, reason: Reason, depth: u32) {
        self.act(store, |pen| pen.close(reason, depth));
    }

    /// Notes a point in time, with a number of up to 26 bits.
    pub fn mark(&self, store: impl AsContextMut, value: u32) {
        self.act(store, |pen| pen.mark(value));
    }

    /// Switches to another of the lane's stacks, a fiber's for instance: later events belong to it. There are 768 stacks, from 0,
    /// which runs first; a higher number has no effect.
    pub fn switch(&self, store: impl AsContextMut, stack: u32) {
        self.act(store, |pen| pen.switch(stack));
    }

    /// Sets the parent of the host's next calls into the running stack: for example a span of the host, or the request that it
    /// serves. Exports to OpenTelemetry use it. It is valid until the next `set_parent`. `None` restores the parent of the
    /// recording, if there is one ([`Builder::parent`](crate::Builder::parent)). Open calls keep their parent.
    ///
    /// It hands the current block over, which takes a microsecond or two.
    ///
    /// ```
    /// # use kperf_wasmtime::{Lane, TraceContext};
    /// # use wasmtime::{Store, TypedFunc};
    /// fn serve(lane: &Lane, store: &mut Store<()>, f: &TypedFunc<(), ()>, traceparent: &str) -> wasmtime::Result<()> {
    ///     // A header that can't be read makes no parent, and the request is served all the same.
    ///     lane.set_parent(&mut *store, TraceContext::parse(traceparent, "").ok());
    ///     lane.call(store, |store| f.call(store, ()))
    /// }
    /// ```
    pub fn set_parent(&self, store: impl AsContextMut, context: Option<TraceContext>) {
        self.act(store, |pen| pen.set_parent(context));
    }

    /// Hands the current block to the writer before it is full. Full blocks are handed over automatically.
    pub fn flush(&self, store: impl AsContextMut) {
        self.act(store, |pen| pen.flush());
    }

    /// The host begins a call.
    pub(crate) fn before(&self, store: impl AsContextMut) -> Before {
        self.act(store, |pen| pen.before())
    }

    fn settle<R>(&self, store: impl AsContextMut, before: Before, result: &Result<R>) {
        // A guest that returned has left its frames, unless other code unwound them without notice.
        self.end(store, result.as_ref().err().map_or(Reason::Caught, reason_of), before);
    }

    /// The host's call has ended.
    pub(crate) fn end(&self, store: impl AsContextMut, reason: Reason, before: Before) {
        self.act(store, |pen| pen.settle(reason, before));
    }

    /// Lets a pen work on the lane, with the state that the module keeps.
    fn act<R>(&self, mut store: impl AsContextMut, act: impl FnOnce(&mut Pen<'_>) -> R) -> R {
        let mut store = store.as_context_mut();
        let before = self.globals.get(&mut store);
        match self.globals.position(&mut store) {
            // Its first event was cut off before it had begun a block.
            Some(0) => self.core.memory.clear_below(0),
            Some(position) => self.core.memory.set_position(position),
            None => {}
        }
        let mut state = before;
        let mut pen = Pen { lane: &self.core, state: &mut state };
        pen.lane.check_clock();
        close_abandoned(&mut pen);
        let result = act(&mut pen);
        self.globals.set_position(&mut store, self.core.memory.position());
        if state != before {
            self.globals.set(&mut store, state);
        }
        result
    }
}

/// Closes the frames of a call that ended without notice: its future was dropped, or the host panicked.
pub(crate) fn close_abandoned(pen: &mut Pen<'_>) {
    if let Some((depth, ticks)) = pen.lane.take_abandoned() {
        pen.close_at(ticks, Reason::Host, depth);
    }
}

/// Awaits a call, and calls `waits(true)` when it begins to wait and `waits(false)` before it goes on.
pub(crate) async fn watched<R>(call: impl Future<Output = R>, wait: impl Fn(bool)) -> R {
    let mut call = std::pin::pin!(call);
    let mut waits = false;
    std::future::poll_fn(|context| {
        if std::mem::take(&mut waits) {
            wait(false);
        }
        let poll = call.as_mut().poll(context);
        if poll.is_pending() {
            waits = true;
            wait(true);
        }
        poll
    })
    .await
}

/// Held during a call, and forgotten when it returns: if it is dropped, the host panicked or dropped the call's future.
pub(crate) struct Abandon<'a> {
    pub(crate) core: &'a LaneCore,
    pub(crate) depth: u32,
}

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        self.core.abandon(self.depth);
    }
}
