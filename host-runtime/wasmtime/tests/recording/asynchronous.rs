//! Asynchronous stores.

use crate::common::*;
use kperf_wasmtime::{HostLane, Lane, Recorder};
use std::future::poll_fn;
use std::task::Poll;
use wasmtime::{Caller, Engine, Instance, Linker, Module, Store, TypedFunc};

const GUEST: &str = r#"
    (import "host" "pause" (func $pause))
    (func $g (local $t i32) (ENTER 1) (call $pause) (LEAVE))
    (func (export "f") (local $t i32) (ENTER 0) (call $g) (LEAVE))
    (func (export "trap") (local $t i32) (ENTER 2) (unreachable))"#;

/// Pending once, then ready.
async fn pause() {
    let mut polled = false;
    poll_fn(|_| if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

fn linker<T: Send + 'static>(engine: &Engine) -> Linker<T> {
    let mut linker = Linker::new(engine);
    linker.func_wrap_async("host", "pause", |_: Caller<'_, T>, ()| Box::new(pause())).unwrap();
    linker
}

/// A store that can only be called asynchronously.
async fn linked(recorder: &Recorder, engine: &Engine, module: &Module) -> (Store<()>, Lane, Instance) {
    let mut store = Store::new(engine, ());
    store.epoch_deadline_async_yield_and_update(1);
    let mut linker = linker(engine);
    let lane = recorder.link_async(&mut store, &mut linker).await.unwrap();
    let instance = linker.instantiate_async(&mut store, module).await.unwrap();
    (store, lane, instance)
}

fn async_engine() -> Engine {
    engine_with(|config| {
        config.epoch_interruption(true);
    })
}

fn assert_send<F: Future + Send>(future: F) -> F {
    future
}

#[test]
fn an_asynchronous_store_is_recorded_like_any_other() {
    let engine = async_engine();
    let (recorder, trace) = recorder(&engine);
    let module = module(&engine, GUEST);
    block_on(assert_send(async {
        let (mut store, lane, instance) = linked(&recorder, &engine, &module).await;
        let f: TypedFunc<(), ()> = instance.get_typed_func(&mut store, "f").unwrap();
        lane.call_async(&mut store, async |store| f.call_async(store, ()).await).await.unwrap();
        let trap: TypedFunc<(), ()> = instance.get_typed_func(&mut store, "trap").unwrap();
        lane.call_async(&mut store, async |store| trap.call_async(store, ()).await).await.unwrap_err();
        lane.mark(&mut store, 1);
        assert_eq!(lane.depth(&mut store), 0);
    }));
    recorder.finish("trap").unwrap();
    assert_text(
        &trace.text(),
        "symbols 91
         0 @2 enter 0
         0 @3 enter 1
         0 @4 enter [suspended]
         0 @5 leave
         0 @6 leave
         0 @7 leave
         0 @8 enter 2
         0 @9 unwind to 0, trap
         0 @10 mark 1
         end @11 trap: 9 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn a_synchronous_link_of_an_asynchronous_store_says_what_is_wrong() {
    let engine = async_engine();
    let (recorder, _) = recorder(&engine);
    let mut store = Store::new(&engine, ());
    store.epoch_deadline_async_yield_and_update(1);
    let error = recorder.link(&mut store, &mut Linker::new(&engine)).err().expect("refused");
    let cause = std::error::Error::source(&error).expect("wasmtime's reason").to_string();
    assert!(cause.contains("async"), "{cause}");
}

#[test]
fn a_call_whose_future_is_dropped_leaves_no_frame_behind() {
    let engine = async_engine();
    let (recorder, trace) = recorder(&engine);
    let module = module(&engine, GUEST);
    block_on(async {
        let (mut store, lane, instance) = linked(&recorder, &engine, &module).await;
        let f: TypedFunc<(), ()> = instance.get_typed_func(&mut store, "f").unwrap();
        {
            let mut call = Box::pin(lane.call_async(&mut store, async |store| f.call_async(store, ()).await));
            let poll = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
            assert!(poll.is_pending(), "it waits in `pause`");
        }
        assert_eq!(lane.depth(&mut store), 0);
        lane.call_async(&mut store, async |store| f.call_async(store, ()).await).await.unwrap();
    });
    recorder.finish("completed").unwrap();
    assert_text(
        &trace.text(),
        "symbols 91
         0 @2 enter 0
         0 @3 enter 1
         0 @4 enter [suspended]
         0 @5 leave
         0 @6 unwind to 0, host error
         0 @7 enter 0
         0 @8 enter 1
         0 @9 enter [suspended]
         0 @10 leave
         0 @11 leave
         0 @12 leave
         end @13 completed: 11 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn a_call_whose_future_and_store_are_dropped_ends_with_the_future() {
    let engine = async_engine();
    let (recorder, trace) = recorder(&engine);
    let mut linker: Linker<HostLane> = linker(&engine);
    recorder.add_to_linker(&mut linker, |lane| lane).unwrap();
    let pre = linker.instantiate_pre(&module(&engine, GUEST)).unwrap();
    let mut other = recorder.host_lane();
    block_on(async {
        let mut store = Store::new(&engine, recorder.host_lane());
        store.epoch_deadline_async_yield_and_update(1);
        let instance = pre.instantiate_async(&mut store).await.unwrap();
        let f: TypedFunc<(), ()> = instance.get_typed_func(&mut store, "f").unwrap();
        {
            let call = async |store: &mut Store<HostLane>| f.call_async(store, ()).await;
            let mut call = Box::pin(HostLane::call_async(&mut store, |lane| lane, call));
            for _ in ["for the epoch", "in `pause`"] {
                let poll = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
                assert!(poll.is_pending(), "it waits twice");
            }
        }
        // Time passes until the store goes too.
        (0..10).for_each(|n| other.mark(n));
    });
    drop(other);
    recorder.finish("completed").unwrap();
    let text = trace.text();
    let of_call: String = text.lines().filter(|line| line.starts_with("0 ")).collect::<Vec<_>>().join("\n");
    assert_text(
        &of_call,
        "0 @4 enter 0
         0 @5 enter 1
         0 @6 enter [suspended]
         0 @7 leave
         0 @8 unwind to 0, host error",
    );
    assert!(text.contains("1 @19 mark 9"), "{text}");
}

#[test]
fn host_functions_serve_asynchronous_stores_too() {
    let engine = async_engine();
    let (recorder, trace) = recorder(&engine);
    let mut linker: Linker<HostLane> = linker(&engine);
    recorder.add_to_linker(&mut linker, |lane| lane).unwrap();
    let pre = linker.instantiate_pre(&module(&engine, GUEST)).unwrap();
    block_on(assert_send(async {
        let mut store = Store::new(&engine, recorder.host_lane());
        store.epoch_deadline_async_yield_and_update(1);
        let instance = pre.instantiate_async(&mut store).await.unwrap();
        for name in ["trap", "f"] {
            let f: TypedFunc<(), ()> = instance.get_typed_func(&mut store, name).unwrap();
            let call =
                HostLane::call_async(&mut store, |lane| lane, async |store| f.call_async(store, ()).await);
            assert_eq!(call.await.is_err(), name == "trap");
        }
    }));
    recorder.finish("completed").unwrap();
    assert_text(
        &trace.text(),
        "symbols 91
         0 @4 enter 2
         0 @5 unwind to 0, trap
         0 @6 enter 0
         0 @7 enter 1
         0 @8 enter [suspended]
         0 @9 leave
         0 @10 leave
         0 @11 leave
         end @12 completed: 8 events, 1 blocks, 0 dropped, 1 recorders",
    );
}
