//! The memory that recording may take: what is used is shown, what doesn't fit is counted, and guests go on.

use crate::common::exits::compile;
use crate::common::*;
use kperf_rewriter::{Options, Recording, rewrite_component};
use kperf_trace::{Event, Item, TraceReader};
use kperf_wasmtime::{HostLane, Recorder};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wasmtime::component::Component;
use wasmtime::{Engine, Instance, Linker, Module, Store};

const LIMIT: usize = 2 << 20;

/// Events of the trace, and those that are lost.
fn events_and_lost(trace: &Memory) -> [u64; 2] {
    let bytes = trace.bytes();
    let mut reader = TraceReader::new(&bytes[..]).unwrap();
    let mut sums = [0; 2];
    while let Some(item) = reader.next().unwrap() {
        let Item::Events(batch) = item else { continue };
        for timed in batch.events {
            match timed.event {
                Event::Lost { events } => sums[1] += events.map_or(0, |count| u64::from(count.get())),
                Event::Pause(_) | Event::Wait(_) => {}
                _ => sums[0] += 1,
            }
        }
    }
    sums
}

fn guest(engine: &Engine, recorder: &Recorder) -> (Linker<HostLane>, Module) {
    let mut linker = Linker::new(engine);
    recorder.add_to_linker(&mut linker, |lane| lane).unwrap();
    linker.func_wrap("host", "h", || ()).unwrap();
    (linker, module(engine, GUEST))
}

fn many(store: &mut Store<HostLane>, instance: Instance, calls: u32) {
    let f = instance.get_typed_func::<u32, ()>(&mut *store, "many").unwrap();
    HostLane::call(store, |lane| lane, |store| f.call(store, calls)).unwrap();
}

#[test]
fn stores_that_live_share_the_memory_and_lose_nothing_while_each_has_a_block() {
    let engine = engine();
    let (recorder, trace) = recorder_with(&engine, |builder| builder.memory_limit(LIMIT));
    let (linker, module) = guest(&engine, &recorder);
    let mut stores = Vec::new();
    for _ in 0..60 {
        let mut store = Store::new(&engine, recorder.host_lane());
        let instance = linker.instantiate(&mut store, &module).unwrap();
        many(&mut store, instance, 1);
        stores.push((store, instance));
    }
    // Together their blocks would take 7 MB.
    for (store, instance) in &mut stores {
        many(store, *instance, 20_000);
        let stats = recorder.stats();
        assert!(stats.memory_bytes <= LIMIT, "{stats:?}");
    }
    assert_eq!(recorder.stats().refused_lanes, 0);
    drop(stores);
    let summary = recorder.finish("completed").unwrap();
    assert_eq!(events_and_lost(&trace), [60 * 40_002, 0]);
    assert_eq!((summary.dropped_events, summary.notes.len()), (0, 0));
}

#[test]
fn a_store_without_memory_runs_and_its_events_are_counted() {
    let engine = engine();
    let notices = Arc::new(AtomicUsize::new(0));
    let seen = notices.clone();
    let (recorder, trace) = recorder_with(&engine, |builder| {
        builder.memory_limit(LIMIT).on_notice(move |notice| {
            assert!(notice.to_string().starts_with("the memory for recording is used up"), "{notice}");
            seen.fetch_add(1, Ordering::Relaxed);
        })
    });
    let (linker, module) = guest(&engine, &recorder);
    let mut stores = Vec::new();
    for _ in 0..300 {
        let mut store = Store::new(&engine, recorder.host_lane());
        let instance = linker.instantiate(&mut store, &module).unwrap();
        many(&mut store, instance, 10);
        stores.push((store, instance));
        let stats = recorder.stats();
        assert!(stats.memory_bytes <= LIMIT, "{stats:?}");
    }
    let stats = recorder.stats();
    assert!(stats.refused_lanes > 200 && stats.lost_events == stats.refused_lanes * 20, "{stats:?}");
    assert_eq!(notices.load(Ordering::Relaxed), 1);
    // One that lives longer than others is recorded again.
    let (mut last, instance) = stores.pop().unwrap();
    drop(stores);
    many(&mut last, instance, 10);
    assert_eq!(recorder.stats().refused_lanes, stats.refused_lanes);
    let summary = recorder.finish("completed").unwrap();
    let lost = stats.refused_lanes * 20;
    assert_eq!(events_and_lost(&trace), [301 * 20 - lost, lost]);
    assert_eq!(summary.dropped_events, lost);
    let note = format!("{} times a store or an instance is not recorded", stats.refused_lanes);
    assert!(summary.notes[0].starts_with(&note), "{:?}", summary.notes);
    assert_eq!(recorder.stats().lost_events, lost);
}

#[test]
fn recorder_modules_and_recorders_inside_are_refused_too() {
    let engine = engine();
    let guests = [Recording::imported(), Recording::inline(), Recording::Profile { spans: true }];
    for guest in guests {
        let is_profile = matches!(guest, Recording::Profile { .. });
        let limit = if is_profile { 4 * LIMIT } else { LIMIT };
        let (recorder, trace) = recorder_with(&engine, |builder| builder.memory_limit(limit));
        let module = compile(&engine, r#"(module (func $f) (func (export "f") (call $f)))"#, guest);
        let run = |store: &mut Store<()>| {
            let mut linker = Linker::new(&engine);
            if kperf_wasmtime::is_inlined(&module) {
                recorder.link_inlined(&mut *store, &mut linker).unwrap();
            } else {
                recorder.link(&mut *store, &mut linker).unwrap();
            }
            let instance = linker.instantiate(&mut *store, &module).unwrap();
            let f = instance.get_typed_func::<(), ()>(&mut *store, "f").unwrap();
            for _ in 0..5000 {
                f.call(&mut *store, ()).unwrap();
            }
        };
        let mut stores: Vec<_> = (0..30).map(|_| Store::new(&engine, ())).collect();
        for store in &mut stores {
            run(store);
            assert!(recorder.stats().memory_bytes <= limit);
        }
        let stats = recorder.stats();
        assert!(stats.refused_lanes > 15 && stats.lanes as u64 == 30 - stats.refused_lanes, "{stats:?}");
        drop(stores);
        run(&mut Store::new(&engine, ()));
        let recorded = 31 - stats.refused_lanes;
        let summary = recorder.finish("completed").unwrap();
        assert_eq!(events_and_lost(&trace), [if is_profile { 0 } else { recorded * 20_000 }, 0]);
        assert!(summary.notes.iter().any(|note| note.contains("is not recorded")), "{:?}", summary.notes);
    }
}

#[test]
fn instances_of_components_are_refused_too() {
    const GUEST: &str = r#"(component
      (core module $m (func $f) (func (export "f") (call $f)))
      (core instance $i (instantiate $m))
      (func (export "f") (canon lift (core func $i "f"))))"#;
    let engine = engine();
    for recording in [Recording::imported(), Recording::Profile { spans: true }] {
        let is_profile = matches!(recording, Recording::Profile { .. });
        let limit = if is_profile { 4 * LIMIT } else { LIMIT };
        let options = Options { recording, ..Options::default() };
        let rewritten = rewrite_component(&wat::parse_str(GUEST).unwrap(), &options).unwrap();
        let (recorder, trace) = recorder_with(&engine, |builder| {
            let builder = builder.memory_limit(limit);
            rewritten.symbols().fold(builder, |all, table| all.symbols(table.to_bytes()))
        });
        let component = Component::new(&engine, &rewritten.wasm).unwrap();
        let mut linker = wasmtime::component::Linker::new(&engine);
        recorder.add_to_component_linker(&mut linker).unwrap();
        let pre = linker.instantiate_pre(&component).unwrap();
        let run = || {
            let mut store = recorder.recorded_store(Store::new(&engine, ())).unwrap();
            store
                .call(|store| {
                    let instance = pre.instantiate(&mut *store)?;
                    let f = instance.get_typed_func::<(), ()>(&mut *store, "f")?;
                    (0..100).try_for_each(|_| f.call(&mut *store, ()))
                })
                .unwrap();
            assert!(recorder.stats().memory_bytes <= limit);
            store
        };
        let stores: Vec<_> = (0..30).map(|_| run()).collect();
        let stats = recorder.stats();
        assert!(stats.refused_lanes > 15 && stats.lanes as u64 == 30 - stats.refused_lanes, "{stats:?}");
        drop(stores);
        drop(run());
        let recorded = 31 - stats.refused_lanes;
        recorder.finish("completed").unwrap();
        assert_eq!(events_and_lost(&trace), [if is_profile { 0 } else { recorded * 600 }, 0]);
    }
}
