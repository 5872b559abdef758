//! Profiles of modules that are pre-instantiated and come from a pool.

use crate::common::exits::{CALLS, GUEST, compile};
use crate::common::*;
use kperf_rewriter::{Options, Recording, rewrite};
use kperf_trace::{Event, Item, TraceContext, TraceReader, Window};
use kperf_wasmtime::{ClockChoice, PoolProbes, RecordedStore, Recorder, Sampling};
use std::collections::BTreeMap;
use std::time::Duration;
use wasmtime::{
    AsContextMut, Config, Engine, InstanceAllocationStrategy, InstancePre, Linker, Module,
    PoolingAllocationConfig, Store,
};

/// A pool with room for four instances of the module without probes, each with a memory and a heap of exceptions, and no more.
fn pool(probes: Option<PoolProbes>) -> Engine {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_core_instances(4).total_memories(8).max_memory_size(1 << 16).max_core_instance_size(1 << 10);
    if let Some(probes) = probes {
        Recorder::configure_pool(&mut pool, probes);
    }
    let mut config = Config::new();
    config.memory_reservation(4 << 20).memory_guard_size(0);
    config.wasm_exceptions(true).wasm_gc(true).wasm_function_references(true).wasm_tail_call(true);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&config).unwrap()
}

struct Pool {
    engine: Engine,
    recorder: Recorder,
    trace: Memory,
    pre: InstancePre<()>,
}

const PROBES: PoolProbes = PoolProbes { functions: 20, recorders: 0 };

impl Pool {
    fn new(recording: Recording, clock: ClockChoice) -> Pool {
        let engine = pool(Some(PROBES));
        let options = Options { recording, ..Options::default() };
        let rewritten = rewrite(&wat::parse_str(GUEST).unwrap(), &options).unwrap();
        let sampling =
            Sampling { span_min: Some(Duration::from_millis(20)), ..Sampling::new(Duration::from_millis(1)) };
        let table = rewritten.symbols.to_bytes();
        let (recorder, trace) = recorder_with(&engine, |builder| {
            builder.clock(clock).sampling(sampling).calibrate(false).symbols(table.clone())
        });
        let module = Module::new(&engine, &rewritten.wasm).unwrap();
        if kperf_wasmtime::is_native(&module) {
            recorder.native_code(&module, &table).unwrap();
        }
        let mut linker = Linker::new(&engine);
        recorder.add_profiles_to_linker(&mut linker).unwrap();
        linker
            .func_wrap("host", "h", |value: i32| match value {
                ..=0 => Err(wasmtime::Error::msg("h has failed")),
                9 => {
                    // Long enough for a sampler that waits for a processor.
                    std::thread::sleep(Duration::from_millis(400));
                    Ok(())
                }
                _ => Ok(()),
            })
            .unwrap();
        let pre = linker.instantiate_pre(&module).unwrap();
        Pool { engine, recorder, trace, pre }
    }

    fn store(&self) -> RecordedStore<()> {
        self.recorder.recorded_store(Store::new(&self.engine, ())).unwrap()
    }

    fn windows(&self) -> Vec<Window> {
        let bytes = self.trace.bytes();
        let mut reader = TraceReader::new(&bytes[..]).unwrap();
        let mut windows = Vec::new();
        while let Some(item) = reader.next().unwrap() {
            if let Item::Window(window) = item {
                windows.push(window.clone());
            }
        }
        assert_eq!(reader.anomalies(), []);
        windows
    }
}

fn calls(windows: &[Window]) -> BTreeMap<u32, u64> {
    let mut sums = BTreeMap::new();
    for (func, calls) in windows.iter().flat_map(|window| &window.calls) {
        *sums.entry(func.0).or_default() += calls;
    }
    sums
}

/// Calls each export; what fails is called again. Answers the results.
fn drive(store: &mut RecordedStore<()>, pre: &InstancePre<()>) -> Vec<Result<i32, String>> {
    let instance = store.call(|store| pre.instantiate(store)).unwrap();
    let calls = CALLS.into_iter().chain([("fib", 3)]);
    let mut call = |(name, value)| {
        let result =
            store.call(|store| instance.get_typed_func::<i32, i32>(&mut *store, name)?.call(store, value));
        let _ = store.as_context_mut().take_pending_exception();
        result.map_err(|error| error.root_cause().to_string())
    };
    calls.map(&mut call).collect()
}

#[test]
fn counts_of_pooled_instances_are_those_of_instances_with_a_store_of_their_own() {
    let own = crate::common::exits::engine();
    let (recorder, trace) = recorder(&own);
    let (results, expected) = {
        let module = compile(&own, GUEST, Recording::Profile { spans: true });
        let results = super::guest::drive(&recorder, &module);
        recorder.finish("completed").unwrap();
        let bytes = trace.bytes();
        (results, super::guest::read(&bytes).calls)
    };
    let mut recordings = vec![Recording::OwnProfile];
    if kperf_wasmtime::HAS_NATIVE_STACKS {
        recordings.push(Recording::OwnCount);
    }
    for recording in recordings {
        let pool = Pool::new(recording, ClockChoice::Precise);
        // More than there is room for at a time.
        for _ in 0..10 {
            let mut stores: Vec<_> = (0..4).map(|_| pool.store()).collect();
            for store in &mut stores {
                assert_eq!(drive(store, &pool.pre), results, "{recording:?}");
                assert_eq!(store.lanes(), 1);
            }
        }
        // Nobody records it.
        let mut plain = Store::new(&pool.engine, ());
        let instance = pool.pre.instantiate(&mut plain).unwrap();
        let fib = instance.get_typed_func::<i32, i32>(&mut plain, "fib").unwrap();
        fib.call(&mut plain, 5).unwrap();
        drop(plain);
        pool.recorder.finish("completed").unwrap();
        let windows = pool.windows();
        let times_40: BTreeMap<_, _> =
            expected.iter().map(|(&(_, func), calls)| (func - 100, calls * 40)).collect();
        assert_eq!(calls(&windows), times_40, "{recording:?}");
    }
}

#[test]
fn a_pool_without_room_for_probes_is_given_it() {
    let options = Options { recording: Recording::OwnProfile, ..Options::default() };
    let rewritten = rewrite(&wat::parse_str(GUEST).unwrap(), &options).unwrap();
    let fails = |engine: &Engine| Module::new(engine, &rewritten.wasm).is_err();
    assert!(fails(&pool(None)) && !fails(&pool(Some(PROBES))));
}

#[test]
fn samples_and_slow_calls_of_a_pooled_instance_are_below_its_parent() {
    let pool = Pool::new(Recording::OwnProfile, ClockChoice::Precise);
    let parent = |flags| {
        TraceContext::parse(&format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{flags}"), "")
            .unwrap()
    };
    for flags in ["01", "00"] {
        let mut store = pool.store();
        store.set_parent(Some(parent(flags))).unwrap();
        store
            .call(|store| {
                let instance = pool.pre.instantiate(&mut *store)?;
                instance.get_typed_func::<i32, i32>(&mut *store, "around")?.call(store, 9)
            })
            .unwrap();
        assert_eq!(store.lanes(), if flags == "01" { 1 } else { 0 });
    }
    pool.recorder.finish("completed").unwrap();
    let windows = pool.windows();
    assert!(windows.iter().map(|window| window.samples).sum::<u64>() > 0);
    let text = pool.trace.text();
    assert!(text.contains("parent 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), "{text}");
    let bytes = pool.trace.bytes();
    let mut reader = TraceReader::new(&bytes[..]).unwrap();
    let mut slow = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let Item::Spans(batch) = item {
            slow.extend(batch.events.iter().map(|timed| timed.event));
        }
    }
    assert_eq!(slow.iter().filter(|event| matches!(event, Event::Enter(_))).count(), 2, "{slow:?}");
}
