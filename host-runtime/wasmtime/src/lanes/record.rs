//! The recorder in Rust: does exactly what `recorder.wat` does. Host functions run it, and the host when it acts
//! on a recorder module's lane.

use super::core::LaneCore;
use super::state::RecorderState;
use kperf_abi::block::{HEADER_LEN, STACKS, START};
use kperf_abi::word::{LEAVE, MAX_PAYLOAD, Reason, TIME, TIME_LIMIT, WIDE_TIME, Word};
use kperf_trace::TraceContext;

/// The state of a lane at the beginning of a host's call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before {
    pub(crate) depth: u32,
    position: u32,
}

/// Writes events to a lane: the lane and its recorder's state, held by one thread.
pub(crate) struct Pen<'a> {
    pub(crate) lane: &'a LaneCore,
    pub(crate) state: &'a mut RecorderState,
}

impl Pen<'_> {
    /// The recorder's start function.
    pub(crate) fn init(&mut self) {
        self.state.last = self.now();
        self.begin_block();
    }

    /// The time as the recorder of this lane sees it.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        match (self.state.instructions, &self.lane.ticker) {
            (Some(instructions), _) => instructions,
            (None, Some(ticker)) => self.or_read(ticker.load()),
            (None, None) => self.lane.outlet.clock.now(),
        }
    }

    /// A time that a ticker wrote. If it is 0, reads the clock instead.
    fn or_read(&self, ticks: u64) -> u64 {
        if ticks == 0 { self.lane.outlet.asked() } else { ticks }
    }

    /// Enters a function; returns the token.
    #[inline]
    pub(crate) fn enter(&mut self, func_id: u32) -> u32 {
        if self.state.depth == 0 {
            // Not every host announces its calls.
            self.lane.check_clock_closely();
            self.lane.attend(self.state.last);
        }
        self.event(func_id);
        self.state.depth = self.state.depth.wrapping_add(1);
        self.state.depth
    }

    /// Leaves the frame with a token.
    #[inline]
    pub(crate) fn leave(&mut self, token: u32) {
        if (token != self.state.depth || token == 0) && !self.heal(token) {
            return;
        }
        self.event(LEAVE);
        self.state.depth = self.state.depth.wrapping_sub(1);
    }

    /// Enters a function, at a time that the host gives.
    pub(crate) fn enter_at(&mut self, ticks: u64, func_id: u32) {
        self.put(ticks, Word::Enter(func_id));
        self.state.depth = self.state.depth.wrapping_add(1);
    }

    /// Leaves the innermost frame, at a time that the host gives.
    pub(crate) fn leave_at(&mut self, ticks: u64) {
        self.put(ticks, Word::Leave);
        self.state.depth = self.state.depth.saturating_sub(1);
    }

    /// Writes an enter or a leave.
    #[inline]
    fn event(&mut self, word: u32) {
        let memory = &self.lane.memory;
        let mut position = memory.position();
        if let Some(ticker) = &self.lane.ticker {
            let now = ticker.load();
            if now != self.state.last || position > memory.last_start() {
                position = self.make_room(now);
            }
            memory.put(position, word);
            memory.set_position(position + 4);
            return;
        }
        let now = self.lane.outlet.clock.now();
        let mut delta = now.wrapping_sub(self.state.last);
        if delta >= TIME_LIMIT || position > memory.last_start() && !memory.grow() {
            position = self.make_room(now);
            delta = 0;
        } else {
            self.state.last = now;
        }
        memory.put(position, TIME | delta as u32);
        memory.put(position + 4, word);
        memory.set_position(position + 8);
    }

    #[cold]
    fn heal(&mut self, token: u32) -> bool {
        if token == 0 {
            return self.state.depth != 0;
        }
        if token > self.state.depth {
            return false;
        }
        self.close(Reason::Caught, token);
        true
    }

    /// Closes the frames above the frame with this token as unwound.
    pub(crate) fn unwind(&mut self, token: u32) {
        if token != self.state.depth && token != 0 {
            self.close(Reason::Caught, token);
        }
    }

    /// Closes the frames deeper than `depth`.
    pub(crate) fn close(&mut self, reason: Reason, depth: u32) {
        if depth < self.state.depth {
            self.close_at(self.now(), reason, depth);
        }
    }

    /// The host begins a call.
    pub(crate) fn before(&self) -> Before {
        self.lane.check_clock_closely();
        self.lane.attend(if self.state.depth == 0 { self.state.last } else { u64::MAX });
        Before { depth: self.state.depth, position: self.lane.memory.position() }
    }

    /// Ends the host's call: closes the frames that it left open. If its last event is a leave, that gets the
    /// present time, because its tick may be old.
    pub(crate) fn settle(&mut self, reason: Reason, before: Before) {
        if before.depth < self.state.depth {
            return self.close(reason, before.depth);
        }
        if self.lane.memory.position() == before.position {
            // The call had no events.
            return;
        }
        let Some(ticker) = &self.lane.outlet.ticker else { return };
        let elapsed = self.lane.outlet.clock.now().saturating_sub(self.state.last);
        if elapsed > ticker.noise() && self.lane.delay_last_leave(elapsed) {
            self.state.last += elapsed;
        }
    }

    /// Closes the frames deeper than `depth`, at a time that the host gives.
    pub(crate) fn close_at(&mut self, ticks: u64, reason: Reason, depth: u32) {
        if depth < self.state.depth {
            self.put(ticks, Word::Unwind { depth, reason });
            self.state.depth = depth;
        }
    }

    /// Switches to another stack of the lane.
    pub(crate) fn switch(&mut self, stack: u32) {
        if stack == self.state.stack || stack >= STACKS {
            return;
        }
        self.put(self.now(), Word::Switch(stack));
        self.lane.memory.save_depth(self.state.stack, self.state.depth);
        self.state.depth = self.lane.memory.saved_depth(stack);
        self.state.stack = stack;
    }

    /// A point in time.
    pub(crate) fn mark(&mut self, value: u32) {
        self.put(self.now(), Word::Mark(value & MAX_PAYLOAD));
    }

    /// Hands the block over.
    pub(crate) fn flush(&mut self) {
        if self.lane.memory.position() > (START + HEADER_LEN) as u32 {
            self.lane.hand_over(self.lane.memory.position(), *self.state);
            self.begin_block();
        }
    }

    /// Sets the parent of the host's next calls. Hands the block over, since a block's events have one parent.
    pub(crate) fn set_parent(&mut self, context: Option<TraceContext>) {
        self.flush();
        self.lane.set_parent(self.state.stack, context);
    }

    fn put(&mut self, now: u64, word: Word) {
        let position = self.make_room(now);
        self.lane.memory.put(position, word.encode());
        self.lane.memory.set_position(position + 4);
    }

    pub(crate) fn begin_block(&mut self) {
        let memory = &self.lane.memory;
        let start = START as u32;
        memory.store(start, self.state.stack);
        memory.store(start + 4, self.state.depth);
        // Last but for the position: see `LaneMemory::is_unbegun`.
        memory.store(start + 8, self.state.last as u32);
        memory.store(start + 12, (self.state.last >> 32) as u32);
        memory.set_position(start + HEADER_LEN as u32);
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, mut now: u64) -> u32 {
        let memory = &self.lane.memory;
        if memory.position() > memory.last_start() && !memory.grow() {
            self.flush();
            if self.lane.ticker.as_ref().is_some_and(|ticker| ticker.load() == 0) {
                // The time was too old for this event, too.
                now = 0;
            }
        }
        let mut position = memory.position();
        let delta = self.or_read(now).wrapping_sub(self.state.last);
        // The time never goes back: it stays, if the clock does.
        if delta as i64 > 0 {
            if delta < TIME_LIMIT {
                memory.put(position, TIME | delta as u32);
                position += 4;
            } else {
                memory.store(position + 4, delta as u32);
                memory.store(position + 8, (delta >> 32) as u32);
                memory.put(position, WIDE_TIME);
                position += 12;
            }
            self.state.last += delta;
            memory.set_position(position);
        }
        position
    }
}
