//! A lane's core, shared by all kinds of recorders: its memory, and the gate through which blocks leave it.

mod abandoned;
mod taking;
mod waits;

use super::fiber;
use super::hold;
use super::memory::LaneMemory;
use super::state::RecorderState;
use crate::clock::cell::TickerCell;
use crate::clock::ticker::Ticker;
use crate::clock::unplaced::UnplacedTicks;
use crate::clock::waits::WaitReader;
use crate::outlet::Outlet;
use crate::outlet::memory_use::Grant;
use crate::outlet::notice::Notice;
use crate::outlet::queue::{Block, Full, Pause, Sent, Suspension};
use crate::outlet::stats::Progress;
use abandoned::Abandoned;
use kperf_abi::block::{BlockHeader, HEADER_LEN, START};
use kperf_abi::word::{LEAVE, Reason, TIME, TIME_LIMIT, Word};
use kperf_trace::{CallParent, TraceContext, Waits};
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use taking::Taken;

/// The events in a lane's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneEvents {
    /// All calls.
    AllCalls,
    /// The slow calls that samples saw.
    SlowCalls,
}

/// The room in the queue that words want which are taken from a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Half of it.
    Half,
    /// They go in all the same: once for each lane.
    Always,
}

/// One recorder: a store's recorder module, or the host functions of a store's data.
///
/// Blocks leave by [`hand_over`](LaneCore::hand_over), called by the recorder's own thread, or by
/// [`close`](LaneCore::close), called once by any thread. Both hold the gate while they read, and both leave the position
/// at the start of an empty block: so no event leaves twice, and no word is written while it is read. The words of a block that
/// isn't full leave by [`take_words`](LaneCore::take_words), called by the writer: they stay in the block, and the gate knows
/// up to where they have left.
pub(crate) struct LaneCore {
    pub(crate) outlet: Arc<Outlet>,
    /// The recorder's number in the trace.
    pub(crate) number: u32,
    pub(crate) memory: LaneMemory,
    /// The time as the recorder sees it, unless it reads the recording's clock.
    pub(crate) ticker: Option<Arc<TickerCell>>,
    /// Whether its blocks have slow calls that samples saw, rather than all calls.
    spans: bool,
    gate: Mutex<Gate>,
    /// What a child made by `fork` sees instead: a closed lane.
    of_child: OnceLock<Mutex<Gate>>,
    /// The end of the previous lane with this number, in ticks: this lane's times are no earlier.
    begins: AtomicU64,
    /// Whether the store was ever called asynchronously.
    is_async: AtomicBool,
    /// When the host's call began to wait; 0 if it doesn't.
    suspended_at: AtomicU64,
    abandoned: Abandoned,
    /// How far the waits of its guest's thread were read: `WaitKey`.
    waits_of: AtomicUsize,
    waits_read: AtomicU64,
    /// The memory of the gate's lists.
    lists: Grant,
}

#[derive(Default)]
struct Gate {
    /// Whether the lane is closed. Later words of the recorder are not kept.
    closed: bool,
    /// The recorder's state after the block that it handed over last. Valid until the recorder begins another block.
    last: RecorderState,
    /// The words of the block that have left.
    taken: Option<Taken>,
    /// Whether a block has reached the queue.
    sent: bool,
    /// How many events had no room in the queue since the last block that had.
    lost: u64,
    /// For the next block: the parents of the host's next calls, at most one for each stack; when calls waited.
    parents: Vec<CallParent>,
    suspensions: Vec<Suspension>,
    /// When its thread worked for the recorder, or had no processor.
    pauses: Vec<Pause>,
    /// Reads when its thread had no processor.
    waits: Option<WaitReader>,
    unplaced: UnplacedTicks,
}

/// How many suspensions, or pauses, are kept for one block. The time of the others counts as the guest's.
const MOST_SUSPENSIONS: usize = 1 << 14;
/// How many of them get memory at a time.
const LIST_STEP: usize = 64;
/// A shorter pause is not recorded.
const SHORT_PAUSE: Duration = Duration::from_micros(2);

impl LaneCore {
    /// A new lane. The caller makes it known to the recording.
    pub(crate) fn new(
        outlet: Arc<Outlet>,
        number: u32,
        memory: LaneMemory,
        events: LaneEvents,
        closed: bool,
    ) -> LaneCore {
        let ticker = outlet.ticker.as_ref().map(|ticker| ticker.cell().clone());
        LaneCore {
            lists: outlet.memory.nothing(),
            outlet,
            number,
            memory,
            ticker,
            spans: events == LaneEvents::SlowCalls,
            gate: Mutex::new(Gate { closed, ..Gate::default() }),
            of_child: OnceLock::new(),
            begins: AtomicU64::new(0),
            is_async: AtomicBool::new(false),
            suspended_at: AtomicU64::new(0),
            abandoned: Abandoned::default(),
            waits_of: AtomicUsize::new(0),
            waits_read: AtomicU64::new(0),
        }
    }

    /// Reuses a closed lane with a memory of its own as a new lane.
    pub(crate) fn renew(&mut self, number: u32, closed: bool) {
        self.number = number;
        self.lists.give_back();
        self.memory.renew();
        self.gate = Mutex::new(Gate { closed, ..Gate::default() });
        *self.is_async.get_mut() = false;
        *self.suspended_at.get_mut() = 0;
        self.abandoned = Abandoned::default();
        *self.waits_of.get_mut() = 0;
    }

    /// Its times are no earlier than this, in ticks.
    pub(crate) fn begin_at(&self, begins: u64) {
        self.begins.store(begins, Ordering::Relaxed);
    }

    fn gate(&self) -> MutexGuard<'_, Gate> {
        let gate = match self.outlet.process.is_parent() {
            false => &self.gate,
            true => self.of_child.get_or_init(|| Mutex::new(Gate { closed: true, ..Gate::default() })),
        };
        gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the lane's store is called asynchronously.
    pub(crate) fn set_async(&self) {
        self.is_async.store(true, Ordering::Relaxed);
    }

    /// Called on the guest's stack. If that is not the thread's, the store is called asynchronously, though nothing said so.
    pub(crate) fn notice_async(&self) {
        if fiber::is_current() {
            self.set_async();
        }
    }

    /// Whether it waits for room in the queue.
    pub(crate) fn waits(&self) -> bool {
        self.notice_async();
        self.outlet.when_full.waits(self.is_async.load(Ordering::Relaxed))
    }

    /// The host's asynchronous call begins to wait.
    pub(crate) fn suspend(&self) {
        if self.has_waits() {
            self.read_waits(&mut self.gate(), u64::MAX);
        }
        self.suspended_at.store(self.outlet.clock.now(), Ordering::Relaxed);
    }

    /// The wait ends: the call goes on, or its future is dropped.
    pub(crate) fn resume(&self) {
        let start = self.suspended_at.swap(0, Ordering::Relaxed);
        if start != 0 {
            let end = self.outlet.clock.now();
            let mut gate = self.gate();
            if gate.closed {
                return;
            }
            if self.may_note(gate.suspensions.len()) {
                gate.suspensions.push(Suspension { start, end });
            }
            if self.has_waits() {
                // Meanwhile the thread did other things.
                gate.waits = None;
                self.follow_this_thread(&mut gate);
            }
            // The guest's next event must not get an earlier time. While the gate is held, the memory is there.
            self.check_clock_closely();
        }
    }

    /// Makes events ask for the time if the ticker's time is too old. Called whenever a guest reaches the host anyway.
    pub(crate) fn check_clock(&self) {
        self.check_by(Ticker::check);
    }

    /// The same where a call of the host's begins.
    pub(crate) fn check_clock_closely(&self) {
        self.check_by(Ticker::check_closely);
    }

    fn check_by(&self, check: fn(&Ticker, &TickerCell)) {
        let ticker = self.outlet.ticker.as_ref().filter(|_| !self.outlet.process.is_parent());
        let Some(ticker) = ticker else { return };
        check(ticker, ticker.cell());
        if let Some(cell) = self.memory.clock() {
            check(ticker, &cell);
        }
    }

    /// Delays the last word by `ticks` if it is a leave, because its tick may be old. Returns whether it was
    /// a leave.
    pub(crate) fn delay_last_leave(&self, ticks: u64) -> bool {
        // The gate keeps readers out, because the leave is in the block twice for a moment.
        let gate = self.gate();
        let position = self.memory.position();
        let last = position.saturating_sub(4);
        let has_room = (START + HEADER_LEN..=self.memory.last_start() as usize).contains(&(last as usize));
        if !has_room
            || gate.has_left(last)
            || self.memory.load(last) != LEAVE
            || !(1..TIME_LIMIT).contains(&ticks)
        {
            return false;
        }
        self.memory.put(position, LEAVE);
        self.memory.put(last, TIME | ticks as u32);
        self.memory.set_position(position + 4);
        true
    }

    /// Sends the block, up to a position, to the writer. `state` is the recorder's state there. The recorder begins another
    /// block when this returns.
    pub(crate) fn hand_over(&self, position: u32, state: RecorderState) {
        let begun = self.outlet.clock.stopwatch();
        self.check_clock();
        let mut gate = self.gate();
        let mut is_full = false;
        if !gate.closed {
            let mut bytes = self.outlet.queue.spare().take((position as usize).saturating_sub(START));
            match &gate.taken {
                Some(taken) => taken.copy_rest_below(&self.memory, position, &mut bytes),
                None => self.memory.copy_below(position, &mut bytes),
            }
            if bytes.len() >= HEADER_LEN {
                gate.last = state;
            }
            if bytes.len() > HEADER_LEN {
                if self.has_waits() {
                    let is_of_this = |waits: &WaitReader| waits.is_of_this_thread(&self.outlet.clock);
                    if gate.waits.as_ref().is_some_and(is_of_this) {
                        self.read_waits(&mut gate, u64::MAX);
                    } else {
                        // The host has moved the store without notice.
                        self.outlet.waits.add(Waits::Unknown);
                        self.follow_this_thread(&mut gate);
                    }
                }
                is_full = self.send(&mut gate, bytes, self.full());
            }
        }
        gate.taken = None;
        // Before the gate opens, so that the next reader doesn't hand over the same words.
        self.memory.mark_unbegun();
        self.memory.clear_below(position);
        if let Some((start, end)) = begun.zip(self.outlet.clock.stopwatch()) {
            let paused = end.saturating_sub(start);
            Progress::add(&self.outlet.progress.flush_ticks, paused);
            let is_short = self.spans || paused < self.outlet.clock.ticks(SHORT_PAUSE);
            if !is_short && !gate.closed && self.may_note(gate.pauses.len()) {
                gate.pauses.push(Pause { start, end, wait: None });
            }
        }
        drop(gate);
        if is_full {
            self.outlet.notices.report(&Notice::QueueFull);
        }
    }

    /// Adds events that the recorder itself has lost.
    pub(crate) fn lose(&self, events: u64) {
        let mut gate = self.gate();
        gate.lost = gate.lost.saturating_add(events);
    }

    /// Whether frames are open, for a host whose guest doesn't run meanwhile and keeps its state to itself.
    pub(crate) fn is_inside(&self) -> bool {
        let gate = self.gate();
        if gate.closed || self.memory.is_unbegun() {
            return !gate.closed && gate.last.depth > 0;
        }
        let mut bytes = Vec::new();
        self.memory.copy_words(self.memory.end(), &mut bytes);
        RecorderState::after(&bytes, |stack| self.memory.saved_depth(stack))
            .is_some_and(|state| state.depth > 0)
    }

    /// Whether a list of the gate's with so many elements gets another one.
    fn may_note(&self, count: usize) -> bool {
        let needs_more = count > 0 && count.is_multiple_of(LIST_STEP);
        count < MOST_SUSPENSIONS && (!needs_more || self.lists.grow(LIST_STEP * 2 * size_of::<Pause>()))
    }

    /// What a block without room in the queue does.
    fn full(&self) -> Full {
        if self.waits() { Full::Wait } else { Full::Drop }
    }

    /// Sends a block with what goes with it. Answers whether it is the first that has no room.
    fn send(&self, gate: &mut Gate, mut bytes: Vec<u8>, full: Full) -> bool {
        hold::until(&mut bytes, self.begins.load(Ordering::Relaxed));
        let block = Block {
            lane: self.number,
            bytes,
            spans: self.spans,
            is_first: !gate.sent,
            lost: mem::take(&mut gate.lost),
            parents: mem::take(&mut gate.parents),
            suspensions: mem::take(&mut gate.suspensions),
            pauses: mem::take(&mut gate.pauses),
            unplaced: mem::take(&mut gate.unplaced),
        };
        self.outlet.check_sink();
        let report = |time, is_first| self.outlet.note_wait(time, is_first);
        match self.outlet.queue.send_block(&self.outlet.clock, block, full, &report) {
            Sent::Yes => {
                gate.sent = true;
                self.lists.give_back();
            }
            Sent::Dropped { block, events, first } => {
                gate.lost = block.lost + events;
                gate.parents = block.parents;
                gate.pauses = block.pauses;
                self.outlet.queue.spare().put(block.bytes);
                return first;
            }
        }
        false
    }

    /// Closes the open frames for a reason, at the time `now`, and sends what is left. Nothing that the recorder writes after
    /// that is kept.
    pub(crate) fn close(&self, reason: Reason, now: impl FnOnce() -> u64) {
        self.close_in(None, reason, now);
    }

    /// The same for the recorder's own thread, which knows its state.
    pub(crate) fn end(&self, state: RecorderState, reason: Reason, now: impl FnOnce() -> u64) {
        self.close_in(Some(state), reason, now);
    }

    fn close_in(&self, known: Option<RecorderState>, reason: Reason, now: impl FnOnce() -> u64) {
        self.resume();
        let mut gate = self.gate();
        if mem::replace(&mut gate.closed, true) {
            return;
        }
        self.read_waits(&mut gate, u64::MAX);
        gate.lost = gate.lost.saturating_add(self.memory.lost());
        let mut bytes = Vec::new();
        let state = if self.memory.is_unbegun() {
            let RecorderState { stack, depth, last, .. } = gate.last;
            bytes.extend_from_slice(&BlockHeader { stack, depth, start_ticks: last }.to_bytes());
            Some(gate.last)
        } else {
            let end = self.memory.end();
            bytes = self.outlet.queue.spare().take((end as usize).saturating_sub(START));
            match (&gate.taken, known) {
                (Some(taken), _) => taken.copy_rest(&self.memory, end, &mut bytes),
                (None, Some(_)) => self.memory.copy_below(end, &mut bytes),
                (None, None) => self.memory.copy_words(end, &mut bytes),
            }
            known.or_else(|| RecorderState::after(&bytes, |stack| self.memory.saved_depth(stack)))
        };
        let mut is_full = false;
        if let Some(state) = state {
            self.append_unwinds(&mut bytes, state, reason, now);
            if bytes.len() > HEADER_LEN {
                is_full = self.send(&mut gate, bytes, self.full());
            }
        }
        self.outlet.queue.lose(self.number, mem::take(&mut gate.lost));
        self.memory.clear_below(0);
        drop(gate);
        if is_full {
            self.outlet.notices.report(&Notice::QueueFull);
        }
    }

    /// Sets the parent of the host's next calls on one stack. The block must have been handed over.
    pub(crate) fn set_parent(&self, stack: u32, context: Option<TraceContext>) {
        let mut gate = self.gate();
        if !gate.closed {
            let stack = Some(stack);
            gate.parents.retain(|parent| parent.stack != stack);
            gate.parents.push(CallParent { recorder: self.number, stack, context });
        }
    }

    fn append_unwinds(
        &self,
        block: &mut Vec<u8>,
        mut state: RecorderState,
        reason: Reason,
        now: impl FnOnce() -> u64,
    ) {
        if let Some((depth, ticks)) = self.take_abandoned().filter(|(depth, _)| *depth < state.depth) {
            append_time(block, &mut state, ticks);
            block.extend(Word::Unwind { depth, reason: Reason::Host }.encode().to_le_bytes());
            state.depth = depth;
        }
        let others = self.memory.saved_depths().map(|(stack, _)| stack);
        let running = state.stack;
        let mut others = others.filter(|&stack| stack != running).peekable();
        if state.depth == 0 && others.peek().is_none() {
            return;
        }
        append_time(block, &mut state, now());
        let mut put = |word: Word| block.extend(word.encode().to_le_bytes());
        if state.depth > 0 {
            put(Word::Unwind { depth: 0, reason });
        }
        for stack in others {
            put(Word::Switch(stack));
            put(Word::Unwind { depth: 0, reason });
        }
    }
}

/// The time is `ticks` from here on.
fn append_time(block: &mut Vec<u8>, state: &mut RecorderState, ticks: u64) {
    let elapsed = ticks.saturating_sub(state.last);
    if elapsed < TIME_LIMIT {
        block.extend(Word::Time(elapsed as u32).encode().to_le_bytes());
    } else {
        block.extend(Word::WideTime.encode().to_le_bytes());
        block.extend(elapsed.to_le_bytes());
    }
    state.last += elapsed;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::record::Pen;
    use crate::{ClockChoice, Recorder};
    use kperf_trace::{Event, Item, TraceReader};

    #[test]
    fn a_recorder_that_is_caught_between_two_blocks_loses_nothing_and_says_nothing_twice() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let sink = file.reopen().expect("the file again");
        let engine = wasmtime::Engine::default();
        let recorder =
            Recorder::builder().clock(ClockChoice::Test).sink(sink).build(&engine).expect("a recorder");
        let lane = recorder.recording.open_own_lane(LaneEvents::AllCalls, 0).expect("room");
        let mut state = RecorderState::default();
        let mut pen = Pen { lane: &lane, state: &mut state };
        pen.init();
        for id in 0..3 {
            pen.enter(id);
        }
        pen.leave(3);
        // What the recorder calls when the block is full; it has no time to begin another one.
        lane.hand_over(lane.memory.position(), *pen.state);
        assert!(lane.memory.is_unbegun());
        recorder.interrupt("interrupted by SIGINT").expect("a trace");

        let bytes = std::fs::read(file.path()).expect("the trace");
        let mut reader = TraceReader::new(&bytes[..]).expect("a trace");
        let mut events = Vec::new();
        while let Some(item) = reader.next().expect("a whole trace") {
            if let Item::Events(batch) = item {
                events.extend(batch.events.iter().map(|timed| (timed.ticks, timed.event)));
            }
        }
        assert_eq!(reader.anomalies(), []);
        assert_eq!(events.len(), 5);
        assert_eq!(events[4], (6000, Event::Unwind { depth: 0, reason: Reason::Interrupted }));
    }
}
