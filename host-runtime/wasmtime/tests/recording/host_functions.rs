//! The recorder as host functions: the same blocks as the module's, for embedders with a store for each request.

use crate::common::*;
use kperf_trace::{ClockKind, Event, Item, TraceReader};
use kperf_wasmtime::{ClockChoice, HostLane, Reason, TraceContext};
use std::time::Duration;
use wasmtime::{
    Config, Engine, Instance, InstanceAllocationStrategy, Linker, Module, PoolingAllocationConfig, Store,
    TypedFunc, WasmParams, WasmResults,
};

/// Hands the recorder's functions through to the test.
const PASS: &str = r#"(module
    (import "kperf" "enter" (func $enter (param i32) (result i32)))
    (import "kperf" "leave" (func $leave (param i32)))
    (import "kperf" "unwind" (func $unwind (param i32)))
    (import "kperf" "close" (func $close (param i32 i32)))
    (import "kperf" "switch" (func $switch (param i32)))
    (import "kperf" "mark" (func $mark (param i32)))
    (import "kperf" "flush" (func $flush))
    (import "kperf" "depth" (func $depth (result i32)))
    (export "enter" (func $enter)) (export "leave" (func $leave)) (export "unwind" (func $unwind))
    (export "close" (func $close)) (export "switch" (func $switch)) (export "mark" (func $mark))
    (export "flush" (func $flush)) (export "depth" (func $depth)))"#;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as u32 % n
    }
}

/// Does whatever guests and hosts may do, in an order by chance. Answers the depths on the way.
fn drive<T: 'static>(store: &mut Store<T>, linker: &Linker<T>, seed: u64) -> Vec<u32> {
    fn func<T: 'static, P: WasmParams, R: WasmResults>(
        store: &mut Store<T>,
        instance: Instance,
        name: &str,
    ) -> TypedFunc<P, R> {
        instance.get_typed_func(store, name).unwrap()
    }
    let module = Module::new(store.engine(), wat::parse_str(PASS).unwrap()).unwrap();
    let instance = linker.instantiate(&mut *store, &module).unwrap();
    let enter: TypedFunc<u32, u32> = func(store, instance, "enter");
    let [leave, unwind, switch, mark] =
        ["leave", "unwind", "switch", "mark"].map(|name| func::<T, u32, ()>(store, instance, name));
    let close: TypedFunc<(u32, u32), ()> = func(store, instance, "close");
    let flush: TypedFunc<(), ()> = func(store, instance, "flush");
    let depth: TypedFunc<(), u32> = func(store, instance, "depth");
    let mut random = Random(seed);
    let mut depths = Vec::new();
    for _ in 0..60_000 {
        let now = depth.call(&mut *store, ()).unwrap();
        match random.below(100) {
            0..48 => assert_eq!(enter.call(&mut *store, random.below(1 << 30)).unwrap(), now + 1),
            48..90 => leave.call(&mut *store, now).unwrap(),
            // Tokens of frames that are closed, of outer frames, of nobody.
            90..93 => leave.call(&mut *store, random.below(now + 3)).unwrap(),
            93..95 => unwind.call(&mut *store, random.below(now + 3)).unwrap(),
            95 => close.call(&mut *store, (random.below(6), random.below(now + 3))).unwrap(),
            96 => switch.call(&mut *store, random.below(5) * 192).unwrap(),
            97 => mark.call(&mut *store, random.below(u32::MAX)).unwrap(),
            98 if random.below(50) == 0 => flush.call(&mut *store, ()).unwrap(),
            _ => depths.push(now),
        }
    }
    depths
}

#[test]
fn the_module_and_the_host_functions_write_the_same_bytes() {
    let engine = engine();
    for seed in [1, 2, 0x9e37_79b9_7f4a_7c15] {
        let (recorder, by_module) = recorder(&engine);
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        recorder.link(&mut store, &mut linker).unwrap();
        let module_depths = drive(&mut store, &linker, seed);
        let summary = recorder.finish("completed").unwrap();
        assert!(summary.blocks > 3, "{summary:?}");

        let (recorder, by_host) = crate::common::recorder(&engine);
        let mut store = Store::new(&engine, recorder.host_lane());
        let mut linker = Linker::new(&engine);
        recorder.add_to_linker(&mut linker, |lane| lane).unwrap();
        let host_depths = drive(&mut store, &linker, seed);
        recorder.finish("completed").unwrap();

        assert_eq!(module_depths, host_depths);
        assert!(by_module.bytes() == by_host.bytes(), "the traces differ with seed {seed}");
        // And it is a trace that reads well: frames that were closed were open.
        let enters = count(&by_host.bytes(), |event| matches!(event, Event::Enter(_)));
        let leaves = count(&by_host.bytes(), |event| matches!(event, Event::Leave));
        assert!(leaves < enters && leaves > 10_000, "{leaves} of {enters}");
    }
}

struct Request {
    lane: HostLane,
    number: u32,
}

#[test]
fn a_store_for_each_request_from_a_pool() {
    let mut config = Config::new();
    let mut pool = PoolingAllocationConfig::new();
    pool.total_core_instances(4).total_memories(4).total_tables(4);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    let engine = Engine::new(&config).unwrap();
    let (recorder, trace) = recorder(&engine);
    let guest = module(
        &engine,
        r#"(import "host" "number" (func $number (result i32)))
           (memory 1)
           (func $work (param i32) (local $t i32) (ENTER 1) (if (local.get 0) (then (unreachable))) (LEAVE))
           (func (export "serve") (local $t i32) (ENTER 0) (call $work (call $number)) (LEAVE))"#,
    );
    let mut linker: Linker<Request> = Linker::new(&engine);
    linker.func_wrap("host", "number", |caller: wasmtime::Caller<'_, Request>| caller.data().number).unwrap();
    recorder.add_to_linker(&mut linker, |request| &mut request.lane).unwrap();
    let pre = linker.instantiate_pre(&guest).unwrap();
    for number in 0..2 {
        let mut store = Store::new(&engine, Request { lane: recorder.host_lane(), number });
        let result = HostLane::call(
            &mut store,
            |request| &mut request.lane,
            |store| {
                let instance = pre.instantiate(&mut *store)?;
                instance.get_typed_func::<(), ()>(&mut *store, "serve")?.call(store, ())
            },
        );
        assert_eq!(result.is_err(), number == 1);
    }
    recorder.finish("completed").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 enter 0
         0 @3 enter 1
         0 @4 leave
         0 @5 leave
         0 @7 enter 0
         0 @8 enter 1
         0 @9 unwind to 0, trap
         end @10 completed: 7 events, 2 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn a_host_lane_marks_switches_and_closes_when_dropped() {
    let engine = Engine::default();
    let (recorder, trace) = recorder(&engine);
    let mut store = Store::new(&engine, recorder.host_lane());
    let mut linker = Linker::new(&engine);
    recorder.add_to_linker(&mut linker, |lane| lane).unwrap();
    let instance = linker
        .instantiate(&mut store, &module(&engine, "(func (export \"f\") (local $t i32) (ENTER 5))"))
        .unwrap();
    let f = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();
    store.data_mut().mark(3);
    f.call(&mut store, ()).unwrap();
    store.data_mut().switch(1);
    f.call(&mut store, ()).unwrap();
    store.data_mut().close(Reason::Host, 0);
    f.call(&mut store, ()).unwrap();
    assert_eq!(store.data_mut().depth(), 1);
    drop(store);
    recorder.finish("completed").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 mark 3
         0 @3 enter 5
         0.1 @5 enter 5
         0.1 @6 unwind to 0, host error
         0.1 @7 enter 5
         0.1 @8 unwind to 0, unfinished
         0 @8 unwind to 0, unfinished
         end @9 completed: 7 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn host_functions_read_the_ticker() {
    let engine = Engine::default();
    let ticker = ClockChoice::Ticker { period: Duration::from_millis(2) };
    let (recorder, trace) = recorder_with(&engine, |builder| builder.clock(ticker).calibrate(false));
    let mut store = Store::new(&engine, recorder.host_lane());
    let mut linker = Linker::new(&engine);
    recorder.add_to_linker(&mut linker, |lane| lane).unwrap();
    let many = module(
        &engine,
        r#"(func $f (local $t i32) (ENTER 0) (LEAVE))
           (func (export "f") (param i32)
             (loop (call $f) (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))"#,
    );
    let instance = linker.instantiate(&mut store, &many).unwrap();
    instance.get_typed_func::<u32, ()>(&mut store, "f").unwrap().call(&mut store, 100_000).unwrap();
    recorder.finish("completed").unwrap();
    assert_eq!(count(&trace.bytes(), |event| matches!(event, Event::Enter(_))), 100_000);
    let bytes = trace.bytes();
    let clock = &TraceReader::new(&bytes[..]).unwrap().header().clock.clone();
    assert_eq!((clock.kind, clock.period_nanos), (ClockKind::Ticker, Some(2_000_000)));
}

#[test]
fn each_request_is_recorded_or_not() {
    let engine = Engine::default();
    let (recorder, trace) = recorder(&engine);
    let mut linker: Linker<HostLane> = Linker::new(&engine);
    recorder.add_to_linker(&mut linker, |lane| lane).unwrap();
    let guest = r#"(func (export "f") (param i32) (local $t i32)
        (local.set $t (call $enter (local.get 0))) (LEAVE))"#;
    let pre = linker.instantiate_pre(&module(&engine, guest)).unwrap();
    let parent = |flags| TraceContext { trace_id: [7; 16], span_id: [9; 8], flags, state: String::new() };
    let serve = |id: u32, prepare: fn(&mut HostLane, [TraceContext; 2])| {
        let mut lane = recorder.host_lane();
        prepare(&mut lane, [parent(0), parent(1)]);
        let mut store = Store::new(&engine, lane);
        let is_recording = store.data().is_recording();
        let instance = pre.instantiate(&mut store).unwrap();
        let f = instance.get_typed_func::<u32, ()>(&mut store, "f").unwrap();
        HostLane::call(&mut store, |lane| lane, |store| f.call(store, id)).unwrap();
        assert_eq!(store.data().id().is_some(), is_recording);
        is_recording
    };
    let told = [
        serve(1, |_, _| {}),
        serve(2, |lane, [unsampled, _]| lane.set_parent(Some(unsampled))),
        serve(3, |lane, [_, sampled]| lane.set_parent(Some(sampled))),
        serve(4, |lane, _| lane.set_recording(Some(false))),
        serve(5, |lane, [unsampled, _]| {
            lane.set_parent(Some(unsampled));
            lane.set_recording(Some(true));
        }),
        serve(6, |lane, [unsampled, _]| {
            lane.set_parent(Some(unsampled));
            lane.set_parent(None);
        }),
        serve(7, |lane, _| {
            lane.set_recording(Some(false));
            lane.set_recording(None);
        }),
    ];
    assert_eq!(told, [true, false, true, false, true, true, true]);
    recorder.finish("completed").unwrap();
    let text = trace.text();
    let entered: Vec<&str> =
        text.lines().filter_map(|line| line.split_once("enter ")).map(|(_, id)| id).collect();
    assert_eq!(entered, ["1", "3", "5", "6", "7"], "{text}");
    assert_eq!(text.matches("leave").count(), 5, "{text}");
}

#[test]
fn a_call_that_is_open_is_told_to_its_end() {
    let engine = Engine::default();
    let (recorder, trace) = recorder(&engine);
    let mut linker: Linker<HostLane> = Linker::new(&engine);
    recorder.add_to_linker(&mut linker, |lane| lane).unwrap();
    let switch =
        |mut caller: wasmtime::Caller<'_, HostLane>, on: u32| caller.data_mut().set_recording(Some(on == 1));
    linker.func_wrap("host", "record", switch).unwrap();
    let guest = module(
        &engine,
        r#"(import "host" "record" (func $record (param i32)))
           (func $g (local $t i32) (ENTER 2) (LEAVE))
           (func (export "f") (param i32) (local $t i32) (ENTER 1) (call $record (local.get 0)) (call $g) (LEAVE))"#,
    );
    let mut store = Store::new(&engine, recorder.host_lane());
    let instance = linker.instantiate(&mut store, &guest).unwrap();
    let f = instance.get_typed_func::<u32, ()>(&mut store, "f").unwrap();
    // It goes off within the first, which is told, and on within the third.
    for on in [0, 0, 1] {
        HostLane::call(&mut store, |lane| lane, |store| f.call(store, on)).unwrap();
    }
    assert_eq!(store.data_mut().depth(), 0);
    drop(store);
    recorder.finish("completed").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 enter 1
         0 @3 enter 2
         0 @4 leave
         0 @5 leave
         0 @6 enter 2
         0 @7 leave
         end @8 completed: 6 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn a_lane_never_begins_before_the_one_that_had_its_number() {
    let engine = Engine::default();
    // The next tick comes when all is over.
    let ticker = ClockChoice::Ticker { period: Duration::from_secs(1) };
    let (recorder, trace) = recorder_with(&engine, |builder| builder.clock(ticker).calibrate(false));
    let mut linker = Linker::new(&engine);
    recorder.add_to_linker(&mut linker, |lane| lane).unwrap();
    let traps = module(
        &engine,
        r#"(func $f (local $t i32) (ENTER 1) unreachable)
           (func (export "f") (local $t i32) (ENTER 0) (call $f) (LEAVE))"#,
    );
    for _ in 0..50 {
        let mut store = Store::new(&engine, recorder.host_lane());
        let instance = linker.instantiate(&mut store, &traps).unwrap();
        let f = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();
        // Without the recorder's call its calls end with the store, by the clock.
        f.call(&mut store, ()).unwrap_err();
    }
    recorder.finish("completed").unwrap();
    let bytes = trace.bytes();
    let mut reader = TraceReader::new(&bytes[..]).unwrap();
    let mut last = 0;
    let mut events = 0;
    while let Some(item) = reader.next().unwrap() {
        let Item::Events(batch) = item else { continue };
        for timed in batch.events {
            assert!(timed.ticks >= last, "event {events}: {} after {last}", timed.ticks);
            last = timed.ticks;
            // A machine that does other things puts the thread aside now and then.
            events += u32::from(!matches!(timed.event, Event::Wait(_)));
        }
    }
    assert_eq!((reader.anomalies(), events), (&[][..], 150));
}
