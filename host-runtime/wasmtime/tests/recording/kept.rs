//! Instances of components that are kept: each call has a parent of its own, and is recorded or not.

use crate::common::*;
use kperf_rewriter::{Options, Recording, rewrite_component};
use kperf_trace::{Event, Item, SpanLink, TraceContext, TraceReader};
use kperf_wasmtime::{Builder, ClockChoice, ErrorKind, RecordedStore, Recorder};
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{AsContextMut, Engine, Store};

/// `f` calls a function; `fail` traps in it.
const GUEST: &str = r#"(component
  (core module $m
    (func $g)
    (func $trap (unreachable))
    (func (export "f") (call $g))
    (func (export "fail") (call $trap)))
  (core instance $i (instantiate $m))
  (func (export "f") (canon lift (core func $i "f")))
  (func (export "fail") (canon lift (core func $i "fail"))))"#;

struct Guest {
    engine: Engine,
    recorder: Recorder,
    trace: Memory,
    pre: InstancePre<()>,
}

impl Guest {
    fn new(recording: Recording, describe: impl FnOnce(Builder) -> Builder) -> Guest {
        let engine = engine();
        let options = Options { recording, ..Options::default() };
        let rewritten = rewrite_component(&wat::parse_str(GUEST).unwrap(), &options).unwrap();
        let (recorder, trace) = recorder_with(&engine, |builder| {
            rewritten.symbols().fold(describe(builder), |all, table| all.symbols(table.to_bytes()))
        });
        let component = Component::new(&engine, &rewritten.wasm).unwrap();
        let mut linker = Linker::new(&engine);
        recorder.add_to_component_linker(&mut linker).unwrap();
        let pre = linker.instantiate_pre(&component).unwrap();
        Guest { engine, recorder, trace, pre }
    }

    fn store(&self) -> RecordedStore<()> {
        self.recorder.recorded_store(Store::new(&self.engine, ())).unwrap()
    }
}

fn parent(n: u8, flags: &str) -> TraceContext {
    let text = format!("00-{}-{}-{flags}", format!("{n:02x}").repeat(16), "0b".repeat(8));
    TraceContext::parse(&text, "").unwrap()
}

/// The trace id's first byte of the parent of each call of `f`, in order; 0 for none.
fn parents(trace: &Memory) -> Vec<u8> {
    let bytes = trace.bytes();
    let mut reader = TraceReader::new(&bytes[..]).unwrap();
    let (mut current, mut all) = (0, Vec::new());
    while let Some(item) = reader.next().unwrap() {
        match item {
            Item::Parent(parent) => {
                let context = parent.context.as_ref();
                current = context
                    .map_or(0, |context| u8::from_str_radix(&context.traceparent()[3..5], 16).unwrap());
            }
            Item::Events(batch) => {
                let enters = batch.events.iter().filter(|timed| matches!(timed.event, Event::Enter(_)));
                // The call from outside, the core function, and what that calls.
                all.extend(enters.map(|_| current));
            }
            _ => {}
        }
    }
    assert_eq!(reader.anomalies(), []);
    assert!(all.chunks(3).all(|calls| calls.iter().all(|parent| *parent == calls[0])), "{all:?}");
    all.into_iter().step_by(3).collect()
}

/// The choices of each call: parents that are sampled, 100 that isn't, 0 for none.
fn drive(store: &mut RecordedStore<()>, pre: &InstancePre<()>, choices: &[u8]) {
    let mut instance = None;
    for &choice in choices {
        let context = match choice {
            0 => None,
            100 => Some(parent(100, "00")),
            n => Some(parent(n, "01")),
        };
        store.set_parent(context).unwrap();
        store
            .call(|store| {
                let instance = match &instance {
                    Some(instance) => *instance,
                    None => *instance.insert(pre.instantiate(&mut *store)?),
                };
                instance.get_typed_func::<(), ()>(&mut *store, "f")?.call(&mut *store, ())
            })
            .unwrap();
    }
}

#[test]
fn each_call_of_a_kept_instance_has_its_own_parent_or_is_not_recorded() {
    for clock in [ClockChoice::Test, ClockChoice::Precise, ClockChoice::ticker()] {
        // One begins recorded, one doesn't.
        for choices in [[1, 2, 100, 3, 0, 100, 4], [100, 100, 5, 100, 6, 0, 7]] {
            let guest = Guest::new(Recording::imported(), |builder| builder.clock(clock).calibrate(false));
            drive(&mut guest.store(), &guest.pre, &choices);
            guest.recorder.finish("completed").unwrap();
            let sampled: Vec<u8> = choices.into_iter().filter(|choice| *choice != 100).collect();
            assert_eq!(parents(&guest.trace), sampled, "{clock:?}");
        }
    }
}

#[test]
fn many_calls_with_parents_fill_many_blocks() {
    let guest = Guest::new(Recording::imported(), |builder| builder.queue_bytes(1));
    let choices: Vec<u8> = (0..20_000).map(|n: u32| [1, 100, 2, 0][n as usize % 4]).collect();
    drive(&mut guest.store(), &guest.pre, &choices);
    let summary = guest.recorder.finish("completed").unwrap();
    assert_eq!((summary.events, summary.dropped_events), (15_000 * 6, 0));
    assert_eq!(parents(&guest.trace), [1, 2, 0].repeat(5000));
}

#[test]
fn a_profile_of_a_kept_instance_has_a_window_for_each_parent() {
    for choices in [[1, 2, 100, 3, 0], [100, 4, 100, 100, 5]] {
        let guest = Guest::new(Recording::Profile { spans: true }, |builder| builder);
        drive(&mut guest.store(), &guest.pre, &choices);
        guest.recorder.finish("completed").unwrap();
        let bytes = guest.trace.bytes();
        let mut reader = TraceReader::new(&bytes[..]).unwrap();
        let mut seen = Vec::new();
        while let Some(item) = reader.next().unwrap() {
            let Item::Window(window) = item else { continue };
            let calls: u64 = window.calls.iter().map(|(_, calls)| calls).sum();
            if calls > 0 {
                assert_eq!(calls, 3);
                seen.push(window.parent);
            }
        }
        let expected = choices.into_iter().filter(|choice| *choice != 100);
        let link = |n| if n == 0 { None } else { Some(SpanLink::from(&parent(n, "01"))) };
        assert_eq!(seen, expected.map(link).collect::<Vec<_>>());
    }
}

#[test]
fn a_parent_that_comes_too_late_is_an_error() {
    for recording in [Recording::imported(), Recording::Profile { spans: true }] {
        let guest = Guest::new(recording, |builder| builder);
        let mut store = guest.store();
        let late = store.call(|store| {
            store.set_parent(Some(parent(1, "01")))?;
            let instance = guest.pre.instantiate(&mut *store)?;
            // Nothing of it is recorded yet.
            store.set_parent(Some(parent(2, "01")))?;
            // Its frames are open until the host's call ends.
            let fail = instance.get_typed_func::<(), ()>(&mut *store, "fail")?;
            fail.call(store.as_context_mut(), ()).unwrap_err();
            Ok(store.set_parent(Some(parent(3, "01"))))
        });
        let error = late.unwrap().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::CallOpen), "{error}");
        drop(store);
        guest.recorder.finish("completed").unwrap();
        let text = guest.trace.text();
        let has = |n| text.contains(&parent(n, "01").traceparent());
        assert!(!has(3), "{text}");
        if recording == Recording::imported() {
            assert!(has(2), "{text}");
        }
    }
}
