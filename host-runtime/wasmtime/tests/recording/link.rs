//! The recorder module in stores: what is recorded, on which lane, from the first instruction to the last.

use crate::common::*;
use kperf_wasmtime::{ErrorKind, Lane, Recorder};
use wasmtime::{Engine, Instance, Linker, Module, Store};

const NESTED: &str = r#"
    (func $inner (local $t i32) (ENTER 1) (LEAVE))
    (func (export "f") (local $t i32) (ENTER 0) (call $inner) (call $inner) (LEAVE))"#;

fn linked(recorder: &Recorder, module: &Module) -> (Store<()>, Lane, Instance) {
    let mut store = Store::new(module.engine(), ());
    let mut linker = Linker::new(module.engine());
    let lane = recorder.link(&mut store, &mut linker).unwrap();
    let instance = linker.instantiate(&mut store, module).unwrap();
    (store, lane, instance)
}

fn call(store: &mut Store<()>, lane: &Lane, instance: Instance, name: &str) {
    let f = instance.get_typed_func::<(), ()>(&mut *store, name).unwrap();
    lane.call(store, |store| f.call(store, ())).unwrap();
}

#[test]
fn nested_calls_are_recorded_with_their_times() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    let (mut store, lane, instance) = linked(&recorder, &module(&engine, NESTED));
    call(&mut store, &lane, instance, "f");
    let summary = recorder.finish("completed").unwrap();
    assert_eq!((summary.events, summary.blocks, summary.dropped_events), (6, 1, 0));
    assert_text(
        &trace.text(),
        "0 @2 enter 0
         0 @3 enter 1
         0 @4 leave
         0 @5 enter 1
         0 @6 leave
         0 @7 leave
         end @8 completed: 6 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn a_start_section_is_recorded() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    let start = module(&engine, "(func $main (local $t i32) (ENTER 9) (LEAVE)) (start $main)");
    let (store, ..) = linked(&recorder, &start);
    drop(store);
    recorder.finish("completed").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 enter 9
         0 @3 leave
         end @4 completed: 2 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn a_start_section_that_traps_is_closed() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    let start = module(&engine, "(func $main (local $t i32) (ENTER 9) (unreachable)) (start $main)");
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    let lane = recorder.link(&mut store, &mut linker).unwrap();
    lane.call(&mut store, |store| linker.instantiate(store, &start)).unwrap_err();
    recorder.finish("trap").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 enter 9
         0 @3 unwind to 0, trap
         end @4 trap: 2 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn each_store_is_a_lane_and_a_lane_s_number_is_used_again() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    let module = module(&engine, "(func (export \"f\") (local $t i32) (ENTER 5) (LEAVE))");
    let (mut first, lane, instance) = linked(&recorder, &module);
    let (mut second, other_lane, other_instance) = linked(&recorder, &module);
    call(&mut first, &lane, instance, "f");
    call(&mut second, &other_lane, other_instance, "f");
    call(&mut first, &lane, instance, "f");
    assert_eq!((lane.id(), other_lane.id()), (0, 1));
    drop(first);
    let (mut third, lane, instance) = linked(&recorder, &module);
    call(&mut third, &lane, instance, "f");
    assert_eq!(lane.id(), 0);
    recorder.finish("completed").unwrap();
    assert_text(
        &trace.text(),
        "0 @3 enter 5
         0 @4 leave
         0 @7 enter 5
         0 @8 leave
         0 @10 enter 5
         0 @11 leave
         1 @5 enter 5
         1 @6 leave
         end @12 completed: 8 events, 3 blocks, 0 dropped, 2 recorders",
    );
}

#[test]
fn modules_of_one_store_share_its_lane() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    let library = module(&engine, "(func (export \"g\") (local $t i32) (ENTER 100) (LEAVE))");
    let app = Module::new(
        &engine,
        wat::parse_str(
            r#"(module
                (import "kperf" "enter" (func $enter (param i32) (result i32)))
                (import "kperf" "leave" (func $leave (param i32)))
                (import "library" "g" (func $g))
                (func (export "f") (local $t i32)
                  (local.set $t (call $enter (i32.const 0))) (call $g) (call $leave (local.get $t))))"#,
        )
        .unwrap(),
    )
    .unwrap();
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    let lane = recorder.link(&mut store, &mut linker).unwrap();
    let library = linker.instantiate(&mut store, &library).unwrap();
    linker.instance(&mut store, "library", library).unwrap();
    let app = linker.instantiate(&mut store, &app).unwrap();
    call(&mut store, &lane, app, "f");
    recorder.finish("completed").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 enter 0
         0 @3 enter 100
         0 @4 leave
         0 @5 leave
         end @6 completed: 4 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn marks_and_stacks_are_told() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    let module = module(&engine, "(func (export \"f\") (local $t i32) (ENTER 5))");
    let (mut store, lane, instance) = linked(&recorder, &module);
    let f = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();
    lane.mark(&mut store, 7);
    f.call(&mut store, ()).unwrap();
    lane.switch(&mut store, 2);
    f.call(&mut store, ()).unwrap();
    f.call(&mut store, ()).unwrap();
    assert_eq!(lane.depth(&mut store), 2);
    lane.switch(&mut store, 0);
    assert_eq!(lane.depth(&mut store), 1);
    lane.switch(&mut store, 768);
    recorder.finish("completed").unwrap();
    assert_text(
        &trace.text(),
        "0 @2 mark 7
         0 @3 enter 5
         0.2 @5 enter 5
         0.2 @6 enter 5
         0 @8 unwind to 0, unfinished
         0.2 @8 unwind to 0, unfinished
         end @8 completed: 6 events, 1 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn what_can_not_be_linked_is_refused_with_the_way_out() {
    let engine = engine();
    let (recorder, _) = recorder(&engine);
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    recorder.link(&mut store, &mut linker).unwrap();
    let error = recorder.link(&mut store, &mut linker).err().expect("kperf.* is taken");
    assert!(matches!(error.kind(), ErrorKind::Link(_)), "{error:?}");

    let other = crate::common::engine();
    let error =
        recorder.link(Store::new(&other, ()), &mut Linker::new(&other)).err().expect("another engine");
    assert_eq!(error.to_string(), "the store belongs to another engine than the recorder");

    recorder.finish("completed").unwrap();
    let error = recorder.link(&mut store, &mut Linker::new(&engine)).err().expect("too late");
    assert_eq!(error.to_string(), "the recording is finished already");

    let bare = Engine::default();
    let (recorder, _) = crate::common::recorder(&bare);
    let error =
        recorder.link(Store::new(&bare, ()), &mut Linker::new(&bare)).err().expect("no shared memory");
    assert!(error.to_string().contains("`Recorder::configure`"), "{error}");
}
