//! The Firefox Profiler's profile, as JSON: a thread for each lane.
//!
//! The tool is one for samples, and loads no more than a few million of them, so the trace is sampled: what ran at each
//! multiple of an interval. Shares are exact to within an interval; calls shorter than the interval may be missed. Inlined
//! functions that calls were made through are frames of their own.

use fxprof::{
    CategoryHandle, CpuDelta, FrameFlags, FrameHandle, FrameInfo, StackHandle, ThreadHandle, Timestamp,
};
use fxprof_processed_profile as fxprof;
use kperf_abi::FuncId;
use kperf_profile::frames::{AtRange, Ending, TraceVisitor, Visitor};
use kperf_profile::{CallFilter, Exported, Shown, Symbols, Ways, nanos_since_anchor, pause_as_call, visit};
use kperf_trace::{Header, LaneId, TraceReader};
use rustc_hash::FxHashMap;
use std::io::{self, Read, Write};
use std::time::Duration;

/// Writes samples of the calls of a trace that a filter lets through; `program` is the process's name. Memory is in
/// proportion to the number of samples where what ran differs from the sample before.
///
/// Fails where reading or writing does; `progress` gets the number of bytes read.
pub fn write<R: Read, W: Write>(
    mut reader: TraceReader<R>,
    filter: &CallFilter<'_>,
    interval_nanos: u64,
    program: &str,
    mut out: W,
    mut progress: impl FnMut(u64),
) -> io::Result<Exported> {
    let header = reader.header().clone();
    let began = Duration::from_nanos(header.anchor.unix_nanos);
    let interval_nanos = interval_nanos.max(1);
    let mut profile = fxprof::Profile::new(
        program,
        fxprof::ReferenceTimestamp::from_duration_since_unix_epoch(began),
        fxprof::SamplingInterval::from_nanos(interval_nanos),
    );
    profile.set_symbolicated(true);
    let process = profile.add_process(program, 1, Timestamp::from_nanos_since_reference(0));
    let (symbols, threads) = (Symbols::default(), FxHashMap::default());
    let ways = Ways::new(filter.keep);
    let sampler =
        Sampler { samples: 0, stacks: 0, profile, process, interval_nanos, header, symbols, ways, threads };
    let (sampler, exported) = visit(&mut reader, sampler, filter, AtRange::Whole, &mut progress)?;
    serde_json::to_writer(&mut out, &sampler.profile)?;
    writeln!(out)?;
    out.flush()?;
    Ok(exported)
}

/// How many samples, and how many stacks, are kept. The profiler itself loads fewer.
const MAX_KEPT: u64 = 1 << 21;
/// How many lanes.
const MAX_THREADS: usize = 1 << 14;

fn too_many(what: &str, hint: &str) -> io::Error {
    let text = format!("more than the profiler takes: {what}; {hint}");
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

struct Sampler<'k> {
    /// How many samples and stacks there are.
    samples: u64,
    stacks: u64,
    profile: fxprof::Profile,
    process: fxprof::ProcessHandle,
    interval_nanos: u64,
    header: Header,
    symbols: Symbols,
    ways: Ways<'k>,
    threads: FxHashMap<LaneId, Thread>,
}

struct Thread {
    handle: ThreadHandle,
    frames: FxHashMap<Shown, FrameHandle>,
    /// When the next sample is due.
    next_nanos: u64,
    /// When the last sample was, if something ran then.
    busy_since_nanos: Option<u64>,
}

struct Frame {
    func: FuncId,
    /// Its stack, once it was sampled.
    stack: Option<StackHandle>,
}

impl Sampler<'_> {
    /// Takes the samples that were due before something changes: of the frames in `open`, and of one that is just being
    /// closed inside them.
    fn sample(
        &mut self,
        lane: LaneId,
        open: &mut [Frame],
        closed: Option<&mut Frame>,
        ticks: u64,
    ) -> io::Result<()> {
        let now = nanos_since_anchor(&self.header, ticks);
        let Some(thread) = self.threads.get_mut(&lane) else { return Ok(()) };
        if thread.next_nanos >= now {
            return Ok(());
        }
        self.samples += 1;
        if self.samples > MAX_KEPT {
            return Err(too_many("samples", "choose a longer interval, or a part of the time"));
        }
        let due = thread.next_nanos;
        let count = (now - due).div_ceil(self.interval_nanos);
        thread.next_nanos = due.saturating_add(count.saturating_mul(self.interval_nanos));
        let known = open.iter().rposition(|frame| frame.stack.is_some()).map_or(0, |last| last + 1);
        let mut stack = known.checked_sub(1).and_then(|last| open.get(last)?.stack);
        let mut caller = known.checked_sub(1).and_then(|last| Some(open.get(last)?.func));
        for frame in open.iter_mut().skip(known).chain(closed) {
            let made = match frame.stack {
                Some(stack) => stack,
                None => {
                    let way = self.ways.of(&self.symbols, caller, frame.func);
                    self.stacks += 1 + way.len() as u64;
                    if self.stacks > MAX_KEPT {
                        let hint = "leave out deep or short calls";
                        return Err(too_many("stacks", hint));
                    }
                    for &inlined in way.iter() {
                        stack = Some(thread.stack(&mut self.profile, &self.symbols, stack, inlined));
                    }
                    thread.stack(&mut self.profile, &self.symbols, stack, Shown::Function(frame.func))
                }
            };
            caller = Some(frame.func);
            (stack, frame.stack) = (Some(made), Some(made));
        }
        let busy = thread.busy_since_nanos.map_or(0, |since| due.saturating_sub(since));
        thread.busy_since_nanos = stack.map(|_| due);
        let (at, weight) = (Timestamp::from_nanos_since_reference(due), i32::try_from(count));
        let weight = weight.unwrap_or(i32::MAX);
        self.profile.add_sample(thread.handle, at, stack, CpuDelta::from_nanos(busy), weight);
        Ok(())
    }
}

impl Thread {
    /// The stack of a call inside another stack.
    fn stack(
        &mut self,
        profile: &mut fxprof::Profile,
        symbols: &Symbols,
        outer: Option<StackHandle>,
        shown: Shown,
    ) -> StackHandle {
        let handle = *self.frames.entry(shown).or_insert_with(|| {
            let label = fxprof::Frame::Label(profile.intern_string(&shown.label(symbols)));
            let (category_pair, flags) = (CategoryHandle::OTHER.into(), FrameFlags::empty());
            profile.intern_frame(self.handle, FrameInfo { frame: label, category_pair, flags })
        });
        profile.intern_stack(self.handle, outer, handle)
    }
}

impl Visitor for Sampler<'_> {
    type Frame = Frame;
    type Error = io::Error;

    fn lane(&mut self, lane: LaneId, start_ticks: u64) -> io::Result<()> {
        if self.threads.len() >= MAX_THREADS {
            return Err(too_many("lanes", "choose some of them"));
        }
        let start = nanos_since_anchor(&self.header, start_ticks);
        let (number, main) = (self.threads.len() as u32 + 1, self.threads.is_empty());
        let begin = Timestamp::from_nanos_since_reference(start);
        let handle = self.profile.add_thread(self.process, number, begin, main);
        self.profile.set_thread_name(handle, &format!("lane {lane}"));
        let next_nanos = start.div_ceil(self.interval_nanos).saturating_mul(self.interval_nanos);
        let thread = Thread { handle, frames: FxHashMap::default(), next_nanos, busy_since_nanos: None };
        self.threads.insert(lane, thread);
        Ok(())
    }

    fn enter(&mut self, lane: LaneId, parents: &mut [Frame], func: FuncId, ticks: u64) -> io::Result<Frame> {
        self.sample(lane, parents, None, ticks)?;
        Ok(Frame { func, stack: None })
    }

    fn leave(
        &mut self,
        lane: LaneId,
        parents: &mut [Frame],
        mut frame: Frame,
        _ending: Ending,
        ticks: u64,
    ) -> io::Result<()> {
        self.sample(lane, parents, Some(&mut frame), ticks)
    }

    fn pause(
        &mut self,
        lane: LaneId,
        open: &mut [Frame],
        func: FuncId,
        paused: u64,
        ticks: u64,
    ) -> io::Result<()> {
        pause_as_call(self, lane, open, func, paused, ticks)
    }
}

impl TraceVisitor for Sampler<'_> {
    fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }
}
