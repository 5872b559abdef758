//! Components in embeddings: a linker for all stores, a store for each request.

use crate::common::{Memory, engine_with, outermost, recorder_with};
use kperf_rewriter::{Options, rewrite_component};
use kperf_trace::{CallParent, Event, Item, TraceContext, TraceReader};
use kperf_wasmtime::{
    ClockChoice, ErrorKind, InstrumentOptions, InstrumentedComponent, Recorder, instrument_component,
};
use std::time::{Duration, Instant};
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{
    AsContextMut, Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store, StoreContextMut,
};

/// `add` calls `sum`; `fail` traps in `sum`; `log` calls the host.
const GUEST: &str = r#"(component
  (import "log" (func $log (param "n" u32)))
  (core func $log' (canon lower (func $log)))
  (core module $m
    (import "" "log" (func $log (param i32)))
    (func $sum (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
    (func $fail (unreachable))
    (func (export "add") (param i32 i32) (result i32) (call $sum (local.get 0) (local.get 1)))
    (func (export "log") (param i32) (call $log (local.get 0)))
    (func (export "fail") (call $fail)))
  (core instance $i (instantiate $m (with "" (instance (export "log" (func $log'))))))
  (func (export "add") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "add")))
  (func (export "log") (param "n" u32) (canon lift (core func $i "log")))
  (func (export "fail") (canon lift (core func $i "fail"))))"#;

#[derive(Default)]
struct Data {
    logged: Vec<u32>,
}

struct Guest {
    engine: Engine,
    recorder: Recorder,
    memory: Memory,
    pre: InstancePre<Data>,
}

impl Guest {
    fn new(engine: Engine) -> Guest {
        Guest::with_log(engine, |linker| {
            linker.root().func_wrap("log", |mut store: StoreContextMut<'_, Data>, (n,): (u32,)| {
                store.data_mut().logged.push(n);
                Ok(())
            })
        })
    }

    fn with_log(engine: Engine, log: impl FnOnce(&mut Linker<Data>) -> wasmtime::Result<()>) -> Guest {
        let rewritten = rewrite_component(
            &wat::parse_str(GUEST).unwrap(),
            &Options { imports: true, ..Options::default() },
        )
        .unwrap();
        let (recorder, memory) = recorder_with(&engine, |builder| {
            rewritten.symbols().fold(builder, |all, table| all.symbols(table.to_bytes()))
        });
        let component = Component::new(&engine, &rewritten.wasm).unwrap();
        let mut linker = Linker::new(&engine);
        recorder.add_to_component_linker(&mut linker).unwrap();
        log(&mut linker).unwrap();
        let pre = linker.instantiate_pre(&component).unwrap();
        Guest { engine, recorder, memory, pre }
    }

    fn store(&self) -> kperf_wasmtime::RecordedStore<Data> {
        self.recorder.recorded_store(Store::new(&self.engine, Data::default())).unwrap()
    }

    fn add(&self, store: &mut impl AsContextMut<Data = Data>) -> wasmtime::Result<u32> {
        let instance = self.pre.instantiate(&mut *store)?;
        let add = instance.get_typed_func::<(u32, u32), (u32,)>(&mut *store, "add")?;
        Ok(add.call(&mut *store, (1, 2))?.0)
    }

    /// What the trace tells: the events of each lane, and the parents.
    fn told(&self) -> (Vec<(u32, Vec<Event>)>, Vec<CallParent>) {
        let bytes = self.memory.bytes();
        let mut reader = TraceReader::new(&bytes[..]).unwrap();
        let (mut lanes, mut parents) = (Vec::new(), Vec::new());
        while let Some(item) = reader.next().unwrap() {
            match item {
                Item::Events(batch) => {
                    lanes.push((batch.lane.recorder, batch.events.iter().map(|timed| timed.event).collect()));
                }
                Item::Parent(parent) => parents.push(parent.clone()),
                _ => {}
            }
        }
        assert_eq!(reader.anomalies(), []);
        (lanes, parents)
    }
}

#[test]
fn each_store_is_a_lane_and_hands_over_what_it_has_when_it_goes() {
    let guest = Guest::new(engine_with(|_| {}));
    for _ in 0..3 {
        let mut store = guest.store();
        assert_eq!(store.call(|store| guest.add(store)).unwrap(), 3);
        assert_eq!(store.lanes(), 1);
    }
    assert_eq!(guest.recorder.stats().lanes, 0);
    let summary = guest.recorder.finish("completed").unwrap();
    assert_eq!((summary.events, summary.dropped_events), (18, 0));
    let (lanes, _) = guest.told();
    assert_eq!(lanes.len(), 3);
    assert!(lanes.iter().all(|(_, events)| matches!(
        events[..],
        // The call of the export, `add`, `sum`.
        [Event::Enter(_), Event::Enter(_), Event::Enter(_), Event::Leave, Event::Leave, Event::Leave]
    )));
}

#[test]
fn a_pool_s_memory_is_used_by_one_store_after_the_other() {
    let engine = engine_with(|config| {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_core_instances(20).total_component_instances(2).total_memories(4);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    });
    let guest = Guest::new(engine);
    for _ in 0..50 {
        let mut store = guest.store();
        assert_eq!(store.call(|store| guest.add(store)).unwrap(), 3);
    }
    assert_eq!(guest.recorder.finish("completed").unwrap().events, 300);
    assert_eq!(guest.told().0.len(), 50);
}

#[test]
fn a_call_that_traps_is_closed_where_it_ends() {
    let guest = Guest::new(engine_with(|_| {}));
    let mut store = guest.store();
    let result = store.call(|store| {
        let instance = guest.pre.instantiate(&mut *store)?;
        instance.get_typed_func::<(u32,), ()>(&mut *store, "log")?.call(&mut *store, (7,))?;
        instance.get_typed_func::<(), ()>(&mut *store, "fail")?.call(&mut *store, ())
    });
    assert!(result.unwrap_err().downcast_ref::<wasmtime::Trap>().is_some());
    assert_eq!(store.as_context_mut().data().logged, [7]);
    drop(store);
    guest.recorder.finish("a trap").unwrap();
    let (lanes, _) = guest.told();
    let last = *lanes[0].1.last().unwrap();
    assert_eq!(last, Event::Unwind { depth: 0, reason: kperf_wasmtime::Reason::Trap });
    let names: Vec<_> = lanes[0].1.iter().filter(|event| matches!(event, Event::Enter(_))).collect();
    assert_eq!(names.len(), 6, "`log` twice, the host's function, `fail` three times: {:?}", lanes[0].1);
}

#[test]
fn calls_have_parents_and_those_of_an_unsampled_one_are_not_recorded() {
    let guest = Guest::new(engine_with(|_| {}));
    for sampled in ["01", "00"] {
        let parent = format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{sampled}");
        let mut store = guest.store();
        store.set_parent(TraceContext::parse(&parent, "").ok()).unwrap();
        assert_eq!(store.call(|store| guest.add(store)).unwrap(), 3);
    }
    assert_eq!(guest.recorder.finish("completed").unwrap().events, 6);
    let (_, parents) = guest.told();
    assert_eq!(parents.len(), 1);
    assert!(parents[0].context.is_some());
}

#[test]
fn a_store_that_is_not_recorded_runs_all_the_same() {
    let guest = Guest::new(engine_with(|_| {}));
    let mut plain = Store::new(&guest.engine, Data::default());
    assert_eq!(guest.add(&mut plain).unwrap(), 3);
    // A store is recorded whatever its data are.
    let mut store = guest.store();
    std::mem::swap(store.as_context_mut().data_mut(), plain.data_mut());
    assert_eq!(guest.add(&mut plain).unwrap(), 3);
    assert_eq!(store.call(|store| guest.add(store)).unwrap(), 3);
    assert_eq!(store.lanes(), 1);
    drop(store);
    drop(plain);
    assert_eq!(guest.recorder.finish("completed").unwrap().events, 6);
}

#[test]
fn a_recording_that_ends_while_the_store_lives_has_what_was_recorded() {
    let guest = Guest::new(engine_with(|_| {}));
    let mut store = guest.store();
    assert_eq!(store.call(|store| guest.add(store)).unwrap(), 3);
    assert_eq!(guest.recorder.finish("completed").unwrap().events, 6);
    // It goes on, unrecorded.
    assert_eq!(store.call(|store| guest.add(store)).unwrap(), 3);
    assert_eq!(guest.told().0.len(), 1);
}

#[test]
fn asynchronous_calls_tell_when_they_waited() {
    let guest = Guest::with_log(engine_with(|_| {}), |linker| {
        linker.root().func_wrap_async("log", |_: StoreContextMut<'_, Data>, (_,): (u32,)| {
            Box::new(async {
                tokio::task::yield_now().await;
                Ok(())
            })
        })
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let mut store = guest.store();
        let logged = store.call_async(async |store| {
            let instance = guest.pre.instantiate_async(&mut *store).await?;
            let log = instance.get_typed_func::<(u32,), ()>(&mut *store, "log")?;
            log.call_async(&mut *store, (1,)).await
        });
        logged.await.unwrap();
    });
    guest.recorder.finish("completed").unwrap();
    let (lanes, _) = guest.told();
    let enters = lanes.iter().flat_map(|(_, events)| events).filter(|event| matches!(event, Event::Enter(_)));
    assert_eq!(enters.count(), 4, "`log` twice, the host's function, and `[suspended]`: {lanes:?}");
}

#[test]
fn a_future_that_is_dropped_ends_the_calls_that_were_open() {
    let guest = Guest::with_log(engine_with(|_| {}), |linker| {
        linker.root().func_wrap_async("log", |_: StoreContextMut<'_, Data>, (_,): (u32,)| {
            Box::new(async {
                std::future::pending::<()>().await;
                Ok(())
            })
        })
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut store = guest.store();
    runtime.block_on(async {
        let waits = store.call_async(async |store| {
            let instance = guest.pre.instantiate_async(&mut *store).await?;
            let log = instance.get_typed_func::<(u32,), ()>(&mut *store, "log")?;
            log.call_async(&mut *store, (1,)).await
        });
        assert!(tokio::time::timeout(std::time::Duration::from_millis(20), waits).await.is_err());
    });
    guest.recorder.finish("completed").unwrap();
    let (lanes, _) = guest.told();
    let last = *lanes.last().unwrap().1.last().unwrap();
    assert_eq!(last, Event::Unwind { depth: 0, reason: kperf_wasmtime::Reason::Host });
}

/// A component that says of any bytes of its memory that they are a recorder's.
const FOREIGN: &str = r#"(component
  (import "kperf:host/recorder" (instance $host (export "attach" (func (param "memory" (list u8)) (result u32)))))
  (core module $mem (memory (export "mem") 4))
  (core instance $mem (instantiate $mem))
  (core func $attach (canon lower (func $host "attach") (memory (core memory $mem "mem"))))
  (core module $m
    (import "" "attach" (func $attach (param i32 i32) (result i32)))
    (func (export "at") (param i32 i32) (result i32) (call $attach (local.get 0) (local.get 1))))
  (core instance $i (instantiate $m (with "" (instance (export "attach" (func $attach))))))
  (func (export "at") (param "at" u32) (param "bytes" u32) (result u32) (canon lift (core func $i "at"))))"#;

#[test]
fn memories_that_are_no_recorder_s_are_refused() {
    let engine = engine_with(|_| {});
    let (recorder, _memory) = recorder_with(&engine, |builder| builder);
    let component = Component::new(&engine, wat::parse_str(FOREIGN).unwrap()).unwrap();
    let mut linker = Linker::new(&engine);
    recorder.add_to_component_linker(&mut linker).unwrap();
    let pre = linker.instantiate_pre(&component).unwrap();
    let attach = |places: &[(u32, u32)]| {
        let mut store = recorder.recorded_store(Store::new(&engine, Data::default())).unwrap();
        store.call(|store| {
            let instance = pre.instantiate(&mut *store)?;
            let at = instance.get_typed_func::<(u32, u32), (u32,)>(&mut *store, "at")?;
            places.iter().try_for_each(|place| at.call(&mut *store, *place).map(|_| ()))
        })
    };
    let whole = 2 * 65536;
    attach(&[(0, whole)]).unwrap();
    for (places, why) in [
        (&[(8, whole)][..], "no recorder"),
        (&[(1, whole)], "no recorder"),
        (&[(0, whole - 8)], "no recorder"),
        (&[(0, whole), (0, whole)], "a second time"),
    ] {
        let error = format!("{:?}", attach(places).unwrap_err());
        assert!(error.contains(why), "{places:?}: {error}");
    }
    recorder.finish("completed").unwrap();
}

/// The address of a memory that moved would be that of nothing, or of something else.
#[test]
fn an_engine_whose_memories_move_is_refused() {
    for (moves, change) in [
        (
            true,
            (|config| _ = config.memory_reservation(0).memory_reservation_for_growth(0)) as fn(&mut Config),
        ),
        (false, |config| _ = config.memory_reservation(0).memory_may_move(false)),
    ] {
        let engine = engine_with(change);
        let (recorder, _memory) = recorder_with(&engine, |builder| builder);
        let mut linker = Linker::<Data>::new(&engine);
        let added = recorder.add_to_component_linker(&mut linker);
        let refused = added.is_err_and(|error| matches!(error.kind(), ErrorKind::MemoriesMove));
        assert_eq!(refused, moves);
        recorder.finish("completed").unwrap();
    }
}

/// Two components, one of them twice, and stores that have nothing for a recorder.
#[test]
fn one_call_puts_probes_into_components_of_one_recording() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.kperf");
    let engine = Engine::default();
    let options = InstrumentOptions::to_file(&trace);
    let text = |n: u32| {
        format!(
            r#"(component
              (core module $m (func $f (export "f") (result i32) (i32.const {n})))
              (core instance $i (instantiate $m))
              (func (export "get-{n}") (result u32) (canon lift (core func $i "f"))))"#
        )
    };
    let component = |n| instrument_component(&engine, wat::parse_str(text(n)).unwrap(), &options).unwrap();
    let components = [component(1), component(2), component(1)];
    let mut linker = Linker::<String>::new(&engine);
    components.iter().for_each(|component| component.add_to_linker(&mut linker).unwrap());
    let get = |component: &InstrumentedComponent, store: &mut dyn FnMut(&InstancePre<String>) -> u32| {
        store(&linker.instantiate_pre(component).unwrap())
    };
    for (component, n) in components.iter().zip([1, 2, 1]) {
        let name = format!("get-{n}");
        let call = |store: StoreContextMut<'_, String>, pre: &InstancePre<String>| {
            let mut store = store;
            let instance = pre.instantiate(&mut store)?;
            let function = instance.get_typed_func::<(), (u32,)>(&mut store, &name)?;
            Ok(function.call(&mut store, ())?.0)
        };
        let mut recorded = component.store(Store::new(&engine, "data".to_owned())).unwrap();
        assert_eq!(
            get(component, &mut |pre| recorded.call(|store| call(store.as_context_mut(), pre)).unwrap()),
            n
        );
        // A store of the host's own records nothing.
        let mut plain = Store::new(&engine, "data".to_owned());
        let result: wasmtime::Result<u32> =
            call(plain.as_context_mut(), &linker.instantiate_pre(component).unwrap());
        assert_eq!(result.unwrap(), n);
    }
    let other = Engine::default();
    assert!(matches!(
        components[0].store(Store::new(&other, ())).map(drop).unwrap_err().kind(),
        ErrorKind::OtherEngine
    ));
    let summary = components[0].recorder().finish("completed").unwrap();
    assert_eq!(summary.events, 12, "a call from outside, and the core function, of each");
    let mut reader = TraceReader::new(std::fs::File::open(&trace).unwrap()).unwrap();
    let mut names = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let Item::Symbols(table) = item {
            let table = kperf_abi::SymbolTable::from_bytes(table).unwrap();
            names.extend(table.symbols.iter().map(|symbol| symbol.name.to_string()));
        }
    }
    assert_eq!(names, ["f", "get-1", "f", "get-2"], "each component's functions are told once");

    let probed = rewrite_component(&wat::parse_str(text(3)).unwrap(), &Options::default()).unwrap();
    let again = InstrumentOptions::to_file(folder.path().join("again.kperf"));
    let component = instrument_component(&engine, &probed.wasm, &again).unwrap();
    assert!(component.rewritten().is_none());
    let error = instrument_component(&engine, "(module)", &again).map(drop).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Rewrite(_)), "{error}");
}

/// `run` takes a string, for which `realloc` computes for some twenty milliseconds.
const SLOW_REALLOC: &str = r#"(component
  (core module $m
    (memory (export "memory") 1)
    (global $x (mut i32) (i32.const 1))
    (func $work (param i32)
      (loop
        (global.set $x (i32.mul (i32.add (global.get $x) (i32.const 7)) (i32.const 69069)))
        (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (call $work (i32.const 3000000)) (i32.const 1024))
    (func (export "run") (param i32 i32)))
  (core instance $i (instantiate $m))
  (func (export "run") (param "s" string)
    (canon lift (core func $i "run") (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))"#;

#[test]
fn what_runs_while_no_component_may_be_left_has_its_time_and_no_more() {
    let engine = engine_with(|_| {});
    // One that sleeps when the instance comes, and one whose time is old whenever a call begins.
    for period in [ClockChoice::PERIOD, ClockChoice::ALONE_PERIOD] {
        let clock = ClockChoice::Ticker { period };
        let (recorder, memory) = recorder_with(&engine, |builder| builder.clock(clock).calibrate(false));
        let rewritten =
            rewrite_component(&wat::parse_str(SLOW_REALLOC).unwrap(), &Options::default()).unwrap();
        let component = Component::new(&engine, &rewritten.wasm).unwrap();
        let mut linker: Linker<()> = Linker::new(&engine);
        recorder.add_to_component_linker(&mut linker).unwrap();
        std::thread::sleep(Duration::from_millis(150));
        let mut store = recorder.recorded_store(Store::new(&engine, ())).unwrap();
        let instance = linker.instantiate(&mut store, &component).unwrap();
        let run = instance.get_typed_func::<(&str,), ()>(&mut store, "run").unwrap();
        let mut measured = 0.0;
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(80));
            let begun = Instant::now();
            store.call(|store| run.call(store, ("text",))).unwrap();
            measured += begun.elapsed().as_secs_f64();
        }
        drop(store);
        let summary = recorder.finish("completed").unwrap();
        let recorded = outermost(&memory.bytes()).1 / 1e9;
        // A call may begin by the time of the last tick. The pauses are 240 ms.
        let most = measured + 3.0 * 1.5 * period.max(Duration::from_micros(100)).as_secs_f64();
        assert!(recorded <= most, "{clock:?}: {recorded} of {measured} s");
        // On a busy machine a call may end by the time of a tick long ago: then the trace says that the clock stood still.
        let stalled = summary.ticker_stalls.nanos as f64 / 1e9;
        assert!(
            recorded + stalled >= 0.4 * measured,
            "{clock:?}: {recorded} of {measured} s, {stalled} s told as stalls"
        );
    }
}
