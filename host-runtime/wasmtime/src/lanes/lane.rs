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
/// It is cheap to clone. If host functions call the guest again, keep a clone where they find it. Every method wants the store
/// that the lane was linked in, or a `Caller` of it; for another store it panics, as wasmtime's own objects do. No method
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

    /// Calls the guest by `call`. If that fails, it closes the frames that the guest opened, for the reason that [`reason_of`]
    /// finds in the error. The next call then starts at the depth where this one did.
    ///
    /// Without `Lane::call` nothing is lost either. But the frames of a failed call stay open until an outer frame leaves or
    /// the recording ends, and later calls hang below them.
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

    /// [`call`](Lane::call) for asynchronous calls. When the future is dropped halfway, the frames are closed for
    /// [`Reason::Host`] at that time. While it is pending, the guest doesn't run: that time is told as a call of `[suspended]`.
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

    /// From here on the events belong to another of the lane's stacks, a fiber's for instance. There are 768, from 0,
    /// which runs first; beyond that nothing happens.
    pub fn switch(&self, store: impl AsContextMut, stack: u32) {
        self.act(store, |pen| pen.switch(stack));
    }

    /// Sets the parent of the host's next calls into the running stack: a span of the host, say, or the request that it
    /// serves. Exports to OpenTelemetry use it. It holds until the next `set_parent`. `None` goes back to the parent of the
    /// recording, if that has one ([`Builder::parent`](crate::Builder::parent)). Calls that are open keep their parent.
    ///
    /// This ends the block of events, so it takes a microsecond or two.
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

    /// Hands what is recorded so far to the writer. Only needed for a block that isn't full: full ones go by themselves.
    pub fn flush(&self, store: impl AsContextMut) {
        self.act(store, |pen| pen.flush());
    }

    /// The host begins a call.
    pub(crate) fn before(&self, store: impl AsContextMut) -> Before {
        self.act(store, |pen| pen.before())
    }

    fn settle<R>(&self, store: impl AsContextMut, before: Before, result: &Result<R>) {
        // A guest that returned has left its frames, unless somebody unwound them and didn't say so.
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
            // Something ended its first event before it had begun a block.
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

/// Closes the frames of a call that ended without telling us: its future was dropped, or the host panicked.
pub(crate) fn close_abandoned(pen: &mut Pen<'_>) {
    if let Some((depth, ticks)) = pen.lane.take_abandoned() {
        pen.close_at(ticks, Reason::Host, depth);
    }
}

/// Awaits a call, and says `true` when it begins to wait and `false` before it goes on.
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
