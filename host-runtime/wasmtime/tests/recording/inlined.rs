//! Modules with their recorder inside: the same trace as with a recorder beside them, and nothing lost on any way out.

mod clock;

use crate::common::exits::{CALLS, GUEST, compile, engine};
use crate::common::*;
use kperf_rewriter::{Leaf, Recording};
use kperf_trace::{Event, Item, TraceReader};
use kperf_wasmtime::{ClockChoice, Inlined, Recorder, is_inlined};
use std::time::Duration;
use wasmtime::{Engine, Func, Instance, Linker, Module, Store, UpdateDeadline};
use wasmtime_wasi::I32Exit;

enum Lanes {
    Beside(kperf_wasmtime::Lane),
    Inside(Inlined),
}

impl Lanes {
    fn call(
        &self,
        store: &mut Store<()>,
        instance: Instance,
        name: &str,
        value: i32,
    ) -> wasmtime::Result<i32> {
        let f = instance.get_typed_func::<i32, i32>(&mut *store, name)?;
        match self {
            Lanes::Beside(lane) => lane.call(store, |store| f.call(store, value)),
            Lanes::Inside(lanes) => lanes.call(store, |store| f.call(store, value)),
        }
    }
}

fn instantiate(recorder: &Recorder, module: &Module) -> (Store<()>, Lanes, Instance) {
    let mut store = Store::new(module.engine(), ());
    let mut linker = Linker::new(module.engine());
    let lanes = if is_inlined(module) {
        Lanes::Inside(recorder.link_inlined(&mut store, &mut linker).unwrap())
    } else {
        Lanes::Beside(recorder.link(&mut store, &mut linker).unwrap())
    };
    let h = Func::wrap(&mut store, |value: i32| match value {
        0 => Err(wasmtime::Error::msg("h has failed")),
        1 => Err(I32Exit(3).into()),
        _ => Ok(()),
    });
    linker.define(&mut store, "host", "h", h).unwrap();
    let instance = linker.instantiate(&mut store, module).unwrap();
    (store, lanes, instance)
}

fn drive(recorder: &Recorder, module: &Module) -> Vec<Result<i32, String>> {
    let (mut store, lanes, instance) = instantiate(recorder, module);
    let mut call = |name, value| {
        let result = lanes.call(&mut store, instance, name, value);
        let _ = store.take_pending_exception();
        result.map_err(|error| error.root_cause().to_string())
    };
    let calls = CALLS.into_iter().chain([("host", 7)]);
    let mut results: Vec<_> = calls.map(|(name, value)| call(name, value)).collect();
    // Enough for some blocks more.
    results.push(call("fib", 22));
    drop(store);
    results
}

#[test]
fn the_trace_is_that_of_a_recorder_beside_the_module_byte_for_byte() {
    let engine = engine();
    let [(beside, results), (inside, others)] = [Recording::imported(), Recording::inline()].map(|probe| {
        let (recorder, trace) = recorder(&engine);
        let results = drive(&recorder, &compile(&engine, GUEST, probe));
        recorder.finish("completed").unwrap();
        (trace.bytes(), results)
    });
    assert_eq!(results, others);
    assert!(count(&beside, |_| true) > 100_000);
    let [beside_text, inside_text] = [&beside, &inside].map(|bytes| text(bytes));
    assert_text(&inside_text, &beside_text);
    // Numbers of blocks and all else included; only the process and its start differ by nothing under the test clock.
    assert!(beside == inside, "the events are the same, the bytes are not");
}

#[test]
fn with_a_ticker_no_call_is_missing() {
    let engine = engine();
    for probe in [Recording::imported(), Recording::inline()] {
        let (recorder, trace) = recorder_with(&engine, |builder| builder.clock(ClockChoice::ticker()));
        drive(&recorder, &compile(&engine, GUEST, probe));
        let summary = recorder.finish("completed").unwrap();
        assert_eq!(summary.events, EVENTS, "{probe:?}");
        assert_eq!(count(&trace.bytes(), |_| true), EVENTS as usize, "{probe:?}");
    }
}

/// Functions that call nothing are entered and left by one word, unless the clock moves meanwhile or the block is full.
#[test]
fn a_ticker_may_move_while_a_function_runs_that_calls_nothing() {
    let engine = engine();
    // Long enough for a tick to come, and so short that it is recorded at its end.
    let hash = (0..9).fold("(local.get 0)".to_owned(), |hash, _| {
        format!("(i32.xor (i32.mul {hash} (i32.const 0x9e3779b1)) (local.get 0))")
    });
    let load = format!("(i32.load (i32.and {hash} (i32.const 0xff0)))");
    for body in [hash, load] {
        let text = format!(
            r#"(module (memory 1)
                 (func $g (param i32) (result i32) {body})
                 (func (export "f") (param i32) (result i32)
                   (loop $again
                     (drop (call $g (local.get 0)))
                     (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))
                     br_if $again)
                   (local.get 0)))"#
        );
        let module = compile(&engine, &text, Recording::inline());
        // On a busy machine the ticker may stand still throughout. It doesn't do so again and again.
        let saw_ticks = (0..50).any(|_| calls_that_see_a_tick(&engine, &module) > 0);
        assert!(saw_ticks, "{body}");
    }
}

/// Records two million calls of `g` by `f`, and checks that all are there, each left after it was entered. Answers in how many
/// the clock moved.
fn calls_that_see_a_tick(engine: &Engine, module: &Module) -> u32 {
    const CALLS: i32 = 2_000_000;
    // A tick of 500 ns: many calls see it.
    let clock = ClockChoice::Ticker { period: Duration::from_nanos(500) };
    let (recorder, trace) = recorder_with(engine, |builder| builder.clock(clock).calibrate(false));
    let (mut store, lanes, instance) = instantiate(&recorder, module);
    lanes.call(&mut store, instance, "f", CALLS).unwrap();
    drop(store);
    assert_eq!(recorder.finish("completed").unwrap().events, 2 * (CALLS as u64 + 1));
    let bytes = trace.bytes();
    let mut reader = TraceReader::new(&bytes[..]).unwrap();
    let (mut open, mut calls, mut late, mut entered) = (vec![], 0, 0, 0);
    let (g, f) = (100, 101);
    while let Some(item) = reader.next().unwrap() {
        let Item::Events(batch) = item else { continue };
        for timed in batch.events {
            match timed.event {
                Event::Enter(id) => {
                    assert_eq!(id.0, if open.is_empty() { f } else { g });
                    open.push(id.0);
                    entered = timed.ticks;
                }
                Event::Leave if open.pop() == Some(g) => {
                    calls += 1;
                    late += u32::from(timed.ticks > entered);
                }
                Event::Leave => assert_eq!(calls, CALLS, "the last to be left"),
                Event::Pause(_) | Event::Wait(_) => {}
                ref event => panic!("{event:?}"),
            }
            assert!(open.len() <= 2);
        }
    }
    assert_eq!(reader.anomalies(), []);
    assert_eq!((calls, open.len()), (CALLS, 0));
    late
}

#[test]
fn what_a_probe_costs_is_measured_inside() {
    let engine = engine();
    let cost = |_| {
        let clock = ClockChoice::ticker();
        let (recorder, _) = recorder_with(&engine, |builder| builder.clock(clock));
        drive(&recorder, &compile(&engine, GUEST, Recording::inline()));
        recorder.finish("completed").unwrap().probe_cost
    };
    // On a busy machine the ticker may stand still throughout; then nothing is said. It doesn't do so again and again.
    let cost = (0..20).find_map(cost).expect("calibrated");
    assert!(cost.inside_nanos >= 0.0 && cost.inside_nanos + cost.outside_nanos > 0.0, "{cost:?}");
}

/// What [`drive`] records.
const EVENTS: u64 = {
    const fn fib(n: u64) -> u64 {
        if n < 2 { 2 } else { 1 + fib(n - 1) + fib(n - 2) }
    }
    // An unwind closes all that is open; a tail call leaves before it enters.
    2 * (fib(18) + fib(22))
        + (6 + 1)
        + (1 + 6 + 1 + 1 + 1 + 2 + 1)
        + (1 + 1)
        + 2 * 5002
        + (3 + 1)
        + (1 + 1)
        + 2
};

#[test]
fn functions_that_are_counted_only_are_all_there_at_their_places() {
    // With a leaf that can't trap. Times differ: a call of it reads the clock once.
    let guest = GUEST.replace("(i32.load (local.get 0)))", "(i32.add (local.get 0) (i32.const 1)))");
    let engine = engine();
    for clock in [ClockChoice::Test, ClockChoice::Precise, ClockChoice::ticker()] {
        let [timed, counted] = [Leaf::Time, Leaf::Count].map(|leaf| {
            let (recorder, trace) = recorder_with(&engine, |builder| builder.clock(clock).calibrate(false));
            let module = compile(&engine, &guest, Recording::inline_with(leaf));
            let results = drive(&recorder, &module);
            let summary = recorder.finish("completed").unwrap();
            let is_event = |line: &&str| ["enter", "leave", "unwind"].iter().any(|word| line.contains(word));
            let events: Vec<String> = trace.text().lines().filter(is_event).map(without_time).collect();
            assert_eq!(count(&trace.bytes(), |_| true) as u64, summary.events, "{clock:?}");
            (results, summary.events, events)
        });
        assert!(timed.1 > 100_000 && timed.0 == counted.0 && timed.1 == counted.1, "{clock:?}");
        assert!(timed.2 == counted.2, "{clock:?}");
    }
}

/// `0 @17 enter 3` without its time.
fn without_time(line: &str) -> String {
    line.split_whitespace().filter(|word| !word.starts_with('@')).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_function_that_is_counted_only_may_be_the_start_section_or_called_by_the_host() {
    let engine = engine();
    let text =
        r#"(module (func $pure (export "f") (param i32) (result i32) (local.get 0)) (func $s) (start $s))"#;
    let module = compile(&engine, text, Recording::inline_with(Leaf::Count));
    let (recorder, trace) = recorder(&engine);
    let (mut store, lanes, instance) = instantiate(&recorder, &module);
    let Lanes::Inside(inside) = &lanes else { panic!("the recorder is inside") };
    lanes.call(&mut store, instance, "f", 1).unwrap();
    inside.set_recording(&mut store, false);
    lanes.call(&mut store, instance, "f", 1).unwrap();
    inside.set_recording(&mut store, true);
    lanes.call(&mut store, instance, "f", 1).unwrap();
    recorder.finish("completed").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 enter 101
         0 @2 leave
         0 @3 enter 100
         0 @3 leave
         0 @4 enter 100
         0 @4 leave
         end @5 completed: 6 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn a_start_section_is_recorded_even_if_it_traps() {
    let engine = engine();
    let text =
        "(module (memory 1) (func $main (call $f)) (func $f (drop (i32.load (i32.const -1)))) (start $main))";
    let module = compile(&engine, text, Recording::inline());
    let (recorder, trace) = recorder(&engine);
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    let lanes = recorder.link_inlined(&mut store, &mut linker).unwrap();
    lanes.call(&mut store, |store| linker.instantiate(store, &module)).unwrap_err();
    assert_eq!(lanes.lanes().len(), 1);
    recorder.finish("trap").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 enter 100
         0 @3 enter 101
         0 @4 unwind to 0, trap
         end @5 trap: 3 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

const PLAIN: &str = r#"(module (func (export "f") (param i32) (result i32) (call $g (local.get 0)))
    (func $g (param i32) (result i32) (local.get 0)))"#;

#[test]
fn what_is_recorded_outlives_the_store() {
    let engine = engine();
    let module = compile(&engine, PLAIN, Recording::inline());
    let (recorder, trace) = recorder(&engine);
    let (mut store, lanes, instance) = instantiate(&recorder, &module);
    lanes.call(&mut store, instance, "f", 1).unwrap();
    drop((store, lanes));
    recorder.finish("completed").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 enter 100
         0 @3 enter 101
         0 @4 leave
         0 @5 leave
         end @6 completed: 4 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn threads_with_stores_of_their_own_record_into_one_trace() {
    const THREADS: u64 = 4;
    for clock in [ClockChoice::Precise, ClockChoice::ticker()] {
        let engine = engine();
        let module = compile(&engine, GUEST, Recording::inline());
        let (recorder, trace) = recorder_with(&engine, |builder| builder.clock(clock));
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| drive(&recorder, &module));
            }
        });
        let summary = recorder.finish("completed").unwrap();
        assert_eq!(summary.events, THREADS * EVENTS, "{clock:?}");
        assert_eq!(count(&trace.bytes(), |_| true), (THREADS * EVENTS) as usize, "{clock:?}");
    }
}

#[test]
fn each_instance_is_a_lane() {
    let engine = engine();
    let module = compile(&engine, PLAIN, Recording::inline());
    let (recorder, trace) = recorder(&engine);
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    let lanes = recorder.link_inlined(&mut store, &mut linker).unwrap();
    let instances = [0; 2].map(|_| linker.instantiate(&mut store, &module).unwrap());
    let inside = Lanes::Inside(lanes.clone());
    for n in [0, 1, 0] {
        inside.call(&mut store, instances[n], "f", 1).unwrap();
    }
    assert_eq!(lanes.lanes().iter().map(kperf_wasmtime::Lane::id).collect::<Vec<_>>(), [0, 1]);
    recorder.finish("completed").unwrap();
    assert_eq!(count(&trace.bytes(), |_| true), 12);
}

#[test]
fn probes_are_switched_off_and_on() {
    for clock in [ClockChoice::Test, ClockChoice::ticker()] {
        let engine = engine();
        let module = compile(&engine, PLAIN, Recording::inline());
        let (recorder, trace) = recorder_with(&engine, |builder| builder.clock(clock));
        let (mut store, lanes, instance) = instantiate(&recorder, &module);
        let Lanes::Inside(inside) = &lanes else { panic!("the recorder is inside") };
        inside.set_recording(&mut store, false);
        lanes.call(&mut store, instance, "f", 1).unwrap();
        inside.set_recording(&mut store, true);
        lanes.call(&mut store, instance, "f", 1).unwrap();
        inside.set_recording(&mut store, false);
        lanes.call(&mut store, instance, "f", 1).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1));
        lanes.call(&mut store, instance, "f", 1).unwrap();
        inside.set_recording(&mut store, true);
        lanes.call(&mut store, instance, "f", 1).unwrap();
        assert_eq!(recorder.finish("completed").unwrap().events, 8, "{clock:?}");
        assert_eq!(count(&trace.bytes(), |_| true), 8, "{clock:?}");
    }
}

#[test]
fn an_epoch_callback_may_flush_while_a_function_that_calls_nothing_loops() {
    let engine = engine_with(|config| {
        config.epoch_interruption(true);
    });
    let text = r#"(module (func (export "f") (param i32) (result i32)
        (loop $again (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
        (local.get 0)))"#;
    let module = compile(&engine, text, Recording::inline());
    let (recorder, trace) = recorder(&engine);
    let (mut store, lanes, instance) = instantiate(&recorder, &module);
    let Lanes::Inside(inside) = &lanes else { panic!("the recorder is inside") };
    let inside = inside.clone();
    // It is called in front of every function, and in each turn of a loop.
    store.set_epoch_deadline(0);
    store.epoch_deadline_callback(move |store| {
        inside.flush(store);
        Ok(UpdateDeadline::Continue(0))
    });
    lanes.call(&mut store, instance, "f", 3).unwrap();
    recorder.finish("completed").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 enter 100
         0 @3 leave
         end @4 completed: 2 events, 2 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn a_module_that_only_claims_to_have_a_recorder_is_an_error() {
    let engine = engine();
    let guests = [
        ("", "who flushes has no recorder inside"),
        (
            r#"(memory (export "kperf.memory") 1 1 shared)"#,
            "the module exports no global `kperf.state.head`: if another version has rewritten it, rewrite the original with this one",
        ),
        (
            r#"(memory (export "kperf.memory") 1 1 shared)
               (global (export "kperf.state.head") (mut i64) (i64.const 0))
               (global (export "kperf.state.stack") (mut i32) (i32.const 0))
               (global (export "kperf.state.last") (mut i64) (i64.const 0))"#,
            "the recorder's memory is too small",
        ),
    ];
    for (exports, expected) in guests {
        let text = format!(
            r#"(module (import "kperf:host" "flush" (func $flush (param i32 i32))) {exports}
                (func (export "f") (param i32) (result i32)
                  (call $flush (i32.const 0) (i32.const 0)) (i32.const 0)))"#
        );
        let module = Module::new(&engine, wat::parse_str(text).unwrap()).unwrap();
        let (recorder, _) = recorder(&engine);
        let (mut store, lanes, instance) = instantiate(&recorder, &module);
        let error = lanes.call(&mut store, instance, "f", 1).unwrap_err();
        assert_eq!(error.root_cause().to_string(), expected);
    }
}
