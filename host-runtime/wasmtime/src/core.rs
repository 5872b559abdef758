//! A lane, apart from who writes it: its memory, and the gate through which blocks leave it.

use crate::memory::{LaneMemory, TickerCell};
use crate::recording::Recording;
use crate::tail::Tail;
use kperf_abi::block::STACKS;
use kperf_abi::word::{Reason, TIME_LIMIT, Word};
use std::sync::atomic::{AtomicU64, Ordering};
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
    /// Whether the lane is closed: what is recorded from there on is not kept.
    gate: Mutex<bool>,
    abandoned: Abandoned,
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
    pub(crate) fn new(recording: Arc<Recording>, number: u32, memory: LaneMemory, closed: bool) -> LaneCore {
        let ticker = recording.ticker.as_ref().map(|ticker| ticker.cell().clone());
        LaneCore {
            recording,
            number,
            memory,
            ticker,
            gate: Mutex::new(closed),
            abandoned: Abandoned::default(),
        }
    }

    /// Sends the block to the writer. The recorder begins another one when this returns.
    pub(crate) fn hand_over(&self) {
        let closed = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        if !*closed {
            let queue = &self.recording.queue;
            let mut block = queue.buffer();
            self.memory.copy_block(&mut block);
            queue.send_block(&self.recording.clock, self.number, block);
        }
        // Before the gate opens: a recorder that was interrupted behind this call has handed over everything.
        self.memory.reset_position();
    }

    /// Sends what is left, with the frames that are open closed for a reason at a time. Nothing is kept of what the
    /// recorder writes after that.
    pub(crate) fn close(&self, reason: Reason, now: impl FnOnce() -> u64) {
        let mut closed = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *closed, true) {
            return;
        }
        let mut block = self.recording.queue.buffer();
        self.memory.copy_block(&mut block);
        if let Some(tail) = Tail::read(&block, |stack| self.memory.saved_depth(stack)) {
            self.append_unwinds(&mut block, &tail, reason, now);
            if block.len() > kperf_abi::block::HEADER_LEN {
                self.recording.queue.send_block(&self.recording.clock, self.number, block);
            }
        }
        self.memory.reset_position();
    }

    fn append_unwinds(&self, block: &mut Vec<u8>, tail: &Tail, reason: Reason, now: impl FnOnce() -> u64) {
        let others = (0..STACKS).filter(|&stack| stack != tail.stack && self.memory.saved_depth(stack) > 0);
        let mut others = others.peekable();
        if tail.depth == 0 && others.peek().is_none() {
            return;
        }
        let mut put = |word: Word| block.extend(word.encode().to_le_bytes());
        let elapsed = now().saturating_sub(tail.last);
        if elapsed < TIME_LIMIT {
            put(Word::Time(elapsed as u32));
        } else {
            put(Word::WideTime);
            block.extend(elapsed.to_le_bytes());
        }
        let mut put = |word: Word| block.extend(word.encode().to_le_bytes());
        if tail.depth > 0 {
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
