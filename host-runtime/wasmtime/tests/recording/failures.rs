//! Calls that fail: what is open is closed for the reason, and the next call starts where this one did.

use crate::common::*;
use kperf_wasmtime::{Lane, Recorder};
use std::sync::{Arc, OnceLock};
use wasmtime::{Caller, Engine, Error, Linker, Store, Trap};

/// `f` calls `g`, which calls the function `h` of the host.
const GUEST: &str = r#"
    (import "host" "h" (func $h))
    (func $g (local $t i32) (ENTER 1) (call $h) (LEAVE))
    (func (export "f") (local $t i32) (ENTER 0) (call $g) (LEAVE))
    (func (export "leaf") (local $t i32) (ENTER 2) (LEAVE))
    (func (export "trap") (local $t i32) (ENTER 3) (unreachable))"#;

fn guest(engine: &Engine) -> wasmtime::Module {
    module(engine, GUEST)
}

struct Host {
    store: Store<()>,
    lane: Lane,
    instance: wasmtime::Instance,
}

/// Runs the guest with a host function `h` that gets its lane.
fn host(
    recorder: &Recorder,
    engine: &Engine,
    h: impl Fn(Caller<'_, ()>, &Lane) -> wasmtime::Result<()> + Send + Sync + 'static,
) -> Host {
    let mut store = Store::new(engine, ());
    let mut linker = Linker::new(engine);
    let lane = recorder.link(&mut store, &mut linker).unwrap();
    let shared = Arc::new(OnceLock::new());
    let _ = shared.set(lane.clone());
    linker.func_wrap("host", "h", move |caller: Caller<'_, ()>| h(caller, shared.get().unwrap())).unwrap();
    let instance = linker.instantiate(&mut store, &guest(engine)).unwrap();
    Host { store, lane, instance }
}

impl Host {
    fn call(&mut self, name: &str) -> wasmtime::Result<()> {
        let f = self.instance.get_typed_func::<(), ()>(&mut self.store, name)?;
        self.lane.call(&mut self.store, |store| f.call(store, ()))
    }

    fn depth(&mut self) -> u32 {
        self.lane.depth(&mut self.store)
    }
}

fn call_again(caller: &mut Caller<'_, ()>, name: &str) -> wasmtime::Result<()> {
    let f = caller.get_export(name).and_then(|export| export.into_func()).expect("exported");
    f.typed::<(), ()>(&mut *caller)?.call(&mut *caller, ())
}

#[test]
fn after_a_trap_the_next_call_starts_at_the_right_depth() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    let mut host = host(&recorder, &engine, |mut caller, _| call_again(&mut caller, "trap"));
    let error = host.call("f").unwrap_err();
    assert_eq!(error.downcast_ref::<Trap>(), Some(&Trap::UnreachableCodeReached));
    assert_eq!(host.depth(), 0);
    host.call("leaf").unwrap();
    recorder.finish("trap").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 enter 0
         0 @3 enter 1
         0 @4 enter 3
         0 @5 unwind to 0, trap
         0 @6 enter 2
         0 @7 leave
         end @8 trap: 6 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn errors_of_the_host_and_exits_have_their_own_reasons() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    let mut failing = host(&recorder, &engine, |_, _| Err(Error::msg("no")));
    assert_eq!(failing.call("f").unwrap_err().root_cause().to_string(), "no");
    let mut exiting = host(&recorder, &engine, |_, _| Err(wasmtime_wasi::I32Exit(3).into()));
    exiting.call("f").unwrap_err();
    recorder.finish("exit 3").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 enter 0
         0 @3 enter 1
         0 @4 unwind to 0, host error
         1 @6 enter 0
         1 @7 enter 1
         1 @8 unwind to 0, exit
         end @9 exit 3: 6 events, 2 blocks, 0 dropped, 2 recorders",
    );
}

#[test]
fn the_host_may_call_back_and_swallow_an_inner_trap() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    let mut host = host(&recorder, &engine, |mut caller, lane| {
        call_again(&mut caller, "leaf")?;
        lane.call(&mut caller, |caller| call_again(caller, "trap")).unwrap_err();
        Ok(())
    });
    host.call("f").unwrap();
    recorder.finish("completed").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 enter 0
         0 @3 enter 1
         0 @4 enter 2
         0 @5 leave
         0 @6 enter 3
         0 @7 unwind to 2, trap
         0 @8 leave
         0 @9 leave
         end @10 completed: 8 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn an_inner_trap_that_is_swallowed_silently_heals_with_the_next_leave() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    let mut host = host(&recorder, &engine, |mut caller, _| {
        call_again(&mut caller, "trap").unwrap_err();
        Ok(())
    });
    host.call("f").unwrap();
    assert_eq!(host.depth(), 0);
    recorder.finish("completed").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 enter 0
         0 @3 enter 1
         0 @4 enter 3
         0 @5 unwind to 2, unwound
         0 @6 leave
         0 @7 leave
         end @8 completed: 6 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn frames_are_closed_where_the_guest_may_not_run_any_more() {
    let engine = engine_with(|config| {
        config.consume_fuel(true).epoch_interruption(true);
    });
    let (recorder, trace) = recorder(&engine);
    let endless =
        module(&engine, "(func (export \"f\") (local $t i32) (ENTER 0) (loop $forever (br $forever)))");
    for (fuel, epochs, expected) in [(1000, 10, Trap::OutOfFuel), (u64::MAX, 0, Trap::Interrupt)] {
        let mut store = Store::new(&engine, ());
        store.set_fuel(1000).unwrap();
        store.set_epoch_deadline(10);
        let mut linker = Linker::new(&engine);
        let lane = recorder.link(&mut store, &mut linker).unwrap();
        let instance = linker.instantiate(&mut store, &endless).unwrap();
        let f = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();
        store.set_fuel(fuel).unwrap();
        store.set_epoch_deadline(epochs + 1);
        let thread = (epochs == 0).then(|| {
            let engine = engine.clone();
            std::thread::spawn(move || {
                // The guest is in its loop by then.
                std::thread::sleep(std::time::Duration::from_millis(300));
                engine.increment_epoch();
            })
        });
        let error = lane.call(&mut store, |store| f.call(store, ())).unwrap_err();
        assert_eq!(error.downcast_ref::<Trap>(), Some(&expected));
        assert_eq!(lane.depth(&mut store), 0);
        thread.into_iter().for_each(|thread| thread.join().unwrap());
    }
    recorder.finish("trap").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 enter 0
         0 @3 unwind to 0, trap
         0 @5 enter 0
         0 @6 unwind to 0, trap
         end @7 trap: 4 events, 2 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn a_stack_that_overflows_is_closed() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    let deep = module(&engine, "(func $f (export \"f\") (local $t i32) (ENTER 0) (call $f) (LEAVE))");
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    let lane = recorder.link(&mut store, &mut linker).unwrap();
    let instance = linker.instantiate(&mut store, &deep).unwrap();
    let f = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();
    let error = lane.call(&mut store, |store| f.call(store, ())).unwrap_err();
    assert_eq!(error.downcast_ref::<Trap>(), Some(&Trap::StackOverflow));
    assert_eq!(lane.depth(&mut store), 0);
    let summary = recorder.finish("trap").unwrap();
    assert!(summary.events > 1000, "{summary:?}");
    assert!(trace.text().contains("unwind to 0, trap\n"));
}

#[test]
fn a_panic_of_the_host_leaves_no_frame_behind() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    let mut host = host(&recorder, &engine, |_, _| panic!("in a host function"));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| host.call("f"))).unwrap_err();
    host.call("leaf").unwrap();
    recorder.finish("completed").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 enter 0
         0 @3 enter 1
         0 @4 unwind to 0, host error
         0 @5 enter 2
         0 @6 leave
         end @7 completed: 5 events, 1 blocks, 0 dropped, 1 recorders",
    );
}
