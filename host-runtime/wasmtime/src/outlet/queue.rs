//! The queue from the lanes to the writer's thread, bounded in bytes, and its reused buffers.

mod message;
mod spare;

pub(crate) use message::{Block, Message, Pause, Suspension, Wanted};
pub(crate) use spare::Spare;

use crate::clock::source::Clock;
use kperf_abi::block::CAPACITY;
use kperf_trace::{Stall, StallKind, StallTotal, Window, count_events};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many bytes may wait for the writer by default: 256 full blocks.
pub(crate) const USUAL: usize = 256 * CAPACITY;
/// How many stalls are written one by one; the summary counts them all. The ticker has the same limit (`ticker.rs`).
const STALLS: u64 = 1000;
/// How long the writer sleeps when there is nothing to write, and how often before it waits to be woken. Waking it costs the guest
/// a twentieth of the time that it takes to fill a block.
const NAP: Duration = Duration::from_micros(500);
const NAPS: u32 = 20;
/// With room for fewer blocks the writer doesn't sleep: a guest that fills a block in 20 us would wait for it.
const WORTH_NAPPING: usize = 32 * CAPACITY;

/// Messages on their way to the writer.
pub(crate) struct Queue {
    limit: usize,
    inner: Mutex<Inner>,
    /// A message has come, or the queue is closed.
    filled: Condvar,
    /// There may be room.
    drained: Condvar,
    spare: Spare,
    /// How many events had no room.
    dropped_events: AtomicU64,
    dropped_blocks: AtomicU64,
}

#[derive(Default)]
struct Inner {
    messages: VecDeque<Message>,
    bytes: usize,
    /// Whether the writer has ended.
    closed: bool,
    writer_waits: bool,
    guests_wait: u32,
    /// Whether a block had no room since half of it was free.
    full: bool,
    /// Whether a guest has waited long since then.
    has_waited: bool,
    /// Set at the recording's end.
    end: Option<End>,
    /// Events that ended lanes have lost since their last block: the next lane with the number reports them.
    lost: BTreeMap<u32, u64>,
    stalls: StallTotal,
}

/// The end of the recording.
struct End {
    /// Without progress for so long, what waits is given up.
    patience: Duration,
    /// When the writer last took a message.
    progress: Instant,
    is_given_up: bool,
}

/// How long a guest waits until it is reported, and reported again.
const LONG_WAIT: Duration = Duration::from_millis(100);

/// Reports how long a guest has waited so far, and whether nothing was reported since half of the queue was free.
pub(crate) type Report<'a> = &'a dyn Fn(Duration, bool);

/// What a block does for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// It waits.
    Wait,
    /// It is dropped and counted.
    Drop,
    /// It goes in all the same: the writer's own thread sends it.
    Pass,
}

/// Whether a message was sent.
pub(crate) enum Sent {
    Yes,
    /// There was no room for a block of `events` events. `first`: there was room for the previous block.
    Dropped {
        block: Block,
        events: u64,
        first: bool,
    },
}

impl Queue {
    /// A queue for `limit` bytes. A single block always has room.
    pub(crate) fn new(limit: usize) -> Queue {
        Queue {
            limit,
            inner: Mutex::default(),
            filled: Condvar::new(),
            drained: Condvar::new(),
            spare: Spare::new(limit),
            dropped_events: AtomicU64::new(0),
            dropped_blocks: AtomicU64::new(0),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Buffers for blocks.
    pub(crate) fn spare(&self) -> &Spare {
        &self.spare
    }

    /// Sends a block. If there is no room and it waits, records the wait as a stall and reports a long one. If it is dropped, gives it
    /// back.
    pub(crate) fn send_block(&self, clock: &Clock, block: Block, full: Full, report: Report<'_>) -> Sent {
        let lane = block.lane;
        let is_guest_s = !block.spans;
        let size = block.size();
        let mut inner = self.inner();
        let mut waited = None;
        if full != Full::Pass && !inner.has_room(size, self.limit) {
            if full == Full::Drop {
                let first = !std::mem::replace(&mut inner.full, true);
                let events = count_events(&block.bytes);
                self.count_dropped(events);
                return Sent::Dropped { block, events, first };
            }
            let start = clock.stopwatch();
            inner = self.wait(inner, size, report);
            waited = start.zip(clock.stopwatch());
        }
        if inner.closed {
            self.count_dropped(count_events(&block.bytes));
            return Sent::Yes;
        }
        let mut block = block;
        if block.is_first {
            block.lost += inner.lost.remove(&lane).unwrap_or_default();
        }
        self.push(&mut inner, Message::Block(block), size);
        // The sampler that waited is no guest.
        if let Some((start_ticks, end)) = waited.filter(|_| is_guest_s) {
            let nanos = clock.nanos(end.saturating_sub(start_ticks));
            inner.stalls.add(nanos);
            if inner.stalls.count <= STALLS {
                let kind = StallKind::Writer;
                let stall = Message::Stall(Stall { kind, recorder: Some(lane), start_ticks, nanos });
                self.push(&mut inner, stall, 0);
            }
        }
        self.wake_writer(inner);
        Sent::Yes
    }

    /// Sends a window of a profile. If there is no room, it waits, or counts the window's calls as lost. Returns whether this is the
    /// first loss after a success.
    pub(crate) fn send_window(&self, window: Box<Window>, waits: bool) -> bool {
        let (recorder, calls) = (window.recorder, calls_in(&window));
        let message = Message::Window(window);
        let size = message.size();
        let mut inner = self.inner();
        if !inner.has_room(size, self.limit) {
            if !waits {
                *inner.lost.entry(recorder).or_default() += calls;
                self.count_dropped(calls);
                return !std::mem::replace(&mut inner.full, true);
            }
            // The sampler waits, not a guest.
            inner = self.wait(inner, size, &|_, _| ());
        }
        if inner.closed {
            self.count_dropped(calls);
        } else {
            self.push(&mut inner, message, size);
            self.wake_writer(inner);
        }
        false
    }

    /// Sends anything else, which always has room.
    pub(crate) fn send(&self, message: Message) {
        let mut inner = self.inner();
        if !inner.closed {
            let size = message.size();
            self.push(&mut inner, message, size);
            self.wake_writer(inner);
        }
    }

    /// Notes events that an ended lane has lost since its last block.
    pub(crate) fn lose(&self, lane: u32, events: u64) {
        if events > 0 {
            *self.inner().lost.entry(lane).or_default() += events;
        }
    }

    /// Takes the losses of ended lanes that are not reported yet.
    pub(crate) fn take_lost(&self) -> BTreeMap<u32, u64> {
        std::mem::take(&mut self.inner().lost)
    }

    /// Whether at least half of its room is taken.
    pub(crate) fn is_half_full(&self) -> bool {
        self.inner().bytes > self.limit / 2
    }

    /// Whether a large message may have to wait.
    pub(crate) fn is_full(&self) -> bool {
        !self.inner().has_room(CAPACITY, self.limit)
    }

    fn push(&self, inner: &mut Inner, message: Message, size: usize) {
        inner.bytes += size;
        inner.messages.push_back(message);
        self.spare.set_room(self.limit.saturating_sub(inner.bytes));
    }

    fn wait<'a>(
        &'a self,
        mut inner: MutexGuard<'a, Inner>,
        size: usize,
        report: Report<'_>,
    ) -> MutexGuard<'a, Inner> {
        inner.guests_wait += 1;
        let since = Instant::now();
        while !inner.closed && !inner.has_room(size, self.limit) {
            let waited = self.drained.wait_timeout(inner, LONG_WAIT).unwrap_or_else(PoisonError::into_inner);
            inner = waited.0;
            if waited.1.timed_out() {
                let is_first = !std::mem::replace(&mut inner.has_waited, true);
                let is_given_up = inner.gives_up();
                drop(inner);
                if is_given_up {
                    self.close();
                }
                report(since.elapsed(), is_first);
                inner = self.inner();
            }
        }
        inner.guests_wait -= 1;
        inner
    }

    fn wake_writer(&self, mut inner: MutexGuard<'_, Inner>) {
        if std::mem::take(&mut inner.writer_waits) {
            drop(inner);
            self.filled.notify_one();
        }
    }

    /// The next message, if there is one now.
    pub(crate) fn try_take(&self) -> Option<Message> {
        let mut inner = self.inner();
        self.pop(&mut inner)
    }

    fn pop(&self, inner: &mut Inner) -> Option<Message> {
        let message = inner.messages.pop_front()?;
        inner.bytes = inner.bytes.saturating_sub(message.size());
        self.spare.set_room(self.limit.saturating_sub(inner.bytes));
        if inner.guests_wait > 0 {
            self.drained.notify_all();
        }
        let is_half_full = inner.bytes > self.limit / 2;
        inner.full &= is_half_full;
        inner.has_waited &= is_half_full;
        if let Some(end) = &mut inner.end {
            end.progress = Instant::now();
        }
        Some(message)
    }

    /// The next message; `None` if there is none until `due`, or the recording was given up. While messages keep coming, the writer need not be woken.
    pub(crate) fn take(&self, due: Option<Instant>) -> Option<Message> {
        let naps = if self.limit < WORTH_NAPPING { 0 } else { NAPS };
        for _ in 0..naps {
            if let Some(message) = self.try_take() {
                return Some(message);
            }
            std::thread::sleep(NAP);
        }
        let mut inner = self.inner();
        loop {
            if let Some(message) = self.pop(&mut inner) {
                return Some(message);
            }
            if inner.closed {
                return None;
            }
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return None;
            }
            inner.writer_waits = true;
            inner = match left {
                None => self.filled.wait(inner).unwrap_or_else(PoisonError::into_inner),
                Some(left) => self.filled.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0,
            };
            inner.writer_waits = false;
        }
    }

    /// The writer has ended: everything that waits or comes later is lost.
    pub(crate) fn close(&self) {
        let mut inner = self.inner();
        inner.closed = true;
        for message in std::mem::take(&mut inner.messages) {
            match message {
                Message::Block(block) => self.count_dropped(count_events(&block.bytes)),
                Message::Window(window) => self.count_dropped(calls_in(&window)),
                _ => {}
            }
        }
        inner.bytes = 0;
        drop(inner);
        self.drained.notify_all();
    }

    /// The recording ends: from now on nobody waits for room longer than `patience` without progress.
    pub(crate) fn begin_end(&self, patience: Duration) {
        self.inner().end = Some(End { patience, progress: Instant::now(), is_given_up: false });
    }

    /// Waits until the writer has ended, for as long as it makes progress: `progress` changes within `patience`. Returns whether it
    /// has ended.
    pub(crate) fn wait_closed(&self, patience: Duration, progress: impl Fn() -> u64) -> bool {
        let mut inner = self.inner();
        let (mut seen, mut since) = (progress(), Instant::now());
        while !inner.closed {
            let now = progress();
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            let left = patience.saturating_sub(since.elapsed());
            if left.is_zero() {
                return false;
            }
            let waited = self.drained.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner);
            inner = waited.0;
        }
        !inner.end.as_ref().is_some_and(|end| end.is_given_up)
    }

    /// Whether the writer has ended, or was given up.
    pub(crate) fn is_closed(&self) -> bool {
        self.inner().closed
    }

    /// Counts events of a block that had no room, or no writer.
    pub(crate) fn count_dropped(&self, events: u64) {
        self.dropped_events.fetch_add(events, Ordering::Relaxed);
        self.dropped_blocks.fetch_add(1, Ordering::Relaxed);
    }

    /// How often and how long guests waited.
    pub(crate) fn stalls(&self) -> StallTotal {
        self.inner().stalls
    }

    /// How many bytes wait for the writer.
    pub(crate) fn bytes(&self) -> usize {
        self.inner().bytes
    }

    /// How many events, in how many blocks, had no room.
    pub(crate) fn dropped(&self) -> [u64; 2] {
        [&self.dropped_events, &self.dropped_blocks].map(|count| count.load(Ordering::Relaxed))
    }
}

/// How many calls a window counts.
pub(crate) fn calls_in(window: &Window) -> u64 {
    window.calls.iter().map(|(_, calls)| calls).sum()
}

impl Inner {
    fn has_room(&self, size: usize, limit: usize) -> bool {
        self.bytes == 0 || self.bytes + size <= limit
    }

    /// Whether the recording ends and the writer has made no progress for too long.
    fn gives_up(&mut self) -> bool {
        let Some(end) = &mut self.end else { return false };
        end.is_given_up |= end.progress.elapsed() >= end.patience;
        end.is_given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::source::ClockChoice;
    use kperf_abi::block::{BlockHeader, HEADER_LEN};
    use kperf_abi::word::Word;

    fn block(lane: u32, enters: u32) -> Block {
        let mut bytes = BlockHeader::default().to_bytes().to_vec();
        bytes.extend((0..enters).flat_map(|id| Word::Enter(id).encode().to_le_bytes()));
        Block { lane, bytes, is_first: true, ..Block::default() }
    }

    fn send(queue: &Queue, block: Block) -> bool {
        matches!(queue.send_block(&Clock::new(ClockChoice::Test), block, Full::Drop, &|_, _| ()), Sent::Yes)
    }

    #[test]
    fn bytes_are_counted_and_what_has_no_room_is_lost() {
        let queue = Queue::new(4 * block(0, 100).size());
        assert_eq!([(); 5].map(|()| send(&queue, block(1, 100))), [true, true, true, true, false]);
        assert_eq!((queue.bytes(), queue.dropped()), (4 * block(0, 100).size(), [100, 1]));
        assert!(queue.try_take().is_some());
        assert!(send(&queue, block(1, 50)) && send(&queue, block(1, 10)));
        assert!(!send(&queue, block(1, 100)));
        while queue.try_take().is_some() {}
        assert_eq!(queue.bytes(), 0);
        // One that is larger than the limit is better written than lost.
        assert!(send(&queue, block(1, 1000)) && !send(&queue, block(1, 0)));
        assert_eq!(block(0, 100).bytes.len(), HEADER_LEN + 400);
    }

    #[test]
    fn what_a_lane_has_lost_is_told_by_the_next_with_its_number() {
        let queue = Queue::new(USUAL);
        queue.lose(3, 7);
        queue.lose(3, 5);
        queue.lose(4, 1);
        for lane in [2, 3, 3] {
            assert!(send(&queue, block(lane, 1)));
        }
        let lost = [(); 3].map(|()| match queue.try_take() {
            Some(Message::Block(block)) => block.lost,
            _ => panic!("three blocks"),
        });
        assert_eq!((lost, queue.take_lost()), ([0, 12, 0], BTreeMap::from([(4, 1)])));
    }
}
