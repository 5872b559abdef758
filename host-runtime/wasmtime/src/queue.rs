//! The bounded queue from the recorders to the writer's thread, and the buffers that go round.

use crate::clock::Clock;
use kperf_abi::block::CAPACITY;
use kperf_trace::{CallParent, Stall, StallKind, StallTotal, Summary, Window, count_events};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// What the writer is told.
pub(crate) enum Message {
    /// A block of a lane: events, or slow calls that samples saw.
    Block { lane: u32, block: Vec<u8>, spans: bool },
    /// What was counted and seen in a while.
    Window(Box<Window>),
    /// A symbol table.
    Symbols(Vec<u8>),
    /// Whose children a lane's next calls are.
    Parent(CallParent),
    /// A guest waited.
    Stall(Stall),
    /// Nothing comes after this. The writer adds what it counted itself.
    Finish(Box<Summary>),
}

/// The writing end. When it is full, whoever sends waits: nothing is lost.
pub(crate) struct Queue {
    sender: SyncSender<Message>,
    spare: Arc<Spare>,
    stalls: Mutex<StallTotal>,
    /// Events that came when there was no writer any more.
    refused_events: AtomicU64,
}

/// Buffers that wait to be filled. The last one used is the first to be used again: its memory is still warm.
pub(crate) struct Spare {
    buffers: Mutex<Vec<Vec<u8>>>,
    capacity: usize,
}

/// How many stalls are told one by one; see `ticker.rs`.
const STALLS: u64 = 1000;

/// A queue of so many blocks.
pub(crate) fn queue(blocks: usize) -> (Queue, Receiver<Message>, Arc<Spare>) {
    let (sender, receiver) = sync_channel(blocks);
    let spare = Arc::new(Spare { buffers: Mutex::default(), capacity: blocks.saturating_add(4) });
    let queue =
        Queue { sender, spare: spare.clone(), stalls: Mutex::default(), refused_events: AtomicU64::new(0) };
    (queue, receiver, spare)
}

impl Queue {
    /// An empty buffer for a block.
    pub(crate) fn buffer(&self) -> Vec<u8> {
        self.spare.take().unwrap_or_else(|| Vec::with_capacity(CAPACITY))
    }

    /// Takes back the buffer of a block that was not sent on.
    pub(crate) fn give_back(&self, block: Vec<u8>) {
        self.spare.put(block);
    }

    /// Sends a block; waits while the queue is full, and tells how long that took.
    pub(crate) fn send_block(&self, clock: &Clock, lane: u32, block: Vec<u8>, spans: bool) {
        let message = match self.sender.try_send(Message::Block { lane, block, spans }) {
            Ok(()) => return,
            Err(TrySendError::Disconnected(message)) => return self.refuse(message),
            Err(TrySendError::Full(message)) => message,
        };
        let start = clock.stopwatch();
        if let Err(error) = self.sender.send(message) {
            return self.refuse(error.0);
        }
        let (Some(start), Some(end)) = (start, clock.stopwatch()) else { return };
        if spans {
            // The sampler waited, not a guest.
            return;
        }
        let nanos = clock.nanos(end.saturating_sub(start));
        let mut stalls = self.stalls.lock().unwrap_or_else(PoisonError::into_inner);
        stalls.add(nanos);
        if stalls.count <= STALLS {
            drop(stalls);
            let stall = Stall { kind: StallKind::Writer, recorder: Some(lane), start_ticks: start, nanos };
            self.send(Message::Stall(stall));
        }
    }

    /// Sends anything else; waits while the queue is full.
    pub(crate) fn send(&self, message: Message) {
        if let Err(error) = self.sender.send(message) {
            self.refuse(error.0);
        }
    }

    /// How often and how long guests waited.
    pub(crate) fn stalls(&self) -> StallTotal {
        *self.stalls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn refused_events(&self) -> u64 {
        self.refused_events.load(Ordering::Relaxed)
    }

    fn refuse(&self, message: Message) {
        if let Message::Block { block, .. } = message {
            self.refused_events.fetch_add(count_events(&block), Ordering::Relaxed);
            self.spare.put(block);
        }
    }
}

impl Spare {
    /// How many buffers it takes.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    fn take(&self) -> Option<Vec<u8>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Takes a buffer back.
    pub(crate) fn put(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        if buffers.len() < self.capacity {
            buffers.push(buffer);
        }
    }
}
