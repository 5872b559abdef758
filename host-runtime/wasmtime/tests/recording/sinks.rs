//! Sinks that fail, that take their time, that panic: the guest goes on.

use crate::common::*;
use kperf_trace::TraceReader;
use kperf_wasmtime::{ClockChoice, ErrorKind, Notice, Recorder};
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wasmtime::Engine;

/// A disk that is full after some writes.
struct Full {
    writes: Arc<AtomicUsize>,
    trace: Memory,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.writes.fetch_add(1, Ordering::Relaxed) >= 4 {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left on device"));
        }
        self.trace.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_costs_events_but_not_the_guest() {
    let engine = engine();
    let trace = Memory::default();
    let full = Full { writes: Arc::default(), trace: trace.clone() };
    let recorder = Recorder::builder().clock(ClockChoice::Test).sink(full).build(&engine).unwrap();
    run(&recorder, &engine, "many", Some(100_000), || {});
    let error = recorder.finish("completed").unwrap_err();
    // The file's front, the header, and two blocks were written.
    let written = count(&trace_with_end(&trace), |_| true) as u64;
    let ErrorKind::Write { source, dropped_events } = error.kind() else { panic!("{error:?}") };
    assert_eq!(source.kind(), io::ErrorKind::StorageFull);
    assert_eq!(written + dropped_events, 200_000);
    assert_eq!(error.to_string(), format!("failed to write the trace, {dropped_events} events are lost"));
}

/// A trace that was cut off at a chunk's end has one anomaly, which `count` would not like.
fn trace_with_end(trace: &Memory) -> Vec<u8> {
    let bytes = trace.bytes();
    let mut reader = TraceReader::new(&bytes[..]).unwrap();
    while reader.next().unwrap().is_some() {}
    assert_eq!(reader.anomalies().len(), 1, "{:?}", reader.anomalies());
    // The end chunk of an empty recording fits any trace.
    let whole = Memory::default();
    let engine = Engine::default();
    let recorder = Recorder::builder().clock(ClockChoice::Test).sink(whole.clone()).build(&engine).unwrap();
    let front = whole.bytes().len();
    recorder.finish("completed").unwrap();
    [bytes.clone(), whole.bytes()[front..].to_vec()].concat()
}

/// A sink that takes its time.
struct Slow(Memory);

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        std::thread::sleep(Duration::from_millis(5));
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_guest_waits_for_a_slow_sink_and_the_trace_says_so() {
    let engine = engine();
    let memory = Memory::default();
    let sink = Slow(memory.clone());
    let recorder = Recorder::builder().calibrate(false).queue_bytes(1).sink(sink).build(&engine).unwrap();
    run(&recorder, &engine, "many", Some(100_000), || {});
    let summary = recorder.finish("completed").unwrap();
    assert_eq!((summary.events, summary.dropped_events), (200_000, 0));
    assert!(summary.writer_stalls.count > 0 && summary.writer_stalls.nanos > 1_000_000, "{summary:?}");
    assert_eq!(count(&memory.bytes(), |_| true), 200_000);
    assert!(memory.text().contains("stall Writer"));
}

struct Panicking(usize);

impl Write for Panicking {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += 1;
        assert!(self.0 < 4, "the sink's own fault");
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_sink_that_panics_does_not_take_the_guest_along() {
    let engine = engine();
    let (notices, list) = notices();
    let recorder = Recorder::builder()
        .clock(ClockChoice::Test)
        .queue_bytes(1)
        .sink(Panicking(0))
        .on_notice(notices)
        .build(&engine)
        .unwrap();
    run(&recorder, &engine, "many", Some(100_000), || {});
    assert_eq!(recorder.finish("completed").unwrap_err().to_string(), "the trace's sink panicked");
    // Also those that were on their way into it.
    let stats = recorder.stats();
    assert_eq!(stats.events + stats.lost_events, 200_000, "{stats:?}");
    let list = list();
    assert_eq!(list.last().unwrap(), "the trace's sink panicked, nothing more is written", "{list:?}");
}

/// Notices as text, and those so far.
fn notices() -> (impl Fn(&Notice<'_>) + Send + Sync + 'static, impl Fn() -> Vec<String>) {
    let list = Arc::new(Mutex::new(Vec::new()));
    let seen = list.clone();
    (move |notice| seen.lock().unwrap().push(notice.to_string()), move || list.lock().unwrap().clone())
}

#[test]
fn a_sink_that_blocks_is_reported_while_a_guest_waits_for_it() {
    let engine = engine();
    let (open, gate) = mpsc::channel();
    let (notices, list) = notices();
    let recorder = Recorder::builder()
        .clock(ClockChoice::Test)
        .queue_bytes(1)
        .sink(Blocked { writes: 0, gate })
        .on_notice(notices)
        .build(&engine)
        .unwrap();
    let seen = std::thread::scope(|scope| {
        let guest = scope.spawn(|| run(&recorder, &engine, "many", Some(100_000), || {}));
        // Both come while the guest waits, however long that takes.
        while list().len() < 2 && !guest.is_finished() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let seen = list();
        drop(open);
        seen
    });
    assert!(seen[0].starts_with("the writer can't keep up, a guest has waited"), "{seen:?}");
    assert!(seen[1].starts_with("the trace's sink has held a write for"), "{seen:?}");
    assert_eq!(recorder.finish("completed").unwrap().events, 200_000);
}

/// A sink that takes the beginning, and then nothing until it is told.
struct Blocked {
    writes: usize,
    gate: Receiver<()>,
}

impl Write for Blocked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writes += 1;
        if self.writes > 3 {
            let _ = self.gate.recv();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_end_does_not_wait_for_ever_for_a_guest_that_waits_for_a_sink() {
    let engine = engine();
    let (open, gate) = mpsc::channel();
    let (notices, list) = notices();
    let recorder = Recorder::builder()
        .clock(ClockChoice::Test)
        .queue_bytes(1)
        .sink(Blocked { writes: 0, gate })
        .on_notice(notices)
        .give_up_after(Some(Duration::from_millis(300)))
        .build(&engine)
        .unwrap();
    std::thread::scope(|scope| {
        let guest = scope.spawn(|| run(&recorder, &engine, "many", Some(100_000), || {}));
        while list().is_empty() && !guest.is_finished() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let error = recorder.finish("completed").unwrap_err();
        let ErrorKind::SinkBlocks { dropped_events, .. } = *error.kind() else { panic!("{error}") };
        // Its block had no room. The guest goes on without the sink.
        assert!(dropped_events > 0, "{error}");
        guest.join().unwrap();
    });
    // Without what the sink holds, and what came after the end.
    let stats = recorder.stats();
    assert!(stats.lost_events > 0 && stats.events + stats.lost_events <= 200_000, "{stats:?}");
    drop(open);
}

#[test]
fn the_end_does_not_wait_for_ever_for_a_sink_that_blocks() {
    let engine = engine();
    let (open, gate) = mpsc::channel();
    let recorder = Recorder::builder()
        .clock(ClockChoice::Test)
        .sink(Blocked { writes: 0, gate })
        .give_up_after(Some(Duration::from_millis(300)))
        .build(&engine)
        .unwrap();
    run(&recorder, &engine, "many", Some(100_000), || {});
    let error = recorder.finish("completed").unwrap_err();
    let ErrorKind::SinkBlocks { dropped_events, .. } = *error.kind() else { panic!("{error}") };
    assert!(error.to_string().contains("has taken nothing for 300ms"), "{error}");
    // Without those that the sink holds, and those that it took before.
    let stats = recorder.stats();
    assert!(dropped_events > 0 && stats.events + stats.lost_events <= 200_000, "{stats:?}");
    assert_eq!(stats.lost_events, dropped_events);
    // The writer ends when the sink goes on.
    drop(open);
}
