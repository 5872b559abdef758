//! A queue that is full and sinks that fail for a moment: what is lost is counted and reported, and the rest is in the trace.

use crate::common::*;
use kperf_trace::{AnomalyKind, Event, Item, TraceReader};
use kperf_wasmtime::{Builder, ClockChoice, ErrorKind, HostLane, Notice, Recorder, WhenFull};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use wasmtime::{Caller, Engine, Linker, Store};

/// What a trace has, by recorder: events, and events that are lost where somebody counted them.
fn by_recorder(bytes: &[u8]) -> (BTreeMap<u32, [u64; 2]>, Vec<AnomalyKind>) {
    let mut reader = TraceReader::new(bytes).unwrap();
    let mut counts: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
    while let Some(item) = reader.next().unwrap() {
        let Item::Events(batch) = item else { continue };
        let [events, lost] = counts.entry(batch.lane.recorder).or_default();
        for timed in batch.events {
            match timed.event {
                Event::Lost { events: count } => *lost += count.map_or(0, |count| u64::from(count.get())),
                _ => *events += 1,
            }
        }
    }
    (counts, reader.anomalies().iter().map(|anomaly| anomaly.kind.clone()).collect())
}

/// Notices as text.
#[derive(Clone, Default)]
struct Notices(Arc<Mutex<Vec<String>>>);

impl Notices {
    fn to(&self, builder: Builder) -> Builder {
        let notices = self.0.clone();
        builder.on_notice(move |notice| notices.lock().unwrap().push(format!("{notice}")))
    }

    fn list(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// A disk that stands still until somebody lets it go on.
struct Stalled {
    go: Receiver<()>,
    trace: Memory,
    goes: bool,
}

impl Stalled {
    fn new() -> (Stalled, Sender<()>, Memory) {
        let (sender, go) = channel();
        let trace = Memory::default();
        (Stalled { go, trace: trace.clone(), goes: false }, sender, trace)
    }
}

impl Write for Stalled {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The beginning is written before anything runs.
        if self.trace.bytes().len() > 200 && !self.goes {
            let _ = self.go.recv_timeout(std::time::Duration::from_secs(10));
            self.goes = true;
        }
        self.trace.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const CALLS: u32 = 500_000;

#[test]
fn blocks_that_have_no_room_are_dropped_and_counted_by_lane() {
    let engine = engine();
    let (sink, go, trace) = Stalled::new();
    let notices = Notices::default();
    let builder = Recorder::builder().clock(ClockChoice::Test).sink(sink).queue_bytes(400_000);
    let recorder = notices.to(builder).when_full(WhenFull::Drop).build(&engine).unwrap();
    // The disk stands still: a guest that waited would wait for ever.
    for _ in 0..2 {
        run(&recorder, &engine, "many", Some(CALLS), || {});
    }
    let stats = recorder.stats();
    assert!(stats.lost_events > u64::from(CALLS) && stats.lost_blocks > 20, "{stats:?}");
    assert!(stats.queued_bytes <= 400_000 && stats.queued_bytes > 200_000, "{stats:?}");
    assert_eq!((stats.waits.count, stats.failed_writes, stats.lanes), (0, 0, 0));
    assert_eq!(notices.list(), ["the writer can't keep up, events are lost"]);
    go.send(()).unwrap();
    let mut store = Store::new(&engine, ());
    let mut other = Linker::new(&engine);
    let _first = recorder.link(&mut store, &mut other).unwrap();
    // Once there is room again all is written.
    while recorder.stats().queued_bytes > 0 {
        std::thread::yield_now();
    }
    run(&recorder, &engine, "many", Some(10), || {});
    drop(store);
    let summary = recorder.finish("completed").unwrap();
    let (counts, anomalies) = by_recorder(&trace.bytes());
    assert_eq!(anomalies, []);
    let [written, lost] = counts.values().fold([0, 0], |[a, b], [c, d]| [a + c, b + d]);
    assert_eq!((summary.events, summary.dropped_events), (4 * u64::from(CALLS) + 20, lost));
    assert_eq!(written + lost, summary.events);
    assert_eq!(counts[&1], [20, 0], "the lane of the last guest has lost nothing");
    assert_eq!(recorder.stats().events, written);
}

/// A guest of a host lane that waits once, and then calls a lot.
const BUSY: &str = r#"
    (import "host" "pause" (func $pause))
    (func $f (local $t i32) (ENTER 1) (LEAVE))
    (func (export "f") (param i32)
      (call $pause)
      (loop (call $f) (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))"#;

#[test]
fn an_asynchronous_call_never_waits_for_the_writer() {
    asynchronous_call(true);
    // Nor if nobody tells the recorder that it is one.
    #[cfg(target_os = "linux")]
    asynchronous_call(false);
}

fn asynchronous_call(is_told: bool) {
    let engine = Engine::default();
    let (sink, go, trace) = Stalled::new();
    let builder = Recorder::builder().clock(ClockChoice::Test).sink(sink).queue_bytes(300_000);
    let recorder = builder.build(&engine).unwrap();
    let mut linker: Linker<HostLane> = Linker::new(&engine);
    recorder.add_to_linker(&mut linker, |lane| lane).unwrap();
    linker.func_wrap_async("host", "pause", |_: Caller<'_, HostLane>, ()| Box::new(async {})).unwrap();
    let pre = linker.instantiate_pre(&module(&engine, BUSY)).unwrap();
    block_on(async {
        let mut store = Store::new(&engine, recorder.host_lane());
        let call = async |store: &mut Store<HostLane>| {
            let instance = pre.instantiate_async(&mut *store).await?;
            instance.get_typed_func::<u32, ()>(&mut *store, "f")?.call_async(store, CALLS).await
        };
        if is_told {
            HostLane::call_async(&mut store, |lane| lane, call).await.unwrap();
        } else {
            call(&mut store).await.unwrap();
        }
        // The store goes here, and doesn't wait either.
    });
    let stats = recorder.stats();
    assert!(stats.lost_events > 0 && stats.waits.count == 0, "{stats:?}");
    go.send(()).unwrap();
    let summary = recorder.finish("completed").unwrap();
    let (counts, anomalies) = by_recorder(&trace.bytes());
    assert_eq!(
        (anomalies, counts[&0]),
        (vec![], [summary.events - summary.dropped_events, summary.dropped_events])
    );
    assert_eq!(summary.events, 2 * u64::from(CALLS));
}

/// A connection that breaks in the midst of some writes, and then works again.
struct Broken {
    writes: usize,
    trace: Memory,
}

impl Write for Broken {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writes += 1;
        match self.writes {
            // Half of a chunk, and then nothing.
            6 => self.trace.write(&bytes[..bytes.len() / 2]),
            7..10 => Err(io::Error::new(io::ErrorKind::BrokenPipe, "not now")),
            _ => self.trace.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_write_that_fails_is_not_the_end() {
    let engine = engine();
    let trace = Memory::default();
    let notices = Notices::default();
    let sink = Broken { writes: 0, trace: trace.clone() };
    let builder = Recorder::builder().clock(ClockChoice::Test).sink(sink);
    let recorder = notices.to(builder).build(&engine).unwrap();
    run(&recorder, &engine, "many", Some(CALLS), || {});
    let error = recorder.finish("completed").unwrap_err();
    let ErrorKind::Write { source, dropped_events } = error.kind() else { panic!("{error:?}") };
    assert_eq!(source.kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(recorder.stats().failed_writes, 3);
    let (counts, anomalies) = by_recorder(&trace.bytes());
    assert_eq!(counts[&0][0], 2 * u64::from(CALLS) - dropped_events);
    assert!(*dropped_events > 0);
    // The half of a chunk is all that is wrong.
    assert!(
        matches!(
            &anomalies[..],
            [AnomalyKind::BadChecksum { .. }, AnomalyKind::Skipped { .. }]
                | [AnomalyKind::BadChecksum { .. }]
        ),
        "{anomalies:?}"
    );
    let again = format!("the trace can be written again, {dropped_events} events are lost so far");
    assert_eq!(notices.list(), ["the trace can't be written, events are lost: not now", &again]);
}

#[test]
fn what_readers_need_is_written_as_soon_as_that_works() {
    let engine = engine();
    let trace = Memory::default();
    // The first two writes are the beginning. Symbols, the parent and the first block fail.
    let sink = Broken { writes: 4, trace: Memory::default() };
    let recorder = Recorder::builder()
        .clock(ClockChoice::Test)
        .sink(Late { inner: sink, trace: trace.clone() })
        .build(&engine)
        .unwrap();
    recorder.symbols(exits::table(GUEST_OF_TWO, kperf_rewriter::Recording::imported())).unwrap();
    let mut linker: Linker<HostLane> = Linker::new(&engine);
    recorder.add_to_linker(&mut linker, |lane| lane).unwrap();
    let mut lane = recorder.host_lane();
    lane.set_parent(kperf_wasmtime::TraceContext::parse(PARENT, "").ok());
    for value in 0..10 {
        lane.mark(value);
        lane.flush();
    }
    drop(lane);
    recorder.finish("completed").unwrap_err();
    let text = trace.text();
    let symbols = text.find("symbols").expect("they come late");
    let parent = text.find("parent 00-").expect("it comes late");
    let lost = text.find("lost Some").expect("somebody says it");
    let event = text.find("mark").expect("the rest is there");
    assert!(symbols < parent && parent < lost && lost < event, "{text}");
    assert!(text.contains("mark 9") && !text.contains("mark 0"), "{text}");
}

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const GUEST_OF_TWO: &str = r#"(module (func $f) (func (export "g") (call $f)))"#;

/// Nothing of a chunk is written where `inner` fails.
struct Late {
    inner: Broken,
    trace: Memory,
}

impl Write for Late {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.trace.bytes().len() < 100 {
            return self.trace.write(bytes);
        }
        if self.inner.writes < 6 {
            self.inner.writes = 6;
        }
        self.inner.write(bytes)?;
        self.trace.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_notice_says_what_it_is() {
    let error = io::Error::other("no such folder");
    let text = Notice::NextFileFailed(&error).to_string();
    assert_eq!(text, "the trace's next file can't be begun: no such folder");
}
