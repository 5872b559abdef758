//! The writer's state for a recorder's number.

use super::open_calls::OpenCalls;
use super::output::Output;
use super::{pauses, unplaced};
use crate::clock::unplaced::UnplacedTicks;
use crate::lanes::state::RecorderState;
use crate::outlet::queue::{Block, Pause, Suspension};
use kperf_abi::block::{BlockHeader, HEADER_LEN};
use kperf_trace::{CallParent, TraceWriter};
use std::collections::BTreeMap;
use std::io;

/// The lanes that have a recorder's number, one after the other.
#[derive(Default)]
pub(super) struct Lane {
    /// Lost events that are not in the trace yet.
    lost: u64,
    /// Lost events that are in the trace.
    lost_written: u64,
    /// The current parents in the file, by stack.
    parents: BTreeMap<Option<u32>, CallParent>,
    /// The parents that are not in the file yet.
    owed: Vec<CallParent>,
    suspensions: Vec<Suspension>,
    pauses: Vec<Pause>,
    unplaced: UnplacedTicks,
    open: OpenCalls,
    spans: bool,
    /// If instructions are the clock: when the current lane began, and the time of its last event.
    began: u64,
    ended: u64,
}

impl Lane {
    /// A block comes.
    pub(super) fn begin(&mut self, block: &Block) {
        if block.is_first {
            // The remembered parents belong to the previous lane.
            self.owed.clear();
            if !self.parents.is_empty() {
                self.owed.push(CallParent { recorder: block.lane, stack: None, context: None });
            }
            self.suspensions.clear();
            self.pauses.clear();
            self.unplaced = UnplacedTicks::default();
            self.open = OpenCalls::default();
        }
        self.spans = block.spans;
        self.lost += block.lost;
        self.owed.extend(block.parents.iter().cloned());
        self.suspensions.extend(&block.suspensions);
        self.pauses.extend(&block.pauses);
        self.unplaced = self.unplaced.plus(block.unplaced);
    }

    /// If instructions are the clock, each lane counts from 0. Successive lanes of one number share a timeline: each is shifted to
    /// where the last one ended.
    pub(super) fn count_on(&mut self, block: &mut [u8], is_first: bool) {
        if is_first {
            self.began = self.ended;
        }
        let Some((header, _)) = BlockHeader::split(block) else { return };
        let header = BlockHeader { start_ticks: header.start_ticks.saturating_add(self.began), ..header };
        block[..HEADER_LEN].copy_from_slice(&header.to_bytes());
        self.ended = RecorderState::after(block, |_| 0).map_or(self.ended, |state| state.last);
    }

    /// Inserts pauses and waits into a block.
    pub(super) fn put_pauses(&mut self, block: &mut Vec<u8>) {
        self.unplaced = unplaced::place(block, self.unplaced, &mut self.pauses);
        pauses::put(block, &mut self.pauses);
    }

    pub(super) fn suspensions(&mut self) -> &mut Vec<Suspension> {
        &mut self.suspensions
    }

    /// Writes a block, after the parents and losses that precede it. Calls `between` every few microseconds.
    pub(super) fn write(
        &mut self,
        trace: &mut TraceWriter<Output>,
        number: u32,
        bytes: &[u8],
        between: &mut dyn FnMut(),
    ) -> io::Result<()> {
        self.write_parents(trace)?;
        self.write_lost(trace, number)?;
        if self.spans { trace.spans(number, bytes) } else { trace.block_between(number, bytes, between) }
    }

    fn write_parents(&mut self, trace: &mut TraceWriter<Output>) -> io::Result<()> {
        while let Some(parent) = self.owed.first() {
            trace.parent(parent)?;
            let parent = self.owed.remove(0);
            match (parent.stack, &parent.context) {
                (None, None) => self.parents.clear(),
                (stack, None) => drop(self.parents.remove(&stack)),
                (stack, Some(_)) => drop(self.parents.insert(stack, parent)),
            }
        }
        Ok(())
    }

    /// Events are lost.
    pub(super) fn lose(&mut self, events: u64) {
        self.lost += events;
    }

    /// Lost events in all files.
    pub(super) fn lost_written(&self) -> u64 {
        self.lost_written
    }

    /// Writes the losses.
    pub(super) fn write_lost(&mut self, trace: &mut TraceWriter<Output>, number: u32) -> io::Result<()> {
        if self.lost > 0 {
            trace.lost(number, self.lost)?;
            self.lost_written += std::mem::take(&mut self.lost);
        }
        Ok(())
    }

    /// Follows the calls, so that another file can begin with those that are open.
    pub(super) fn follow(&mut self, block: &[u8]) {
        self.open.follow(block);
    }

    /// The time of the last event, if calls are followed.
    pub(super) fn last(&self) -> Option<u64> {
        Some(self.open.last)
    }

    /// Ends the lane's part in a file.
    pub(super) fn close_calls(&self, trace: &mut TraceWriter<Output>, number: u32) -> io::Result<()> {
        self.write_calls(trace, number, self.open.closing())
    }

    /// Begins its part in another file.
    pub(super) fn open_calls(&mut self, trace: &mut TraceWriter<Output>, number: u32) -> io::Result<()> {
        // The new file has no parents yet.
        self.owed.splice(0..0, std::mem::take(&mut self.parents).into_values());
        match self.open.opening() {
            None => Ok(()),
            block => {
                self.write_parents(trace)?;
                self.write_calls(trace, number, block)
            }
        }
    }

    fn write_calls(
        &self,
        trace: &mut TraceWriter<Output>,
        number: u32,
        block: Option<Vec<u8>>,
    ) -> io::Result<()> {
        match block {
            None => Ok(()),
            Some(block) if self.spans => trace.spans(number, &block),
            Some(block) => trace.block(number, &block),
        }
    }
}
