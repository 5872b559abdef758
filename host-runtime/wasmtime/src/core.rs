//! A lane, apart from who writes it: its memory, and the gate through which blocks leave it.

use crate::memory::{LaneMemory, TickerCell};
use crate::queue::Message;
use crate::recording::Recording;
use crate::state::State;
use kperf_abi::block::{BlockHeader, HEADER_LEN, STACKS};
use kperf_abi::word::{Reason, TIME_LIMIT, Word};
use kperf_trace::{CallParent, TraceContext};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// One recorder: a store's recorder module, or the host functions of a store's data.
///
/// Blocks leave by [`hand_over`](LaneCore::hand_over), called by the recorder's own thread, or by
/// [`close`](LaneCore::close), called once by any thread. Both hold the gate while they read, and both leave the position
/// at the front of an empty block: so no event leaves twice, and nobody writes what is being read.
pub(crate) struct LaneCore {
    pub(crate) recording: Arc<Recording>,
    /// The recorder's number in the trace.
    pub(crate) number: u32,
    pub(crate) memory: LaneMemory,
    /// The time as the recorder sees it, unless it reads the recording's clock.
    pub(crate) ticker: Option<Arc<TickerCell>>,
    /// Whether its blocks tell slow calls that samples saw, rather than all.
    spans: bool,
    gate: Mutex<Gate>,
    /// Whether the host ever said whose children calls are.
    has_parent: AtomicBool,
    abandoned: Abandoned,
}

#[derive(Default)]
struct Gate {
    /// Whether the lane is closed: what is recorded from there on is not kept.
    closed: bool,
    /// The recorder's state behind the block that was handed over last: where it stands until it has begun another one.
    last: State,
}

/// A call that ended without a word (its future was dropped, the host panicked): its frames are closed when the lane is
/// next used.
#[derive(Default)]
struct Abandoned {
    /// One more than the depth to which frames are to be closed; 0 if there are none.
    depth_and_one: AtomicU64,
    ticks: AtomicU64,
}

impl LaneCore {
    /// A lane that still has to be known to the recording.
    pub(crate) fn new(
        recording: Arc<Recording>,
        number: u32,
        memory: LaneMemory,
        spans: bool,
        closed: bool,
    ) -> LaneCore {
        let ticker = recording.ticker.as_ref().map(|ticker| ticker.cell().clone());
        LaneCore {
            recording,
            number,
            memory,
            ticker,
            spans,
            gate: Mutex::new(Gate { closed, ..Gate::default() }),
            has_parent: AtomicBool::new(false),
            abandoned: Abandoned::default(),
        }
    }

    /// Sends the block, up to a position, to the writer; `state` is the recorder's behind that. The recorder begins another
    /// block when this returns.
    pub(crate) fn hand_over(&self, position: u32, state: State) {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        if !gate.closed {
            let queue = &self.recording.queue;
            let mut block = queue.buffer();
            self.memory.copy_below(position, &mut block);
            if !block.is_empty() {
                gate.last = state;
                queue.send_block(&self.recording.clock, self.number, block, self.spans);
            }
        }
        // Before the gate opens: whoever comes now finds nothing that was handed over already.
        self.memory.mark_unbegun();
        self.memory.clear_below(position);
    }

    /// Sends what is left, with the frames that are open closed for a reason at a time. Nothing is kept of what the
    /// recorder writes after that.
    pub(crate) fn close(&self, reason: Reason, now: impl FnOnce() -> u64) {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut gate.closed, true) {
            return;
        }
        let mut block = self.recording.queue.buffer();
        let state = if self.memory.is_unbegun() {
            let State { stack, depth, last } = gate.last;
            block.extend_from_slice(&BlockHeader { stack, depth, start_ticks: last }.to_bytes());
            Some(gate.last)
        } else {
            self.memory.copy_block(&mut block);
            State::behind(&block, |stack| self.memory.saved_depth(stack))
        };
        if let Some(state) = state {
            self.append_unwinds(&mut block, state, reason, now);
            if block.len() > HEADER_LEN {
                self.recording.queue.send_block(&self.recording.clock, self.number, block, self.spans);
            }
        }
        if self.has_parent.load(Ordering::Relaxed) {
            // The lane's number will be another's.
            self.send_parent(None, None);
        }
        self.memory.clear_below(0);
    }

    /// Says whose children the host's next calls are, on one stack or on all. The block must have been handed over.
    pub(crate) fn set_parent(&self, stack: u32, context: Option<TraceContext>) {
        let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        if !gate.closed {
            self.has_parent.store(true, Ordering::Relaxed);
            self.send_parent(Some(stack), context);
        }
    }

    fn send_parent(&self, stack: Option<u32>, context: Option<TraceContext>) {
        self.recording.queue.send(Message::Parent(CallParent { recorder: self.number, stack, context }));
    }

    fn append_unwinds(&self, block: &mut Vec<u8>, state: State, reason: Reason, now: impl FnOnce() -> u64) {
        let others = (0..STACKS).filter(|&stack| stack != state.stack && self.memory.saved_depth(stack) > 0);
        let mut others = others.peekable();
        if state.depth == 0 && others.peek().is_none() {
            return;
        }
        let mut put = |word: Word| block.extend(word.encode().to_le_bytes());
        let elapsed = now().saturating_sub(state.last);
        if elapsed < TIME_LIMIT {
            put(Word::Time(elapsed as u32));
        } else {
            put(Word::WideTime);
            block.extend(elapsed.to_le_bytes());
        }
        let mut put = |word: Word| block.extend(word.encode().to_le_bytes());
        if state.depth > 0 {
            put(Word::Unwind { depth: 0, reason });
        }
        for stack in others {
            put(Word::Switch(stack));
            put(Word::Unwind { depth: 0, reason });
        }
    }

    /// Notes that frames deeper than `depth` are gone, for [`take_abandoned`](LaneCore::take_abandoned).
    pub(crate) fn abandon(&self, depth: u32) {
        let one_more = u64::from(depth) + 1;
        // Of calls within each other the outermost counts, whose depth is the least.
        let noted = self.abandoned.depth_and_one.load(Ordering::Relaxed);
        if noted == 0 || one_more < noted {
            self.abandoned.ticks.store(self.recording.clock.now(), Ordering::Relaxed);
            self.abandoned.depth_and_one.store(one_more, Ordering::Release);
        }
    }

    /// The depth to which frames are to be closed, and the time at which they ended.
    pub(crate) fn take_abandoned(&self) -> Option<(u32, u64)> {
        if self.abandoned.depth_and_one.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let one_more = self.abandoned.depth_and_one.swap(0, Ordering::Acquire);
        Some((one_more.checked_sub(1)? as u32, self.abandoned.ticks.load(Ordering::Relaxed)))
    }
}

/// Held by whatever lives exactly as long as the guest's stack: the store, or its data.
pub(crate) struct LaneGuard(pub(crate) Arc<LaneCore>);

impl Drop for LaneGuard {
    fn drop(&mut self) {
        self.0.close(Reason::Unfinished, || self.0.recording.clock.now());
        self.0.recording.retire(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Pen;
    use crate::{ClockChoice, Recorder};
    use kperf_trace::{Event, Item, TraceReader};

    #[test]
    fn a_recorder_that_is_caught_between_two_blocks_loses_nothing_and_says_nothing_twice() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let sink = file.reopen().expect("the file again");
        let engine = wasmtime::Engine::default();
        let recorder =
            Recorder::builder().clock(ClockChoice::Test).sink(sink).build(&engine).expect("a recorder");
        let lane = recorder.recording.open_lane(LaneMemory::own(), false);
        let mut state = State::default();
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
