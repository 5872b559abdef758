//! Modules that get their probes in the host, in one call.

use crate::common::*;
use kperf_trace::{Event, Item, TraceReader};
use kperf_wasmtime::rewriter::{Options, Recording, SymbolFile, rewrite};
use kperf_wasmtime::{ClockChoice, ErrorKind, InstrumentOptions, Instrumented, Recorder, instrument};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::Poll;
use wasmtime::{
    Cache, CacheConfig, Caller, Config, Engine, InstanceAllocationStrategy, InstancePre, Linker,
    PoolingAllocationConfig, Store,
};

/// `f(n)` calls `g` n times, which calls the host. `trap` fails inside of `g`.
const GUEST: &str = r#"(module $guest
    (import "host" "pause" (func $pause))
    (func $g (call $pause))
    (func $fails unreachable)
    (func (export "f") (param i32)
        (loop (call $g) (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
    (func (export "trap") (call $fails)))"#;

fn guest() -> Vec<u8> {
    wat::parse_str(GUEST).unwrap()
}

fn pooled() -> Engine {
    let mut config = Config::new();
    let mut pool = PoolingAllocationConfig::new();
    pool.total_core_instances(64);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&config).unwrap()
}

/// A recording with the test clock that modules can be instrumented for.
fn recording(engine: &Engine) -> (InstrumentOptions, Recorder, Memory) {
    let (recorder, trace) = recorder(engine);
    (InstrumentOptions::to_recorder(&recorder), recorder, trace)
}

fn pre<T: 'static>(engine: &Engine, module: &Instrumented) -> InstancePre<T> {
    let mut linker = Linker::new(engine);
    module.add_to_linker(&mut linker).unwrap();
    linker.func_wrap("host", "pause", || ()).unwrap();
    linker.instantiate_pre(module).unwrap()
}

fn call<T: 'static>(store: &mut Store<T>, pre: &InstancePre<T>, calls: u32) {
    let instance = pre.instantiate(&mut *store).unwrap();
    instance.get_typed_func::<u32, ()>(&mut *store, "f").unwrap().call(store, calls).unwrap();
}

/// How often each function was called, by name; every call must end where it began, in each lane.
fn calls(bytes: &[u8]) -> BTreeMap<String, usize> {
    let mut names = BTreeMap::new();
    let mut calls = BTreeMap::new();
    let mut open: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut reader = TraceReader::new(bytes).unwrap();
    while let Some(item) = reader.next().unwrap() {
        match item {
            Item::Symbols(table) => {
                let table = kperf_abi::SymbolTable::from_bytes(table).unwrap();
                for symbol in table.symbols {
                    let name = symbol.display_name().to_owned();
                    assert!(
                        names.insert(symbol.id.0, name).is_none(),
                        "two functions have the id {}",
                        symbol.id.0
                    );
                }
            }
            Item::Events(batch) => {
                let stack = open.entry(batch.lane.to_string()).or_default();
                for timed in batch.events {
                    match timed.event {
                        Event::Enter(id) => {
                            *calls.entry(names[&id.0].clone()).or_default() += 1;
                            stack.push(id.0);
                        }
                        Event::Leave => assert!(stack.pop().is_some(), "a leave without an enter"),
                        Event::Unwind { depth, .. } => stack.truncate(depth as usize),
                        Event::Wait(_) => {}
                        other => panic!("{other:?}"),
                    }
                }
            }
            _ => {}
        }
    }
    assert_eq!(reader.anomalies(), []);
    assert!(open.values().all(Vec::is_empty), "{open:?}");
    calls
}

#[test]
fn a_store_for_each_request_from_a_pool_has_a_lane_of_its_own() {
    let engine = pooled();
    let (options, recorder, trace) = recording(&engine);
    let module = instrument(&engine, guest(), &options).unwrap();
    let pre = pre::<()>(&engine, &module);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..50).for_each(|_| call(&mut Store::new(&engine, ()), &pre, 3)));
        }
    });
    // Two stores on one thread, in turn.
    let (mut one, mut other) = (Store::new(&engine, ()), Store::new(&engine, ()));
    for _ in 0..10 {
        call(&mut one, &pre, 1);
        call(&mut other, &pre, 2);
    }
    let lanes = [&mut one, &mut other].map(|store| module.lane(store, |lane| lane.id()));
    assert!(lanes[0].is_some() && lanes[0] != lanes[1], "{lanes:?}");
    // A store that is dropped after its data were taken.
    let mut taken = Store::new(&engine, ());
    call(&mut taken, &pre, 1);
    taken.into_data();
    assert_eq!(recorder.stats().lanes, 2, "the lanes of stores that are gone have ended");
    recorder.finish("completed").unwrap();
    let calls = calls(&trace.bytes());
    assert_eq!(calls["f"], 221);
    assert_eq!(calls["g"], 4 * 50 * 3 + 10 + 20 + 1);
}

#[test]
fn a_store_at_the_address_of_another_is_not_the_other() {
    let engine = Engine::default();
    let (options, recorder, trace) = recording(&engine);
    let module = instrument(&engine, guest(), &options).unwrap();
    let pre = pre::<u64>(&engine, &module);
    for n in 0..20 {
        let mut store = Store::new(&engine, n);
        let instance = pre.instantiate(&mut store).unwrap();
        // Each leaves a frame open.
        instance.get_typed_func::<(), ()>(&mut store, "trap").unwrap().call(&mut store, ()).unwrap_err();
        assert_eq!(module.lane(&mut store, |lane| lane.depth()), 2);
    }
    recorder.finish("completed").unwrap();
    let text = trace.text();
    assert_eq!(text.matches("unwind to 0, unfinished").count(), 20, "{text}");
}

/// Pending once, then ready.
async fn pause() {
    let mut polled = false;
    poll_fn(|context| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[test]
fn asynchronous_stores_may_wander_between_threads() {
    let engine = pooled();
    let (options, recorder, trace) = recording(&engine);
    let module = instrument(&engine, guest(), &options).unwrap();
    let mut linker = Linker::new(&engine);
    module.add_to_linker(&mut linker).unwrap();
    linker.func_wrap_async("host", "pause", |_: Caller<'_, u8>, ()| Box::new(pause())).unwrap();
    let pre = linker.instantiate_pre(&module).unwrap();
    // Each store is polled by all threads in turn.
    let mut tasks: Vec<_> = (1..9u8)
        .map(|n| {
            let (engine, pre, module) = (engine.clone(), pre.clone(), module.clone());
            Box::pin(async move {
                let mut store = Store::new(&engine, n);
                let instance = pre.instantiate_async(&mut store).await.unwrap();
                let f = instance.get_typed_func::<u32, ()>(&mut store, "f").unwrap();
                if n % 2 == 0 {
                    f.call_async(&mut store, 20).await.unwrap();
                } else {
                    let call = async |store: &mut Store<u8>| f.call_async(store, 20).await;
                    module.call_async(&mut store, call).await.unwrap();
                }
            })
        })
        .collect();
    while !tasks.is_empty() {
        tasks = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
                    tasks
                        .into_iter()
                        .filter_map(|mut task| task.as_mut().poll(&mut context).is_pending().then_some(task))
                        .collect()
                })
                .join()
                .unwrap()
        });
    }
    recorder.finish("completed").unwrap();
    let calls = calls(&trace.bytes());
    assert_eq!((calls["f"], calls["g"], calls["[suspended]"]), (8, 160, 80));
}

#[test]
fn a_call_that_fails_closes_its_frames() {
    let engine = Engine::default();
    let (options, recorder, trace) = recording(&engine);
    let module = instrument(&engine, guest(), &options).unwrap();
    let pre = pre::<()>(&engine, &module);
    let mut store = Store::new(&engine, ());
    let instance = pre.instantiate(&mut store).unwrap();
    let trap = instance.get_typed_func::<(), ()>(&mut store, "trap").unwrap();
    module.call(&mut store, |store| trap.call(store, ())).unwrap_err();
    module.lane(&mut store, |lane| lane.set_recording(Some(false)));
    call(&mut store, &pre, 5);
    recorder.finish("trap").unwrap();
    let text = trace.text();
    let events: Vec<&str> = text.lines().filter(|line| line.starts_with("0 ")).collect();
    assert_eq!(events.len(), 3, "{text}");
    assert!(events[2].ends_with("unwind to 0, trap"), "{text}");
}

#[test]
fn modules_never_share_ids_and_have_the_same_in_each_run() {
    let engine = Engine::default();
    let others: Vec<Vec<u8>> = (0..20)
        .map(|n| {
            wat::parse_str(format!(r#"(module (func $f{n}) (func (export "run") (call $f{n})))"#)).unwrap()
        })
        .collect();
    let mut bases = Vec::new();
    for order in [false, true] {
        let (options, recorder, trace) = recording(&engine);
        let mut modules: Vec<_> = others.iter().enumerate().collect();
        if order {
            modules.reverse();
        }
        let mut linker = Linker::new(&engine);
        let mut store = Store::new(&engine, ());
        let mut found = BTreeMap::new();
        for (n, wasm) in modules {
            // Twice, as a host that compiles a module for each request does.
            let module = instrument(&engine, wasm, &options).unwrap();
            let again = instrument(&engine, wasm, &options).unwrap();
            let base = |module: &Instrumented| module.rewritten().unwrap().symbols.id_base;
            assert_eq!(base(&module), base(&again));
            found.insert(n, base(&module));
            module.add_to_linker(&mut linker).unwrap();
            let instance = linker.instantiate(&mut store, &again).unwrap();
            instance.get_typed_func::<(), ()>(&mut store, "run").unwrap().call(&mut store, ()).unwrap();
        }
        recorder.finish("completed").unwrap();
        let calls = calls(&trace.bytes());
        assert_eq!(calls.len(), 21, "{calls:?}");
        assert!((0..20).all(|n| calls[&format!("f{n}")] == 1), "{calls:?}");
        bases.push(found);
    }
    assert_eq!(bases[0], bases[1]);
}

#[test]
fn a_module_whose_ids_are_taken_gets_others() {
    let engine = Engine::default();
    let (_, recorder, _) = recording(&engine);
    let options = InstrumentOptions::to_recorder(&recorder);
    let base = instrument(&engine, guest(), &options).unwrap().rewritten().unwrap().symbols.id_base;
    let (options, recorder, trace) = recording(&engine);
    // Somebody's module has one id of the range.
    let wasm = wat::parse_str(r#"(module (func $other (export "other")))"#).unwrap();
    let taken = rewrite(&wasm, &Options { id_base: base + 1, ..Options::default() }).unwrap();
    let other = instrument(&engine, &taken.wasm, &options).unwrap();
    assert!(other.rewritten().is_none());
    let module = instrument(&engine, guest(), &options).unwrap();
    assert_eq!(module.rewritten().unwrap().symbols.id_base, base + 2);
    call(&mut Store::new(&engine, ()), &pre(&engine, &module), 1);
    recorder.finish("completed").unwrap();
    assert_eq!(calls(&trace.bytes())["g"], 1);
}

#[test]
fn a_module_under_other_names_has_other_ids() {
    let engine = Engine::default();
    let (options, recorder, trace) = recording(&engine);
    let wasm = wat::parse_str(r#"(module (func) (func (export "run") (call 0)))"#).unwrap();
    let named = |names: &str| {
        let names = Some(SymbolFile::parse(names.as_bytes()).unwrap());
        instrument(&engine, &wasm, &options.clone().rewriter(Options { names, ..Options::default() }))
            .unwrap()
    };
    let base = |module: &Instrumented| module.rewritten().unwrap().symbols.id_base;
    let [one, other] = ["0:a\n1:b", "0:c\n1:d"].map(named);
    assert_eq!(base(&other), base(&one) + 2);
    assert_eq!([base(&named("1:b\n0:a")), base(&named("0:c\n1:d"))], [base(&one), base(&other)]);
    for module in [&one, &other] {
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        module.add_to_linker(&mut linker).unwrap();
        let instance = linker.instantiate(&mut store, module).unwrap();
        instance.get_typed_func::<(), ()>(&mut store, "run").unwrap().call(&mut store, ()).unwrap();
    }
    recorder.finish("completed").unwrap();
    let calls = calls(&trace.bytes());
    assert!(["a", "b", "c", "d"].iter().all(|name| calls.get(*name) == Some(&1)), "{calls:?}");
}

#[test]
fn the_engine_finds_the_module_in_its_cache() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = CacheConfig::new();
    config.with_directory(directory.path());
    let cache = Cache::new(config).unwrap();
    let mut config = Config::new();
    config.cache(Some(cache.clone()));
    let engine = Engine::new(&config).unwrap();
    for hits in 0..3 {
        let (options, _, _) = recording(&engine);
        // In another order each time.
        let wasm = wat::parse_str(format!("(module (func $n{hits}))")).unwrap();
        instrument(&engine, wasm, &options).unwrap();
        instrument(&engine, guest(), &options).unwrap();
        assert_eq!(cache.cache_hits(), hits);
    }
}

#[test]
fn a_file_holds_all_modules_and_is_not_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.kperf");
    let options = InstrumentOptions::to_file(&path).clock(ClockChoice::Test);
    let run = |engines: [&Engine; 2]| {
        let modules = engines.map(|engine| (engine, instrument(engine, guest(), &options).unwrap()));
        for (engine, module) in &modules {
            call(&mut Store::new(engine, ()), &pre(engine, module), 2);
        }
        // With the last of them the recording ends.
    };
    let [one, other] = [Engine::default(), pooled()];
    run([&one, &other]);
    let first = std::fs::read(&path).unwrap();
    assert_eq!(calls(&first)["g"], 4);
    run([&one, &one]);
    assert_eq!(std::fs::read(&path).unwrap(), first);
    assert_eq!(calls(&std::fs::read(directory.path().join("app.2.kperf")).unwrap())["g"], 4);

    let nowhere = InstrumentOptions::to_file(directory.path().join("missing/app.kperf"));
    let error = instrument(&one, guest(), &nowhere).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Write { .. }), "{error}");
}

#[test]
fn recorders_inside_are_linked_for_each_store() {
    let engine = engine();
    let (options, recorder, trace) = recording(&engine);
    let inline = Options { recording: Recording::inline(), ..Options::default() };
    let module = instrument(&engine, guest(), &options.rewriter(inline)).unwrap();
    let mut linker = Linker::new(&engine);
    let error = module.add_to_linker(&mut linker).unwrap_err();
    assert!(error.to_string().contains("link_inlined"), "{error}");
    linker.func_wrap("host", "pause", || ()).unwrap();
    let mut store = Store::new(&engine, ());
    module.recorder().link_inlined(&mut store, &mut linker).unwrap();
    let instance = linker.instantiate(&mut store, &module).unwrap();
    instance.get_typed_func::<u32, ()>(&mut store, "f").unwrap().call(&mut store, 7).unwrap();
    recorder.finish("completed").unwrap();
    assert_eq!(calls(&trace.bytes())["g"], 7);
}

#[test]
fn what_can_t_be_done_is_said() {
    let engine = Engine::default();
    let (options, recorder, _) = recording(&engine);
    let error = instrument(&engine, b"no module", &options).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Rewrite(_)), "{error}");
    // The rewriter doesn't validate.
    let invalid = wat::parse_str("(module (func (result i32)))").unwrap();
    let error = instrument(&engine, invalid, &options).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Compile(_)), "{error}");
    // Somebody else's probes.
    let module = instrument(&engine, guest(), &options).unwrap();
    let mut linker: Linker<()> = Linker::new(&engine);
    linker.func_wrap("kperf", "enter", |_: u32| 0u32).unwrap();
    let error = module.add_to_linker(&mut linker).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Link(_)), "{error}");
    recorder.finish("completed").unwrap();
    let error = instrument(&engine, guest(), &options).err();
    assert!(error.is_none(), "a module that is known may be compiled after the end");
}
