//! How recordings end: finished, interrupted, dropped, with sinks that fail.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::*;
use kperf_abi::symbols::{ModuleIdentity, Symbol, SymbolTable};
use kperf_abi::{FuncId, FuncIndex};
use kperf_trace::{ClockKind, Event, TraceReader};
use kperf_wasmtime::{ClockChoice, ErrorKind, Recorder};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use wasmtime::{Caller, Engine, Linker, Store};

/// `many(n)` calls a function n times, `open` calls `host.h` with two frames open.
const GUEST: &str = r#"
    (import "host" "h" (func $h))
    (func $f (local $t i32) (ENTER 1) (LEAVE))
    (func (export "many") (param i32)
      (loop (call $f) (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
    (func $g (local $t i32) (ENTER 1) (call $h) (LEAVE))
    (func (export "open") (local $t i32) (ENTER 0) (call $g) (LEAVE))"#;

/// Calls an export of the guest in a store that is gone afterwards.
fn run(
    recorder: &Recorder,
    engine: &Engine,
    name: &str,
    calls: Option<u32>,
    h: impl Fn() + Send + Sync + 'static,
) {
    let mut store = Store::new(engine, ());
    let mut linker = Linker::new(engine);
    let lane = recorder.link(&mut store, &mut linker).unwrap();
    linker.func_wrap("host", "h", move |_: Caller<'_, ()>| h()).unwrap();
    let instance = linker.instantiate(&mut store, &module(engine, GUEST)).unwrap();
    lane.call(&mut store, |store| match calls {
        Some(calls) => instance.get_typed_func::<u32, ()>(&mut *store, name)?.call(store, calls),
        None => instance.get_typed_func::<(), ()>(&mut *store, name)?.call(store, ()),
    })
    .unwrap();
}

#[test]
fn an_interruption_closes_what_runs_and_the_guest_goes_on() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    let interrupter = recorder.clone();
    run(&recorder, &engine, "open", None, move || {
        let recorder = interrupter.clone();
        // Another thread does it, as one that handles signals would.
        std::thread::spawn(move || recorder.interrupt("interrupted by SIGINT").unwrap()).join().unwrap();
    });
    assert!(matches!(recorder.finish("completed").unwrap_err().kind(), ErrorKind::Finished));
    assert_text(
        &trace.text(),
        "0 @2 enter 0
         0 @3 enter 1
         0 @4 unwind to 0, interrupted
         end @4 interrupted by SIGINT: 3 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn an_interruption_in_the_midst_of_events_leaves_whole_ones() {
    let engine = engine();
    for round in 0..20 {
        let (recorder, trace) =
            recorder_with(&engine, |builder| builder.clock(ClockChoice::Precise).calibrate(false));
        let stop = Arc::new(AtomicBool::new(false));
        let guest = {
            let (recorder, engine, stop) = (recorder.clone(), engine.clone(), stop.clone());
            std::thread::spawn(move || {
                let mut store = Store::new(&engine, ());
                let mut linker = Linker::new(&engine);
                recorder.link(&mut store, &mut linker).unwrap();
                linker.func_wrap("host", "h", |_: Caller<'_, ()>| ()).unwrap();
                let instance = linker.instantiate(&mut store, &module(&engine, GUEST)).unwrap();
                let many = instance.get_typed_func::<u32, ()>(&mut store, "many").unwrap();
                while !stop.load(Ordering::Relaxed) {
                    many.call(&mut store, 10_000).unwrap();
                }
            })
        };
        std::thread::sleep(Duration::from_millis(5 + round));
        let summary = recorder.interrupt("interrupted by SIGTERM").unwrap();
        stop.store(true, Ordering::Relaxed);
        guest.join().unwrap();
        let bytes = trace.bytes();
        let [enters, closed] = [
            count(&bytes, |event| matches!(event, Event::Enter(_))),
            count(&bytes, |event| matches!(event, Event::Leave | Event::Unwind { .. })),
        ];
        assert_eq!(enters, closed, "one frame at a time is open, and each is closed");
        assert_eq!(summary.events as usize, enters + closed);
    }
}

#[test]
fn a_store_that_is_gone_is_still_in_the_trace() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    run(&recorder, &engine, "many", Some(2), || {});
    recorder.finish("completed").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 enter 1
         0 @3 leave
         0 @4 enter 1
         0 @5 leave
         end @6 completed: 4 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn a_store_that_lives_on_is_in_the_trace_up_to_the_end() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    let finisher = recorder.clone();
    run(&recorder, &engine, "open", None, move || {
        finisher.finish("completed").unwrap();
    });
    assert_text(
        &trace.text(),
        "0 @2 enter 0
         0 @3 enter 1
         0 @4 unwind to 0, unfinished
         end @4 completed: 3 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn a_recorder_that_is_dropped_ends_its_trace() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    run(&recorder, &engine, "many", Some(1), || {});
    drop(recorder);
    assert!(
        trace
            .text()
            .ends_with("end @4 the recorder was dropped: 2 events, 1 blocks, 0 dropped, 1 recorders\n")
    );
}

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
    assert_eq!(
        error.to_string(),
        format!("failed to write the trace, {dropped_events} events are missing at its end")
    );
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
    let recorder = Recorder::builder().calibrate(false).queue(1).sink(sink).build(&engine).unwrap();
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
    let recorder =
        Recorder::builder().clock(ClockChoice::Test).queue(1).sink(Panicking(0)).build(&engine).unwrap();
    run(&recorder, &engine, "many", Some(100_000), || {});
    assert_eq!(recorder.finish("completed").unwrap_err().to_string(), "the trace's sink panicked");
}

fn table(id_base: u32, names: &[&str]) -> Vec<u8> {
    let symbols = names.iter().enumerate().map(|(n, name)| Symbol {
        id: FuncId(id_base + n as u32),
        func_index: FuncIndex(n as u32),
        name: (*name).into(),
        demangled: None,
        code_offset: 0,
        exported: false,
        imported: false,
        unnamed: false,
    });
    SymbolTable { module: ModuleIdentity::default(), id_base, symbols: symbols.collect() }.to_bytes()
}

#[test]
fn symbol_tables_must_not_overlap() {
    let engine = Engine::default();
    let (recorder, trace) = recorder_with(&engine, |builder| builder.symbols(table(0, &["a", "b"])));
    recorder.symbols(table(2, &["c"])).unwrap();
    let error = recorder.symbols(table(1, &["d"])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "two modules use the same function ids, 0..2 and 1..2: rewrite them together or with `--id-base 2`"
    );
    assert_eq!(recorder.symbols([7]).unwrap_err().to_string(), "a module's symbols can't be read");
    assert_eq!(recorder.finish("completed").unwrap().probes, 3);
    let text = trace.text();
    assert_eq!(text.lines().filter(|line| line.starts_with("symbols ")).count(), 2, "{text}");
}

#[test]
fn a_recorder_wants_a_sink_and_a_sensible_period() {
    let engine = Engine::default();
    let error = Recorder::builder().build(&engine).err().expect("no sink");
    assert_eq!(error.to_string(), "the recorder has no sink: say with `sink` where the trace goes");
    let zero = ClockChoice::Ticker { period: Duration::ZERO };
    let error = Recorder::builder().clock(zero).sink(io::sink()).build(&engine).err().expect("no period");
    assert!(matches!(error.kind(), ErrorKind::Period(_)), "{error}");
}

#[test]
fn the_header_tells_the_clock_and_what_probes_cost() {
    let engine = engine();
    let processors = std::thread::available_parallelism().map_or(1, |processors| processors.get());
    for clock in [ClockChoice::Precise, ClockChoice::ticker()] {
        if processors == 1 && clock != ClockChoice::Precise {
            continue; // The ticker is refused there.
        }
        let (recorder, trace) =
            recorder_with(&engine, |builder| builder.clock(clock).command(["kperf-wasm", "run", "a.wasm"]));
        run(&recorder, &engine, "many", Some(50_000), || {});
        let summary = recorder.finish("completed").unwrap();
        assert_eq!((summary.events, summary.recorders), (100_000, 1));
        let bytes = trace.bytes();
        let header = TraceReader::new(&bytes[..]).unwrap().header().clone();
        assert_eq!(header.command, ["kperf-wasm", "run", "a.wasm"]);
        assert_eq!(header.clock.kind == ClockKind::Ticker, clock != ClockChoice::Precise);
        assert!(header.clock.ticks_per_second > 1e6, "{:?}", header.clock);
        let cost = header.probe_cost.expect("calibrated");
        assert!(cost.inside_nanos > 0.0 && cost.outside_nanos >= 0.0, "{cost:?}");
        assert!(summary.end_ticks > header.anchor.ticks);
        assert_eq!(count(&bytes, |_| true), 100_000);
    }
}
