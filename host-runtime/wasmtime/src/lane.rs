//! A store's lane: what the host can do to it between the guest's events.

use crate::core::LaneCore;
use crate::reason::reason_of;
use crate::record::Pen;
use crate::state::StateGlobals;
use kperf_abi::word::Reason;
use kperf_trace::TraceContext;
use std::sync::Arc;
use wasmtime::{AsContextMut, Global, Result, Val};

/// A recorder module in a store. [`Recorder::link`](crate::Recorder::link) makes one.
///
/// It is cheap to clone; keep a clone where host functions find it that call the guest again. Every method wants the store
/// that the lane was linked in, or a `Caller` of it, and panics for another one as wasmtime's own objects do. None of them
/// runs guest code: they work without fuel, after an epoch's end, and in asynchronous stores.
#[derive(Clone)]
pub struct Lane {
    pub(crate) core: Arc<LaneCore>,
    pub(crate) globals: StateGlobals,
    /// Where the next word goes, of a recorder inside a module; others keep that in their memory.
    pub(crate) position: Option<Global>,
}

impl Lane {
    /// The recorder's number in the trace. It is given to another lane when the store is gone.
    pub fn id(&self) -> u32 {
        self.core.number
    }

    /// Calls the guest by `call`, and if that fails closes the frames that it opened, for the reason that
    /// [`reason_of`] finds in the error. The next call starts at the depth where this one did.
    ///
    /// Without it nothing is lost either, but the frames stay open until an outer one leaves or the recording ends, and
    /// later calls hang below them.
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub fn call<S: AsContextMut, R>(
        &self,
        store: &mut S,
        call: impl FnOnce(&mut S) -> Result<R>,
    ) -> Result<R> {
        let depth = self.depth(&mut *store);
        let abandon = Abandon { core: &self.core, depth };
        let result = call(store);
        std::mem::forget(abandon);
        self.settle(store, depth, &result);
        result
    }

    /// [`call`](Lane::call) for asynchronous calls. When the future is dropped halfway, the frames are closed for
    /// [`Reason::Host`].
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub async fn call_async<S: AsContextMut, R>(
        &self,
        store: &mut S,
        call: impl AsyncFnOnce(&mut S) -> Result<R>,
    ) -> Result<R> {
        let depth = self.depth(&mut *store);
        let abandon = Abandon { core: &self.core, depth };
        let result = call(store).await;
        std::mem::forget(abandon);
        self.settle(store, depth, &result);
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

    /// Says whose children the host's next calls into the running stack are: of a span of the host's own, say, or of the
    /// request that it serves. It holds until it is said anew; `None` means the recording's own parent again, if it has
    /// one ([`Builder::parent`](crate::Builder::parent)). Calls that are open stay where they are. Exports to OpenTelemetry
    /// go by it.
    ///
    /// It ends the block of events, so it takes a microsecond or two.
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

    /// Hands what is recorded so far to the writer. Full blocks are handed over anyway.
    pub fn flush(&self, store: impl AsContextMut) {
        self.act(store, |pen| pen.flush());
    }

    fn settle<R>(&self, store: impl AsContextMut, depth: u32, result: &Result<R>) {
        // A guest that returned has left its frames, unless somebody unwound them and didn't say so.
        let reason = result.as_ref().err().map_or(Reason::Caught, reason_of);
        self.close(store, reason, depth);
    }

    /// Works on the lane with the state that the module keeps.
    fn act<R>(&self, mut store: impl AsContextMut, act: impl FnOnce(&mut Pen<'_>) -> R) -> R {
        let mut store = store.as_context_mut();
        let before = self.globals.get(&mut store);
        if let Some(position) = &self.position {
            match position.get(&mut store).i32().unwrap_or_default() as u32 {
                // Something ended its first event before it had begun a block.
                0 => self.core.memory.clear_below(0),
                position => self.core.memory.set_position(position),
            }
        }
        let mut state = before;
        let mut pen = Pen { lane: &self.core, state: &mut state };
        close_abandoned(&mut pen);
        let result = act(&mut pen);
        if let Some(position) = &self.position {
            // Fails for values of another type only, and this is the recorder's own global.
            let _ = position.set(&mut store, Val::I32(self.core.memory.position() as i32));
        }
        if state != before {
            self.globals.set(&mut store, state);
        }
        result
    }
}

/// Closes what a call left behind that ended without a word.
pub(crate) fn close_abandoned(pen: &mut Pen<'_>) {
    if let Some((depth, ticks)) = pen.lane.take_abandoned() {
        pen.close_at(ticks, Reason::Host, depth);
    }
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
