//! Takes the words of a block that isn't full, from outside: the writer's thread does it, so that a block that fills slowly
//! reaches the sink within a bounded time.
//!
//! * The recorder runs meanwhile and knows nothing of it. Words below its position stay as they are, except for the last: an enter
//!   may become a leaf. So an enter at the end stays for the next time.
//! * What is left of the block has a header of its own, with the state after the words that were taken.

use super::{Gate, LaneCore, Room, hold};
use crate::lanes::memory::LaneMemory;
use crate::lanes::state::RecorderState;
#[cfg(feature = "component-model")]
use crate::outlet::notice::Notice;
use crate::outlet::queue::{Full, Message};
use kperf_abi::block::{BlockHeader, HEADER_LEN, START};
use kperf_abi::word::{self, Effect, Step};
use std::sync::TryLockError;
use std::sync::atomic::Ordering;

/// More bytes than words that can't be taken have.
const MAX_PEEK: usize = 64;

/// The words of a block that have left.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    /// The address after them.
    end: u32,
    /// The recorder's state after them.
    state: RecorderState,
}

impl Taken {
    /// Copies the rest's header and words, up to an address.
    pub(super) fn copy_rest(&self, memory: &LaneMemory, end: u32, block: &mut Vec<u8>) {
        block.extend(self.header());
        memory.copy_words_from(self.end, end, block);
    }

    /// The same for the recorder's own thread.
    pub(super) fn copy_rest_below(&self, memory: &LaneMemory, end: u32, block: &mut Vec<u8>) {
        block.extend(self.header());
        memory.copy_below_from(self.end, end, block);
    }

    fn header(&self) -> [u8; HEADER_LEN] {
        let RecorderState { stack, depth, last, .. } = self.state;
        BlockHeader { stack, depth, start_ticks: last }.to_bytes()
    }
}

impl Gate {
    /// Whether the word at an address has left the block.
    pub(super) fn has_left(&self, address: u32) -> bool {
        self.taken.is_some_and(|taken| address < taken.end)
    }
}

impl LaneCore {
    /// Sends the words that the block has so far, if the queue has this room. It never waits.
    pub(crate) fn take_words(&self, room: Room) {
        // Who holds the gate may wait for the writer, and hands the words over.
        let mut gate = match self.gate.try_lock() {
            Ok(gate) => gate,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        // The sampler hands slow calls over with its windows.
        let has_room = room == Room::Always || !self.outlet.queue.is_half_full();
        if !self.spans && has_room {
            self.take(&mut gate, Full::Pass);
            if room == Room::Always {
                self.peek(&gate);
            }
        }
    }

    /// Sends a copy of the few words that stay in the block, of which the last may change still: a dump shows where the guest is.
    fn peek(&self, gate: &Gate) {
        if gate.closed || self.memory.is_unbegun() {
            return;
        }
        let from = gate.taken.map_or((START + HEADER_LEN) as u32, |taken| taken.end);
        let end = self.memory.end_from(from);
        let mut block = Vec::new();
        match &gate.taken {
            Some(taken) => taken.copy_rest(&self.memory, end, &mut block),
            None => self.memory.copy_words(end, &mut block),
        }
        let is_short = (HEADER_LEN + 1..HEADER_LEN + MAX_PEEK).contains(&block.len());
        if is_short && !switches(&block[HEADER_LEN..]) {
            hold::until(&mut block, self.begins.load(Ordering::Relaxed));
            self.outlet.queue.send(Message::Peek { lane: self.number, block });
        }
    }

    /// Sends the words that the block has so far, while the guest doesn't run: the next event's parent may be another. Returns how many
    /// frames are open; `None` if the lane is closed.
    #[cfg(feature = "component-model")]
    pub(crate) fn split(&self) -> Option<u32> {
        let mut gate = self.gate();
        if gate.closed {
            return None;
        }
        let is_first = self.take(&mut gate, self.full());
        let depth = match gate.taken {
            Some(taken) => taken.state.depth,
            None if self.memory.is_unbegun() => gate.last.depth,
            None => self.memory.load((START + 4) as u32),
        };
        drop(gate);
        if is_first {
            self.outlet.notices.report(&Notice::QueueFull);
        }
        Some(depth)
    }

    /// Sends the words that the block has so far. Answers whether they are the first that have no room.
    fn take(&self, gate: &mut Gate, full: Full) -> bool {
        if gate.closed || self.memory.is_unbegun() {
            return false;
        }
        let from = gate.taken.map_or((START + HEADER_LEN) as u32, |taken| taken.end);
        if self.memory.end_from(from) <= from {
            return false;
        }
        // Before the words are read: a wait that is found now began before the last of them, or after it.
        let waits = gate.pauses.len();
        if self.has_waits() {
            self.read_waits(gate, u64::MAX);
        }
        let end = self.memory.end_from(from);
        let mut bytes = self.outlet.queue.spare().take(end.saturating_sub(from) as usize + HEADER_LEN);
        match &gate.taken {
            Some(taken) => taken.copy_rest(&self.memory, end, &mut bytes),
            None => self.memory.copy_words(end, &mut bytes),
        }
        let state_after = |bytes: &[u8]| RecorderState::after(bytes, |stack| self.memory.saved_depth(stack));
        if let Some(RecorderState { last, depth: 0, .. }) = state_after(&bytes) {
            // Waits since the last event are in no call.
            let found: Vec<_> = gate.pauses.drain(waits..).collect();
            gate.pauses.extend(found.into_iter().filter(|pause| pause.start < last));
        }
        let mut end = end;
        if ends_with_enter(&bytes) {
            bytes.truncate(bytes.len() - 4);
            end -= 4;
        }
        let state = state_after(&bytes);
        // A stack's saved depth changes when the recorder switches once more.
        let is_known = !switches(&bytes[HEADER_LEN.min(bytes.len())..]) || !self.switches_after(end);
        match state.filter(|_| is_known && bytes.len() > HEADER_LEN) {
            Some(state) => {
                gate.taken = Some(Taken { end, state });
                self.send(gate, bytes, full)
            }
            None => {
                self.outlet.queue.spare().put(bytes);
                false
            }
        }
    }

    /// Whether the recorder has switched stacks after the word before an address.
    fn switches_after(&self, address: u32) -> bool {
        let mut words = Vec::new();
        self.memory.copy_words_from(address, self.memory.end_from(address), &mut words);
        switches(&words)
    }
}

fn switches(words: &[u8]) -> bool {
    word::steps(words).any(|step| matches!(step, Step::Word(_, Effect::Switches(_))))
}

/// Whether the last word of a block is an enter. (The last bytes of a wide time may look like one.)
fn ends_with_enter(block: &[u8]) -> bool {
    let last = BlockHeader::split(block).and_then(|(_, words)| word::steps(words).last());
    let is_whole = block.len().is_multiple_of(4);
    is_whole
        && matches!(last, Some(Step::Word(word, Effect::Opens(_))) if block.ends_with(&word.to_le_bytes()))
}
