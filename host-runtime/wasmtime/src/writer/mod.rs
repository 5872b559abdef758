//! The thread that packs blocks and writes them.
//!
//! If the sink fails, this write is lost and counted, and guests go on. Chunks that readers need to understand the rest (symbol
//! tables, parents, losses) are written again until they succeed.

mod anchors;
mod files;
pub(crate) mod keep;
mod lanes;
mod open_calls;
mod output;
mod pauses;
pub(crate) mod rotation;
mod suspended;
mod unplaced;

pub(crate) use anchors::Anchors;
pub(crate) use files::Files;
use files::Lost;
use keep::Keeper;
pub(crate) use output::Sink;
pub(crate) use suspended::SUSPENDED;

use crate::lanes::core::Room;
use crate::outlet::Outlet;
use crate::outlet::notice::Notice;
use crate::outlet::queue::{Block, Message, Queue, calls_in};
use crate::outlet::stats::Progress;
use kperf_trace::{Summary, count_events};
use lanes::Lane;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The name of the writer's thread.
pub(crate) const THREAD: &str = "kperf-writer";

/// The trace's summary, and the sink's first error.
pub(crate) type Written = (Summary, Option<io::Error>);

/// Writes until the message to finish.
pub(crate) fn write(
    files: Files,
    outlet: &Outlet,
    mut anchors: Anchors,
    mut flushes: Flushes<impl FnMut(Room)>,
    keeper: Option<Keeper>,
) -> Written {
    let _close = Close(outlet);
    outlet.queue.spare().warm_up();
    let mut writer = Writer { outlet, files, lanes: BTreeMap::new(), failure: None, fails: false, keeper };
    writer.note_progress();
    loop {
        if writer.keeper.as_mut().is_some_and(|keeper| keeper.begins(false)) {
            // What the lanes have now comes first.
            (flushes.collect)(Room::Always);
            outlet.queue.send(Message::Collected);
        }
        let due = writer.keeper.as_ref().and_then(Keeper::due);
        let message = outlet.queue.take([flushes.due, due].into_iter().flatten().min());
        flushes.collect_if_due();
        let Some(message) = message else {
            if outlet.queue.is_closed() {
                return (Summary::default(), writer.failure);
            }
            continue;
        };
        if let Some(anchor) = anchors.due() {
            let written = writer.files.trace().anchor(anchor);
            writer.judge(written);
        }
        outlet.sink.begin();
        match message {
            Message::Block(block) => writer.block(block),
            Message::Window(window) => {
                if window.nodes.iter().any(|node| node.func.0 == SUSPENDED) {
                    writer.files.name_suspended();
                }
                let calls = calls_in(&window);
                let written = {
                    let _in_flight = InFlight { queue: &outlet.queue, events: || calls };
                    writer.files.symbols_and(|trace| trace.window(&window))
                };
                if !writer.judge(written) {
                    writer.lose(window.recorder, calls);
                } else if let Some(keeper) = &mut writer.keeper {
                    keeper.window(&window);
                }
            }
            Message::Symbols { table, functions } => {
                if let Some(keeper) = &mut writer.keeper {
                    keeper.add_symbols(&table);
                }
                writer.files.add_symbols(table, functions);
                let written = writer.files.symbols_and(|_| Ok(()));
                writer.judge(written);
            }
            Message::Stall(stall) => {
                let written = writer.files.trace().stall(stall);
                writer.judge(written);
            }
            Message::Dump(wanted) => match &mut writer.keeper {
                Some(keeper) => keeper.want(wanted),
                None => drop(wanted),
            },
            // Where guests count, the lane's times are others.
            Message::Peek { lane, block } => match &mut writer.keeper {
                Some(keeper) if !outlet.clock.is_count() => keeper.peek(lane, block),
                _ => {}
            },
            Message::Collected => {
                writer.take_lost();
                let summary = writer.dump_summary();
                if let Some(keeper) = &mut writer.keeper {
                    keeper.begin(summary);
                }
            }
            Message::Wake => {
                if let Some(keeper) = &mut writer.keeper {
                    keeper.has_written();
                }
            }
            Message::Finish(summary) => return writer.finish(*summary),
        }
        writer.rotate();
        if let Some(time) = outlet.sink.end() {
            outlet.notices.report(&Notice::SinkBlocks { time });
        }
        writer.note_progress();
    }
}

/// Collects, from time to time, what the lanes have recorded so far.
pub(crate) struct Flushes<C> {
    /// `None`: only when a dump wants it.
    every: Option<Duration>,
    due: Option<Instant>,
    collect: C,
}

impl<C: FnMut(Room)> Flushes<C> {
    /// `collect` sends what each lane has.
    pub(crate) fn new(every: Option<Duration>, collect: C) -> Flushes<C> {
        Flushes { every, due: every.map(|every| Instant::now() + every), collect }
    }

    fn collect_if_due(&mut self) {
        if self.due.is_some_and(|due| due <= Instant::now()) {
            (self.collect)(Room::Half);
            self.due = self.every.map(|every| Instant::now() + every);
        }
    }
}

/// Closes the queue however the thread ends, so that no other thread waits for it.
struct Close<'a>(&'a Outlet);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.queue.close();
    }
}

/// Counts events as lost if the sink panics while it writes them.
struct InFlight<'a, F: Fn() -> u64> {
    queue: &'a Queue,
    events: F,
}

impl<F: Fn() -> u64> Drop for InFlight<'_, F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.queue.count_dropped((self.events)());
        }
    }
}

struct Writer<'a> {
    outlet: &'a Outlet,
    files: Files,
    lanes: BTreeMap<u32, Lane>,
    /// The first error.
    failure: Option<io::Error>,
    /// Whether the last write failed.
    fails: bool,
    /// Keeps the trace in memory, if no sink takes it.
    keeper: Option<Keeper>,
}

impl Writer<'_> {
    fn block(&mut self, block: Block) {
        let number = block.lane;
        let lane = self.lanes.entry(number).or_default();
        lane.begin(&block);
        let mut bytes = block.bytes;
        if self.outlet.clock.is_count() {
            lane.count_on(&mut bytes, block.is_first);
        }
        if let Some(put) = suspended::put(&bytes, lane.suspensions()) {
            self.files.name_suspended();
            self.outlet.queue.spare().put(std::mem::replace(&mut bytes, put));
        }
        lane.put_pauses(&mut bytes);
        if block.spans && suspended::is_in(&bytes) {
            self.files.name_suspended();
        }
        let follows = self.files.rotates();
        let mut tick = || {
            if let Some(ticker) = &self.outlet.ticker {
                ticker.also_tick();
            }
        };
        tick();
        let events = self.files.trace().written().events;
        let written = {
            let _in_flight = InFlight { queue: &self.outlet.queue, events: || count_events(&bytes) };
            self.files.symbols_and(|trace| lane.write(trace, number, &bytes, &mut tick))
        };
        tick();
        // A failed block opens no calls in this file.
        if follows && written.is_ok() {
            lane.follow(&bytes);
        }
        let events = self.files.trace().written().events - events;
        if !self.judge(written) {
            self.lose(number, count_events(&bytes));
        } else if let Some(keeper) = &mut self.keeper {
            tick();
            keeper.block(number, &bytes, events, block.is_first);
        }
        self.outlet.queue.spare().put(bytes);
    }

    /// Counts events of a lane that could not be written.
    fn lose(&mut self, lane: u32, events: u64) {
        self.lanes.entry(lane).or_default().lose(events);
        Progress::add(&self.outlet.progress.lost_events, events);
        Progress::add(&self.outlet.progress.lost_blocks, 1);
    }

    /// Whether the write succeeded. Reports the first failure and the first success after it.
    fn judge(&mut self, written: io::Result<()>) -> bool {
        let worked = written.is_ok();
        let failed_before = std::mem::replace(&mut self.fails, !worked);
        match written {
            Err(error) => {
                Progress::add(&self.outlet.progress.failed_writes, 1);
                if !failed_before {
                    self.outlet.notices.report(&Notice::WriteFailed(&error));
                }
                self.failure.get_or_insert(error);
            }
            Ok(()) if failed_before => {
                self.outlet.notices.report(&Notice::WriteWorks { lost_events: self.lost().events });
            }
            Ok(()) => {}
        }
        worked
    }

    fn lost(&self) -> Lost {
        let [events, blocks] = self.outlet.queue.dropped();
        let progress = &self.outlet.progress;
        Lost {
            events: events + Progress::get(&progress.lost_events),
            blocks: blocks + Progress::get(&progress.lost_blocks),
        }
    }

    /// Begins another file, if one is due.
    fn rotate(&mut self) {
        let begun = match self.files.begin_if_due(&self.outlet.clock) {
            None => return,
            Some(Err(error)) => return self.outlet.notices.report(&Notice::NextFileFailed(&error)),
            Some(Ok(begun)) => begun,
        };
        // This file gets the losses that are known so far.
        self.take_lost();
        for (&number, lane) in &mut self.lanes {
            let trace = self.files.trace();
            let written = lane.write_lost(trace, number).and_then(|()| lane.close_calls(trace, number));
            self.failure = self.failure.take().or(written.err());
        }
        let last = self.lanes.values().filter_map(Lane::last).max().unwrap_or_default();
        let summary = Summary {
            outcome: "continued in another file".into(),
            end_ticks: self.outlet.clock.stopwatch().unwrap_or(last),
            recorders: self.lanes.len() as u32,
            notes: self.outlet.notes(),
            ticks: self.outlet.ticker.as_ref().map(|ticker| ticker.ticks()).unwrap_or_default(),
            ..Summary::default()
        };
        // A loss that a lane reports with its next block belongs to the next file.
        let written = self.lanes.values().map(Lane::lost_written).sum();
        let lost = Lost { events: written, ..self.lost() };
        let written = self.files.go_on(begun, summary, lost);
        self.judge(written);
        for (&number, lane) in &mut self.lanes {
            let written = self.files.symbols_and(|trace| lane.open_calls(trace, number));
            self.failure = self.failure.take().or(written.err());
        }
    }

    /// What a dump says of the recording so far.
    fn dump_summary(&self) -> Summary {
        Summary {
            recorders: self.lanes.len() as u32,
            probes: self.files.functions(),
            notes: self.outlet.notes(),
            ticks: self.outlet.ticker.as_ref().map(|ticker| ticker.ticks()).unwrap_or_default(),
            waits: self.outlet.waits.worst(),
            writer_stalls: self.outlet.queue.stalls(),
            ..Summary::default()
        }
    }

    fn note_progress(&self) {
        let (progress, written) = (&self.outlet.progress, self.files.written());
        progress.events.store(written.events, Ordering::Relaxed);
        progress.bytes.store(written.bytes, Ordering::Relaxed);
        progress.files.store(self.files.number().into(), Ordering::Relaxed);
    }

    /// Takes the losses of ended lanes.
    fn take_lost(&mut self) {
        for (lane, events) in self.outlet.queue.take_lost() {
            self.lanes.entry(lane).or_default().lose(events);
        }
    }

    fn finish(mut self, summary: Summary) -> Written {
        self.take_lost();
        let lanes = &mut self.lanes;
        let written = self.files.symbols_and(|trace| {
            lanes.iter_mut().try_for_each(|(&number, lane)| lane.write_lost(trace, number))
        });
        self.judge(written);
        if let Some(mut keeper) = self.keeper.take() {
            keeper.finish(|| self.dump_summary());
        }
        let lost = self.lost();
        let summary = Summary { notes: self.outlet.notes(), ..summary };
        let summary = self.files.complete(summary, lost);
        self.note_progress();
        let Writer { outlet, files, failure, fails, .. } = self;
        let Err(error) = files.finish(&summary) else { return (summary, failure) };
        if !fails {
            outlet.notices.report(&Notice::WriteFailed(&error));
        }
        (summary, failure.or(Some(error)))
    }
}
