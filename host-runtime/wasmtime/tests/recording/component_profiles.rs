//! Components that make profiles, and such as count their instructions, in embeddings.

use crate::common::{Memory, engine_with, recorder_with};
use kperf_rewriter::{Clock, Imported, Options, Recording, rewrite_component};
use kperf_trace::{Event, Item, TraceContext, TraceReader, Window};
use kperf_wasmtime::{ClockChoice, RecordedStore, Recorder, Sampling};
use std::time::Duration;
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{
    AsContextMut, Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store, StoreContextMut,
};

/// `work` calls `step` so many times; `deep` traps so deep; `out` calls the host.
const GUEST: &str = r#"(component
  (import "out" (func $out))
  (core func $out' (canon lower (func $out)))
  (core module $m
    (import "" "out" (func $out))
    (func $step (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3)))
    (func $work (export "work") (param i32) (result i32) (local $sum i32)
      (loop $next
        (local.set $sum (i32.add (local.get $sum) (call $step (local.get 0))))
        (br_if $next (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
      (local.get $sum))
    (func $deep (export "deep") (param i32)
      (if (local.get 0)
        (then (call $deep (i32.sub (local.get 0) (i32.const 1))))
        (else (drop (call $work (i32.const 2000000))) (unreachable))))
    (func $calls (export "out") (call $out)))
  (core instance $i (instantiate $m (with "" (instance (export "out" (func $out'))))))
  (func (export "work") (param "n" u32) (result u32) (canon lift (core func $i "work")))
  (func (export "deep") (param "n" u32) (canon lift (core func $i "deep")))
  (func (export "out") (canon lift (core func $i "out"))))"#;

struct Guest {
    engine: Engine,
    recorder: Recorder,
    memory: Memory,
    pre: InstancePre<()>,
    names: Vec<String>,
}

impl Guest {
    fn new(config: impl FnOnce(&mut Config), options: &Options, clock: ClockChoice) -> Guest {
        Guest::with_out(config, options, clock, |_, ()| Ok(()))
    }

    fn with_out(
        config: impl FnOnce(&mut Config),
        options: &Options,
        clock: ClockChoice,
        out: impl Fn(StoreContextMut<'_, ()>, ()) -> wasmtime::Result<()> + Send + Sync + 'static,
    ) -> Guest {
        let engine = engine_with(config);
        let rewritten = rewrite_component(&wat::parse_str(GUEST).unwrap(), options).unwrap();
        let span_min = Some(Duration::from_micros(500));
        let sampling = Sampling { span_min, ..Sampling::new(Duration::from_micros(50)) };
        let (recorder, memory) = recorder_with(&engine, |builder| {
            let builder = builder.clock(clock).sampling(sampling);
            rewritten.symbols().fold(builder, |all, table| all.symbols(table.to_bytes()))
        });
        let symbols = rewritten.symbols().flat_map(|table| &table.symbols);
        let mut names: Vec<_> =
            symbols.map(|symbol| (symbol.id.0, symbol.display_name().to_string())).collect();
        names.sort();
        let component = Component::new(&engine, &rewritten.wasm).unwrap();
        let mut linker = Linker::new(&engine);
        recorder.add_to_component_linker(&mut linker).unwrap();
        linker.root().func_wrap("out", out).unwrap();
        let pre = linker.instantiate_pre(&component).unwrap();
        let names = names.into_iter().map(|(_, name)| name).collect();
        Guest { engine, recorder, memory, pre, names }
    }

    fn profile(config: impl FnOnce(&mut Config)) -> Guest {
        Guest::new(config, &profile(), ClockChoice::Precise)
    }

    fn store(&self) -> RecordedStore<()> {
        self.recorder.recorded_store(Store::new(&self.engine, ())).unwrap()
    }

    fn call(&self, store: &mut impl AsContextMut<Data = ()>, name: &str, n: u32) -> wasmtime::Result<()> {
        let instance = self.pre.instantiate(&mut *store)?;
        match name {
            "work" => {
                instance.get_typed_func::<(u32,), (u32,)>(&mut *store, name)?.call(&mut *store, (n,))?.0
            }
            "out" => {
                instance.get_typed_func::<(), ()>(&mut *store, name)?.call(&mut *store, ())?;
                0
            }
            _ => {
                instance.get_typed_func::<(u32,), ()>(&mut *store, name)?.call(&mut *store, (n,))?;
                0
            }
        };
        Ok(())
    }

    /// The windows of the trace, and its events.
    fn told(&self) -> (Vec<Window>, Vec<Event>) {
        let bytes = self.memory.bytes();
        let mut reader = TraceReader::new(&bytes[..]).unwrap();
        let (mut windows, mut events) = (Vec::new(), Vec::new());
        while let Some(item) = reader.next().unwrap() {
            match item {
                Item::Window(window) => windows.push(window.clone()),
                Item::Events(batch) | Item::Spans(batch) => {
                    events.extend(batch.events.iter().map(|timed| timed.event))
                }
                _ => {}
            }
        }
        assert_eq!(reader.anomalies(), []);
        (windows, events)
    }

    /// The time of the trace's last event.
    fn last(&self) -> u64 {
        let bytes = self.memory.bytes();
        let mut reader = TraceReader::new(&bytes[..]).unwrap();
        let mut last = 0;
        while let Some(item) = reader.next().unwrap() {
            if let Item::Events(batch) = item {
                last = batch.events.last().map_or(last, |timed| timed.ticks);
            }
        }
        assert_eq!(reader.anomalies(), []);
        last
    }

    /// How often a function was called, by the windows of the trace.
    fn calls(&self, name: &str) -> u64 {
        let calls = self.told().0.into_iter().flat_map(|window| window.calls);
        calls.filter(|(func, _)| self.names[func.0 as usize] == name).map(|(_, count)| count).sum()
    }
}

fn profile() -> Options {
    Options { recording: Recording::Profile { spans: true }, ..Options::default() }
}

fn counting() -> Options {
    let recording = Recording::Imported(Imported { clock: Clock::Instructions, ..Imported::default() });
    Options { recording, ..Options::default() }
}

#[test]
fn counts_are_exact_and_times_are_those_of_samples() {
    let guest = Guest::profile(|_| {});
    let mut store = guest.store();
    store.call(|store| guest.call(store, "work", 20_000_000)).unwrap();
    assert_eq!(store.lanes(), 1);
    drop(store);
    guest.recorder.finish("completed").unwrap();
    assert_eq!(guest.calls("step"), 20_000_000);
    let (windows, events) = guest.told();
    assert!(windows.iter().map(|window| window.samples).sum::<u64>() > 10, "{windows:?}");
    assert!(windows.iter().any(|window| !window.nodes.is_empty()));
    let left = events.iter().filter(|event| matches!(event, Event::Leave)).count();
    let entered = events.iter().filter(|event| matches!(event, Event::Enter(_))).count();
    assert!(entered >= 2, "the export and `work` are slow: {events:?}");
    assert_eq!(left, entered, "what has returned is told so: {events:?}");
}

#[test]
fn a_call_that_traps_is_told_as_that() {
    let guest = Guest::profile(|_| {});
    let mut store = guest.store();
    let result = store.call(|store| guest.call(store, "deep", 9));
    assert!(result.unwrap_err().downcast_ref::<wasmtime::Trap>().is_some());
    assert_eq!(store.lanes(), 1);
    drop(store);
    guest.recorder.finish("a trap").unwrap();
    let counts = ["deep", "m::deep", "step"].map(|name| guest.calls(name));
    assert_eq!(counts, [1, 10, 2_000_000], "the export, and what it calls");
    let (_, events) = guest.told();
    let unwinds: Vec<_> = events.iter().filter(|event| matches!(event, Event::Unwind { .. })).collect();
    let trap = Event::Unwind { depth: 0, reason: kperf_wasmtime::Reason::Trap };
    assert_eq!(unwinds, [&trap], "{events:?}");
}

/// A call from within a call of the host's, which fails and is caught there. What is open around it stays so.
#[test]
fn a_failure_that_the_host_catches_closes_only_its_own_calls() {
    let inner: std::sync::Arc<std::sync::OnceLock<InstancePre<()>>> = Default::default();
    let seen = inner.clone();
    let guest = Guest::with_out(
        |_| {},
        &profile(),
        ClockChoice::Precise,
        move |mut store, ()| {
            let instance = seen.get().unwrap().instantiate(&mut store)?;
            let deep = instance.get_typed_func::<(u32,), ()>(&mut store, "deep")?;
            assert!(deep.call(&mut store, (3,)).is_err());
            Ok(())
        },
    );
    assert!(inner.set(guest.pre.clone()).is_ok());
    let mut store = guest.store();
    store.call(|store| guest.call(store, "out", 0)).unwrap();
    drop(store);
    guest.recorder.finish("completed").unwrap();
    assert_eq!((guest.calls("step"), guest.calls("calls")), (2_000_000, 1));
}

#[test]
fn stores_of_a_pool_have_counts_of_their_own() {
    let guest = Guest::profile(|config| {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_core_instances(20).total_component_instances(2).total_memories(4);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    });
    for n in 1..=50 {
        let mut store = guest.store();
        store.call(|store| guest.call(store, "work", n)).unwrap();
    }
    assert_eq!(guest.recorder.stats().lanes, 0);
    guest.recorder.finish("completed").unwrap();
    assert_eq!(guest.calls("step"), 50 * 51 / 2);
    assert_eq!(guest.told().0.len(), 50, "a window each");
}

/// The sampler must not look at a memory that is gone.
#[test]
fn stores_that_go_while_others_run_leave_the_sampler_in_peace() {
    let guest = Guest::profile(|_| {});
    let total: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..60 {
                        let mut store = guest.store();
                        store.call(|store| guest.call(store, "work", 20_000)).unwrap();
                    }
                    60 * 20_000
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    guest.recorder.finish("completed").unwrap();
    assert_eq!(guest.calls("step"), total);
}

#[test]
fn a_recording_that_ends_while_the_store_lives_has_what_was_counted() {
    let guest = Guest::profile(|_| {});
    let mut store = guest.store();
    store.call(|store| guest.call(store, "work", 100)).unwrap();
    guest.recorder.finish("completed").unwrap();
    store.call(|store| guest.call(store, "work", 100)).unwrap();
    drop(store);
    assert_eq!(guest.calls("step"), 100);
}

#[test]
fn an_unsampled_request_is_counted_nowhere() {
    let guest = Guest::profile(|_| {});
    for sampled in ["01", "00"] {
        let parent = format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{sampled}");
        let mut store = guest.store();
        store.set_parent(TraceContext::parse(&parent, "").ok()).unwrap();
        store.call(|store| guest.call(store, "work", 10)).unwrap();
    }
    guest.recorder.finish("completed").unwrap();
    assert_eq!(guest.calls("step"), 10);
}

#[test]
fn a_component_with_another_clock_than_the_recording_is_refused() {
    for (options, clock, why) in [
        (counting(), ClockChoice::Precise, "counts its instructions"),
        (Options::default(), ClockChoice::Instructions, "doesn't count its instructions"),
        (profile(), ClockChoice::Instructions, "doesn't count its instructions"),
    ] {
        let guest = Guest::new(|_| {}, &options, clock);
        let mut store = guest.store();
        let error = store.call(|store| guest.call(store, "work", 1)).unwrap_err();
        assert!(format!("{error:?}").contains(why), "{error:?}");
        drop(store);
        guest.recorder.finish("refused").unwrap();
    }
}

/// The count stands in the component. After a trap it is known up to the last event.
#[test]
fn instructions_are_counted_to_the_last_event_of_a_call_that_traps() {
    let times = |n: u32| {
        let guest = Guest::new(|_| {}, &counting(), ClockChoice::Instructions);
        let mut store = guest.store();
        assert!(store.call(|store| guest.call(store, "deep", n)).is_err());
        drop(store);
        guest.recorder.finish("a trap").unwrap();
        guest.last()
    };
    let [one, two, three] = [1, 2, 3].map(times);
    // Each level: `local.get`, `if`, and behind it `local.get`, the constant, the subtraction, the call.
    assert_eq!((two - one, three - two), (6, 6));
    assert_eq!(times(1), one);
}

/// They have a lane's number one after the other, and each counts from 0.
#[test]
fn stores_that_come_one_after_the_other_are_told_in_one_count() {
    let last = |stores: u32| {
        let guest = Guest::new(|_| {}, &counting(), ClockChoice::Instructions);
        for _ in 0..stores {
            let mut store = guest.store();
            store.call(|store| guest.call(store, "work", 30_000)).unwrap();
        }
        guest.recorder.finish("completed").unwrap();
        guest.last()
    };
    let one = last(1);
    assert!(one > 30_000 * 8, "several blocks: {one}");
    assert_eq!(last(3), 3 * one);
}

/// Any component may say that a memory is a recorder's.
#[test]
fn memories_that_are_no_recorder_s_are_refused() {
    let foreign = r#"(component
      (import "kperf:host/recorder" (instance $host
        (export "attach-profile" (func (param "memory" (list u8)) (param "first" u32) (param "functions" u32)))))
      (core module $mem (memory (export "mem") 20))
      (core instance $mem (instantiate $mem))
      (core func $attach (canon lower (func $host "attach-profile") (memory (core memory $mem "mem"))))
      (core module $m
        (import "" "attach" (func $attach (param i32 i32 i32 i32)))
        (func (export "at") (param i32 i32 i32 i32)
          (call $attach (local.get 0) (local.get 1) (local.get 2) (local.get 3))))
      (core instance $i (instantiate $m (with "" (instance (export "attach" (func $attach))))))
      (func (export "at") (param "at" u32) (param "bytes" u32) (param "first" u32) (param "functions" u32)
        (canon lift (core func $i "at"))))"#;
    let engine = engine_with(|_| {});
    let (recorder, _memory) = recorder_with(&engine, |builder| builder);
    let component = Component::new(&engine, wat::parse_str(foreign).unwrap()).unwrap();
    let mut linker = Linker::new(&engine);
    recorder.add_to_component_linker(&mut linker).unwrap();
    let pre = linker.instantiate_pre(&component).unwrap();
    let attach = |places: &[(u32, u32, u32, u32)]| {
        let mut store = recorder.recorded_store(Store::new(&engine, ())).unwrap();
        store.call(|store| {
            let instance = pre.instantiate(&mut *store)?;
            let at = instance.get_typed_func::<(u32, u32, u32, u32), ()>(&mut *store, "at")?;
            places.iter().try_for_each(|place| at.call(&mut *store, *place))
        })
    };
    let whole = 20 * 65536;
    attach(&[(0, whole, 0, 32768)]).unwrap();
    attach(&[(65536, whole - 65536, u32::MAX - 9, 9)]).unwrap_err();
    for (places, why) in [
        (&[(8, whole - 8, 0, 1)][..], "no recorder"),
        (&[(0, whole, 0, 32769)], "no recorder"),
        (&[(0, whole, 0, u32::MAX)], "no recorder"),
        (&[(0, whole, u32::MAX, 2)], "no recorder"),
        (&[(0, 65536, 0, 0)], "no recorder"),
        (&[(0, whole, 0, 1), (0, whole, 0, 1)], "a second time"),
    ] {
        let error = format!("{:?}", attach(places).unwrap_err());
        assert!(error.contains(why), "{places:?}: {error}");
    }
    recorder.finish("completed").unwrap();
}
