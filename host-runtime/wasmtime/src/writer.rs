//! The thread that packs blocks and writes them.

use crate::queue::{Message, Spare};
use kperf_abi::block::CAPACITY;
use kperf_trace::{Header, Summary, TraceWriter, count_events};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

/// Where a trace goes.
pub(crate) type Sink = Box<dyn Write + Send>;

/// What became of the trace: how it ended, and the sink's first error.
pub(crate) type Written = (Summary, Option<io::Error>);

/// How many buffers are made before the first block comes. Their pages are touched here, on another processor than the
/// guest's: the first touch of a page costs more than filling it.
const WARM_BUFFERS: usize = 16;

/// How long the writer sleeps when there is nothing to write, and how often before it waits to be woken. The guest would pay for
/// that: it costs a twentieth of what it takes to fill a block.
const NAP: Duration = Duration::from_micros(500);
const NAPS: u32 = 20;
/// With room for fewer blocks it doesn't: a guest that fills one in 20 us would wait for it.
const WORTH_NAPPING: usize = 32;

/// Writes until it is told to finish.
///
/// When the sink fails, the blocks from there on are dropped and counted: the guest goes on. At the end the counts are
/// written if that is possible by then.
pub(crate) fn write(mut trace: TraceWriter<Sink>, messages: &Receiver<Message>, spare: &Spare) -> Written {
    for _ in 0..WARM_BUFFERS.min(spare.capacity()) {
        // Nonzero, or the allocator would give pages that nobody touched.
        spare.put(vec![0xff; CAPACITY]);
    }
    let mut failure: Option<io::Error> = None;
    let mut dropped = Dropped::default();
    let mut summary = Summary::default();
    let most_naps = if spare.capacity() < WORTH_NAPPING { 0 } else { NAPS };
    for message in (Inbox { messages, naps: most_naps, most_naps }) {
        let result = match message {
            Message::Block { lane, block, spans } => {
                let result = match failure {
                    None if spans => trace.spans(lane, &block),
                    None => trace.block(lane, &block),
                    Some(_) => Ok(()),
                };
                if failure.is_some() || result.is_err() {
                    dropped.add(lane, &block);
                }
                spare.put(block);
                result
            }
            Message::Symbols(_) | Message::Parent(_) | Message::Stall(_) | Message::Window(_)
                if failure.is_some() =>
            {
                Ok(())
            }
            Message::Window(window) => trace.window(&window),
            Message::Symbols(table) => trace.symbols(&table),
            Message::Parent(parent) => trace.parent(&parent),
            Message::Stall(stall) => trace.stall(stall),
            Message::Finish(told) => {
                summary = *told;
                break;
            }
        };
        if let Err(error) = result {
            failure.get_or_insert(error);
        }
    }
    let written = trace.written();
    summary.events = summary.dropped_events + written.events + dropped.events;
    summary.blocks = written.blocks + dropped.blocks;
    summary.dropped_events += dropped.events;
    let end = dropped
        .by_lane
        .iter()
        .try_for_each(|(&lane, &events)| trace.lost(lane, events))
        .and_then(|()| trace.finish(&summary));
    if let Err(error) = end {
        failure.get_or_insert(error);
    }
    (summary, failure)
}

/// The messages, for which nobody wakes the writer while they come one after the other.
struct Inbox<'a> {
    messages: &'a Receiver<Message>,
    /// How many naps it took since the last message, and takes at most.
    naps: u32,
    most_naps: u32,
}

impl Iterator for Inbox<'_> {
    type Item = Message;

    fn next(&mut self) -> Option<Message> {
        loop {
            match self.messages.try_recv() {
                Ok(message) => {
                    self.naps = 0;
                    return Some(message);
                }
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) if self.naps < self.most_naps => {
                    self.naps += 1;
                    std::thread::sleep(NAP);
                }
                Err(TryRecvError::Empty) => {
                    self.naps = 0;
                    return self.messages.recv().ok();
                }
            }
        }
    }
}

/// What could not be written.
#[derive(Default)]
struct Dropped {
    events: u64,
    blocks: u64,
    by_lane: BTreeMap<u32, u64>,
}

impl Dropped {
    fn add(&mut self, lane: u32, block: &[u8]) {
        let events = count_events(block);
        self.events += events;
        self.blocks += 1;
        *self.by_lane.entry(lane).or_default() += events;
    }
}

/// Begins the trace.
pub(crate) fn begin(sink: Sink, header: &Header, tables: &[Vec<u8>]) -> io::Result<TraceWriter<Sink>> {
    let mut trace = TraceWriter::new(sink, header)?;
    for table in tables {
        trace.symbols(table)?;
    }
    Ok(trace)
}
