//! What lanes have recorded is written while they live, and a block that left in parts is the same as one that left whole.

use crate::common::exits::{GUEST, compile, engine};
use crate::common::*;
use kperf_rewriter::Recording;
use kperf_trace::{Anomaly, AnomalyKind, Event, Item, LaneId, TraceReader};
use kperf_wasmtime::{Builder, ClockChoice, HostLane, Recorder, WhenFull};
use std::time::{Duration, Instant};
use wasmtime::{Engine, Func, Instance, Linker, Module, Store};

const OFTEN: Option<Duration> = Some(Duration::from_millis(1));

/// How a guest records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Beside,
    Inside,
    HostFunctions,
}

const FORMS: [Form; 3] = [Form::Beside, Form::Inside, Form::HostFunctions];

fn compiled(engine: &Engine, form: Form, text: &str) -> Module {
    let recording = if form == Form::Inside { Recording::inline() } else { Recording::imported() };
    compile(engine, text, recording)
}

fn instantiate(recorder: &Recorder, module: &Module, form: Form) -> (Store<HostLane>, Instance) {
    let mut store = Store::new(module.engine(), recorder.host_lane());
    let mut linker: Linker<HostLane> = Linker::new(module.engine());
    match form {
        Form::Beside => drop(recorder.link(&mut store, &mut linker).unwrap()),
        Form::Inside => drop(recorder.link_inlined(&mut store, &mut linker).unwrap()),
        Form::HostFunctions => recorder.add_to_linker(&mut linker, |lane| lane).unwrap(),
    }
    let h = Func::wrap(&mut store, |_: i32| ());
    linker.define(&mut store, "host", "h", h).unwrap();
    let instance = linker.instantiate(&mut store, module).unwrap();
    (store, instance)
}

fn call(store: &mut Store<HostLane>, instance: Instance, name: &str, value: i32) {
    let f = instance.get_typed_func::<i32, i32>(&mut *store, name).unwrap();
    // It may trap or throw.
    let _ = f.call(&mut *store, value);
    let _ = store.take_pending_exception();
}

/// The events, with their times, and how many batches they came in.
fn events(bytes: &[u8]) -> (Vec<(LaneId, u64, Event)>, usize) {
    let mut reader = TraceReader::new(bytes).unwrap();
    let (mut events, mut batches) = (Vec::new(), 0);
    while let Some(item) = reader.next().unwrap() {
        if let Item::Events(batch) = item {
            batches += 1;
            events.extend(batch.events.iter().map(|timed| (batch.lane, timed.ticks, timed.event)));
        }
    }
    let is_cut_off = |anomaly: &Anomaly| matches!(anomaly.kind, AnomalyKind::NoEnd);
    assert!(reader.anomalies().iter().all(is_cut_off), "{:?}", reader.anomalies());
    (events, batches)
}

#[test]
fn blocks_that_leave_in_parts_have_the_same_events_at_the_same_times() {
    let engine = engine();
    for form in FORMS {
        let module = compiled(&engine, form, GUEST);
        let [(whole, of_whole), (parts, of_parts)] = [None, OFTEN].map(|every| {
            let (recorder, trace) = recorder_with(&engine, |builder| builder.flush_every(every));
            let (mut store, instance) = instantiate(&recorder, &module, form);
            for (name, value) in crate::common::exits::CALLS {
                let (before, begun) = (recorder.stats().events, Instant::now());
                call(&mut store, instance, name, value);
                // Until a part of it has left.
                while every.is_some() && recorder.stats().events == before {
                    assert!(begun.elapsed() < Duration::from_secs(60), "{form:?}: {:?}", recorder.stats());
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            call(&mut store, instance, "fib", 22);
            drop(store);
            recorder.finish("completed").unwrap();
            events(&trace.bytes())
        });
        assert!(of_parts > of_whole, "{form:?}: {of_parts} batches, {of_whole} if they are whole");
        assert!(whole == parts, "{form:?}: {} events, and {} in parts", whole.len(), parts.len());
    }
}

/// Calls of `g` by `f`, which calls nothing: while the ticker stands, one word is for the enter and the leave.
const LEAVES: &str = r#"(module
  (import "host" "h" (func $h (param i32)))
  (memory 1)
  (func $g (param i32) (result i32) (i32.load (i32.and (local.get 0) (i32.const 0xff0))))
  (func (export "f") (param i32) (result i32)
    (loop $again
      (drop (call $g (local.get 0)))
      (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))
      br_if $again)
    (local.get 0)))"#;

#[test]
fn a_guest_that_runs_meanwhile_loses_no_call() {
    const CALLS: usize = 3_000_000;
    let engine = engine();
    for (form, clock) in FORMS
        .into_iter()
        .flat_map(|form| [ClockChoice::ticker(), ClockChoice::Precise].map(|clock| (form, clock)))
    {
        // The queue is often full, and the guest waits for the writer.
        let describe = |builder: Builder| {
            builder
                .clock(clock)
                .calibrate(false)
                .flush_every(OFTEN)
                .queue_bytes(300_000)
                .when_full(WhenFull::Wait)
        };
        let (recorder, trace) = recorder_with(&engine, describe);
        let (mut store, instance) = instantiate(&recorder, &compiled(&engine, form, LEAVES), form);
        call(&mut store, instance, "f", CALLS as i32);
        drop(store);
        let summary = recorder.finish("completed").unwrap();
        assert_eq!(
            (summary.events, summary.dropped_events),
            (2 * (CALLS as u64 + 1), 0),
            "{form:?} {clock:?}"
        );
        let (events, _) = events(&trace.bytes());
        let (mut depth, mut calls, mut last) = (0, 0, 0);
        for (_, ticks, event) in events {
            assert!(ticks >= last, "{form:?} {clock:?}");
            last = ticks;
            match event {
                Event::Enter(_) => depth += 1,
                Event::Leave => {
                    depth -= 1;
                    calls += 1;
                }
                _ => continue,
            }
            assert!((0..=2).contains(&depth), "{form:?} {clock:?}");
        }
        assert_eq!((depth, calls), (0, CALLS + 1), "{form:?} {clock:?}");
    }
}

#[test]
fn what_a_store_has_recorded_is_written_while_it_lives() {
    let engine = engine();
    for (form, clock) in FORMS
        .into_iter()
        .flat_map(|form| [ClockChoice::ticker(), ClockChoice::Precise].map(|clock| (form, clock)))
    {
        // As it is by default.
        let (recorder, trace) = recorder_with(&engine, |builder| builder.clock(clock));
        let (mut store, instance) = instantiate(&recorder, &compiled(&engine, form, LEAVES), form);
        for count in 1..3 {
            call(&mut store, instance, "f", 10);
            let begun = Instant::now();
            while recorder.stats().events < 22 * count {
                assert!(
                    begun.elapsed() < Duration::from_secs(60),
                    "{form:?} {clock:?}: {:?}",
                    recorder.stats()
                );
                std::thread::sleep(Duration::from_millis(5));
            }
            // A process that is killed now leaves this.
            let (events, _) = events(&trace.bytes());
            let is_of_call = |event| matches!(event, Event::Enter(_) | Event::Leave);
            let of_calls = events.iter().filter(|(.., event)| is_of_call(*event)).count();
            assert_eq!(of_calls as u64, 22 * count, "{form:?} {clock:?}");
        }
    }
}

#[test]
fn under_a_clock_for_repeatable_traces_only_full_blocks_are_written() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    let (mut store, instance) =
        instantiate(&recorder, &compiled(&engine, Form::Inside, LEAVES), Form::Inside);
    call(&mut store, instance, "f", 10);
    std::thread::sleep(Duration::from_millis(1500));
    call(&mut store, instance, "f", 10);
    drop(store);
    recorder.finish("completed").unwrap();
    let (events, batches) = events(&trace.bytes());
    assert_eq!((events.len(), batches), (44, 1));
}
