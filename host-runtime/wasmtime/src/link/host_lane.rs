//! Lanes written by host functions, for embedders that can't put a recorder module into every store.

use crate::lanes::core::LaneCore;
use crate::lanes::lane::{Abandon, close_abandoned, watched};
use crate::lanes::reason::reason_of;
use crate::lanes::record::{Before, Pen};
use crate::lanes::state::RecorderState;
use crate::recording::Recording;
use crate::recording::answered::Answered;
use kperf_abi::word::Reason;
use kperf_trace::TraceContext;
use std::sync::Arc;
use wasmtime::{AsContextMut, Result};

/// A lane in a store's data. [`Recorder::host_lane`](crate::Recorder::host_lane) makes one for each store, and
/// the functions of [`Recorder::add_to_linker`](crate::Recorder::add_to_linker) write to it.
///
/// It takes its memory at the first event, 16 KiB and more while its block fills, up to 128 KiB; a lane that records nothing costs some
/// nanoseconds. When it is dropped, with its store, it hands its block over and closes the open frames.
pub struct HostLane {
    recording: Arc<Recording>,
    /// The open lane, while it records.
    open: Option<Arc<LaneCore>>,
    /// The open lane, while it doesn't.
    resting: Option<Arc<LaneCore>>,
    state: RecorderState,
    /// The embedder's choice.
    choice: Option<bool>,
    /// Whether the calls' parent is sampled, if they have one.
    sampled: Option<bool>,
    /// The parent of the next calls, until there is a lane to keep it.
    parent: Option<TraceContext>,
    /// Whether there was no memory for it.
    is_refused: bool,
}

/// The token of a frame that isn't recorded. No frame is so deep, so it never closes one.
const NO_FRAME: u32 = u32::MAX;

impl HostLane {
    pub(crate) fn new(recording: &Arc<Recording>) -> HostLane {
        HostLane {
            recording: recording.clone(),
            open: None,
            resting: None,
            state: RecorderState::default(),
            choice: None,
            sampled: None,
            parent: None,
            is_refused: false,
        }
    }

    /// Whether the next call of the host's is recorded.
    pub fn is_recording(&self) -> bool {
        self.choice.or(self.sampled).unwrap_or(true)
    }

    /// Sets whether to record, from the host's next call on. `None`, the initial value, follows the parent
    /// ([`set_parent`](HostLane::set_parent)): calls of a parent that isn't sampled are not recorded, all others are. An open call
    /// is recorded to its end, or not at all.
    ///
    /// ```
    /// # use kperf_wasmtime::{HostLane, Recorder, TraceContext};
    /// # use wasmtime::{Engine, Store};
    /// fn lane(recorder: &Recorder, traceparent: &str, is_slow_route: bool) -> HostLane {
    ///     let mut lane = recorder.host_lane();
    ///     lane.set_parent(TraceContext::parse(traceparent, "").ok());
    ///     if is_slow_route {
    ///         lane.set_recording(Some(true));
    ///     }
    ///     lane
    /// }
    /// ```
    pub fn set_recording(&mut self, choice: Option<bool>) {
        self.choice = choice;
        self.choose();
    }

    /// Applies the choice, unless a call is open.
    fn choose(&mut self) {
        if self.is_recording() {
            if self.open.is_none() {
                self.open = self.resting.take();
            }
        } else if self.open.is_some() && self.depth() == 0 {
            self.resting = self.open.take();
        }
    }

    /// The lane, if it records. The first time it takes one.
    fn recorded(&mut self) -> Option<Pen<'_>> {
        self.choose();
        if self.open.is_none() && self.is_recording() && !self.is_refused {
            self.begin();
        }
        Some(Pen { lane: self.open.as_ref()?, state: &mut self.state })
    }

    fn begin(&mut self) {
        self.recording.note(Answered::ByHost);
        let Some(core) = self.recording.open_host_lane() else {
            self.is_refused = true;
            return;
        };
        core.notice_async();
        let mut pen = Pen { lane: &core, state: &mut self.state };
        pen.init();
        if let Some(parent) = self.parent.take() {
            pen.set_parent(Some(parent));
        }
        self.open = Some(core);
    }

    fn settled(&mut self) -> Option<Pen<'_>> {
        let mut pen = self.pen()?;
        pen.lane.check_clock();
        close_abandoned(&mut pen);
        Some(pen)
    }

    #[inline]
    fn pen(&mut self) -> Option<Pen<'_>> {
        Some(Pen { lane: self.open.as_ref()?, state: &mut self.state })
    }

    /// Lets a pen work on the lane, if it records.
    #[inline]
    pub(crate) fn with_pen(&mut self, act: impl FnOnce(&mut Pen<'_>)) {
        if let Some(mut pen) = self.pen() {
            act(&mut pen);
        }
    }

    #[inline]
    pub(crate) fn enter(&mut self, func_id: u32) -> u32 {
        match self.pen() {
            Some(mut pen) => pen.enter(func_id),
            None => self.enter_first(func_id),
        }
    }

    #[cold]
    fn enter_first(&mut self, func_id: u32) -> u32 {
        // A call that began while it rested is not recorded.
        if let Some(mut pen) = self.recorded() {
            return pen.enter(func_id);
        }
        if self.is_refused && self.is_recording() {
            // And its leave.
            self.recording.outlet.refused.count(2);
        }
        NO_FRAME
    }

    /// Calls the guest through `call`. If that fails, closes the frames that the guest opened, with the reason that [`reason_of`]
    /// finds in the error. `lane` finds the lane in the store's data.
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub fn call<S: AsContextMut, R>(
        store: &mut S,
        lane: impl Fn(&mut S::Data) -> &mut HostLane,
        call: impl FnOnce(&mut S) -> Result<R>,
    ) -> Result<R> {
        call_in(&InData(lane), store, call)
    }

    /// [`call`](HostLane::call) for asynchronous calls. If the future is dropped before it is ready, the frames are closed with
    /// [`Reason::Host`] at that time. The time in which it is pending becomes a call of `[suspended]`.
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub async fn call_async<S: AsContextMut, R>(
        store: &mut S,
        lane: impl Fn(&mut S::Data) -> &mut HostLane,
        call: impl AsyncFnOnce(&mut S) -> Result<R>,
    ) -> Result<R> {
        call_async_in(&InData(lane), store, call).await
    }

    /// The recorder's number in the trace; `None` before the first event. Another lane may get the number after this one is
    /// dropped.
    pub fn id(&self) -> Option<u32> {
        self.open.as_ref().or(self.resting.as_ref()).map(|core| core.number)
    }

    /// How many recorded frames are open on the stack that runs.
    pub fn depth(&mut self) -> u32 {
        self.settled().map_or(0, |pen| pen.state.depth)
    }

    /// Closes the frames deeper than `depth`.
    pub fn close(&mut self, reason: Reason, depth: u32) {
        if let Some(mut pen) = self.settled() {
            pen.close(reason, depth);
        }
    }

    /// Notes a point in time, with a number of up to 26 bits.
    pub fn mark(&mut self, value: u32) {
        if let Some(mut pen) = self.settled_or_first() {
            pen.mark(value);
        }
    }

    /// Switches to another of the lane's 768 stacks: later events belong to it.
    pub fn switch(&mut self, stack: u32) {
        if let Some(mut pen) = self.settled_or_first() {
            pen.switch(stack);
        }
    }

    fn settled_or_first(&mut self) -> Option<Pen<'_>> {
        self.recorded()?;
        self.settled()
    }

    /// Sets the parent of the host's next calls into the running stack: see
    /// [`Lane::set_parent`](crate::Lane::set_parent). Calls of a parent that isn't sampled are not recorded, unless
    /// [`set_recording`](HostLane::set_recording) says so.
    pub fn set_parent(&mut self, context: Option<TraceContext>) {
        self.sampled = context.as_ref().map(|context| context.flags & TraceContext::SAMPLED != 0);
        match self.settled() {
            Some(mut pen) => pen.set_parent(context),
            None => match &self.resting {
                Some(core) => core.set_parent(self.state.stack, context),
                None => self.parent = context,
            },
        }
        self.choose();
    }

    /// Hands the current block to the writer before it is full. Full blocks are handed over automatically.
    pub fn flush(&mut self) {
        if let Some(mut pen) = self.settled() {
            pen.flush();
        }
    }

    fn settle<R>(&mut self, before: Before, result: &Result<R>) {
        // A guest that returned has left its frames, unless other code unwound them without notice.
        let reason = result.as_ref().err().map_or(Reason::Caught, reason_of);
        if let Some(mut pen) = self.settled() {
            pen.settle(reason, before);
        }
    }
}

impl Drop for HostLane {
    fn drop(&mut self) {
        if let Some(core) = self.open.take().or_else(|| self.resting.take()) {
            core.end(self.state, Reason::Unfinished, || self.recording.outlet.clock.now());
            self.recording.retire_host_lane(core);
        }
    }
}

/// [`HostLane::call`], wherever the lane is.
pub(crate) fn call_in<S: AsContextMut, R>(
    lanes: &impl FindLane<S::Data>,
    store: &mut S,
    call: impl FnOnce(&mut S) -> Result<R>,
) -> Result<R> {
    let Some((core, before)) = open(lanes, store, false) else { return call(store) };
    let abandon = Abandon { core: &core, depth: before.depth };
    let result = call(store);
    std::mem::forget(abandon);
    lanes.with(store, |lane| lane.settle(before, &result));
    result
}

/// [`HostLane::call_async`], wherever the lane is.
pub(crate) async fn call_async_in<S: AsContextMut, R>(
    lanes: &impl FindLane<S::Data>,
    store: &mut S,
    call: impl AsyncFnOnce(&mut S) -> Result<R>,
) -> Result<R> {
    let Some((core, before)) = open(lanes, store, true) else { return call(store).await };
    let abandon = Abandon { core: &core, depth: before.depth };
    let result = watched(call(store), |waits| if waits { core.suspend() } else { core.resume() }).await;
    std::mem::forget(abandon);
    lanes.with(store, |lane| lane.settle(before, &result));
    result
}

fn open<S: AsContextMut>(
    lanes: &impl FindLane<S::Data>,
    store: &mut S,
    is_async: bool,
) -> Option<(Arc<LaneCore>, Before)> {
    lanes.with(store, |lane| {
        // There may be memory now.
        lane.is_refused = false;
        let pen = lane.settled_or_first()?;
        if is_async {
            pen.lane.set_async();
        }
        let before = pen.before();
        Some((lane.open.clone()?, before))
    })
}

/// Finds the lane of a store.
pub(crate) trait FindLane<T> {
    /// Lets `act` work on the store's lane.
    fn with<R>(&self, store: impl AsContextMut<Data = T>, act: impl FnOnce(&mut HostLane) -> R) -> R;
}

/// Lanes in the stores' data, found by a function of the embedder.
#[derive(Clone, Copy)]
pub(crate) struct InData<F>(pub(crate) F);

impl<T: 'static, F: Fn(&mut T) -> &mut HostLane> FindLane<T> for InData<F> {
    #[inline]
    fn with<R>(&self, mut store: impl AsContextMut<Data = T>, act: impl FnOnce(&mut HostLane) -> R) -> R {
        act(self.0(store.as_context_mut().data_mut()))
    }
}
