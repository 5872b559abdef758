//! How recordings end: finished, interrupted, dropped; and how they begin.

use crate::common::*;
use cpu_time::ProcessTime;
use kperf_abi::symbols::{Symbol, SymbolTable};
use kperf_abi::{FuncId, FuncIndex};
use kperf_trace::{ClockKind, Event, ProbeCost, TraceReader};
use kperf_wasmtime::{ClockChoice, ErrorKind, Recorder};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wasmtime::{Caller, Engine, Linker, Store};

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
        let (runs, running) = std::sync::mpsc::channel();
        let guest = {
            let (recorder, engine, stop) = (recorder.clone(), engine.clone(), stop.clone());
            std::thread::spawn(move || {
                let mut store = Store::new(&engine, ());
                let mut linker = Linker::new(&engine);
                recorder.link(&mut store, &mut linker).unwrap();
                linker.func_wrap("host", "h", |_: Caller<'_, ()>| ()).unwrap();
                let instance = linker.instantiate(&mut store, &module(&engine, GUEST)).unwrap();
                let many = instance.get_typed_func::<u32, ()>(&mut store, "many").unwrap();
                many.call(&mut store, 10_000).unwrap();
                runs.send(()).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    many.call(&mut store, 10_000).unwrap();
                }
            })
        };
        running.recv().unwrap();
        // Each time somewhere else in a block.
        std::thread::sleep(Duration::from_micros(300 + 37 * round));
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
fn a_summary_has_the_processor_time_of_the_whole_process() {
    let engine = engine();
    let nanos = |since: ProcessTime| since.elapsed().as_nanos() as u64;
    let before = ProcessTime::now();
    let (recorder, _) =
        recorder_with(&engine, |builder| builder.clock(ClockChoice::Precise).calibrate(false));
    let recording = ProcessTime::now();
    // This thread is none of the recorder's.
    while recording.elapsed() < Duration::from_millis(5) {}
    let within = nanos(recording);
    let told = recorder.finish("completed").unwrap().cpu_nanos.unwrap();
    assert!((within..=nanos(before)).contains(&told), "{told}");
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

fn table(id_base: u32, names: &[&str]) -> Vec<u8> {
    let symbols = names.iter().enumerate().map(|(n, name)| Symbol {
        id: FuncId(id_base + n as u32),
        func_index: FuncIndex(n as u32),
        name: (*name).into(),
        ..Symbol::default()
    });
    SymbolTable { id_base, symbols: symbols.collect(), ..SymbolTable::default() }.to_bytes()
}

#[test]
fn symbol_tables_must_not_overlap() {
    let engine = Engine::default();
    let (recorder, trace) = recorder_with(&engine, |builder| builder.symbols(table(0, &["a", "b"])));
    recorder.symbols(table(2, &["c"])).unwrap();
    let error = recorder.symbols(table(1, &["d"])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "two modules use the same function ids, 0..2 and 1..2: rewrite them together, or give the second ids from 2"
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
    assert_eq!(error.to_string(), "the recorder has no sink: call `sink`");
    let zero = ClockChoice::Ticker { period: Duration::ZERO };
    let error = Recorder::builder().clock(zero).sink(io::sink()).build(&engine).err().expect("no period");
    assert!(matches!(error.kind(), ErrorKind::Period(_)), "{error}");
}

#[test]
fn the_header_tells_the_clock_and_what_probes_cost() {
    let engine = engine();
    for clock in [ClockChoice::Precise, ClockChoice::ticker()] {
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
        // A ticker that gets no processor all the while has nothing to split the cost by.
        assert!(summary.probe_cost.is_some() || clock != ClockChoice::Precise, "calibrated");
        let plausible =
            |cost: ProbeCost| cost.inside_nanos >= 0.0 && cost.inside_nanos + cost.outside_nanos > 0.0;
        assert!(summary.probe_cost.is_none_or(plausible), "{:?}", summary.probe_cost);
        assert!(summary.end_ticks > header.anchor.ticks);
        assert_eq!(count(&bytes, |_| true), 100_000);
    }
}
