//! Whose children calls are, as the host says it.

use crate::common::*;
use kperf_trace::TraceReader;
use kperf_wasmtime::{HostLane, TraceContext};
use wasmtime::{Linker, Store};

const GUEST: &str = r#"(func (export "f") (local $t i32) (ENTER 0) (LEAVE))"#;

fn context(n: u8) -> TraceContext {
    let text = format!("00-{}-{}-01", format!("{n:02x}").repeat(16), "0b".repeat(8));
    TraceContext::parse(&text, "").unwrap()
}

/// What `context(n)` is called in the text of a trace.
fn named(text: &str) -> String {
    (1..5).fold(text.to_owned(), |text, n| text.replace(&context(n).traceparent(), &format!("c{n}")))
}

#[test]
fn a_lane_says_whose_children_the_next_calls_are() {
    let engine = engine();
    let (recorder, trace) = recorder_with(&engine, |builder| builder.parent(Some(context(4))));
    let mut linker = Linker::new(&engine);
    let mut store = Store::new(&engine, ());
    let lane = recorder.link(&mut store, &mut linker).unwrap();
    let instance = linker.instantiate(&mut store, &module(&engine, GUEST)).unwrap();
    let f = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();
    for context in [Some(context(1)), None, Some(context(2)), Some(context(3))] {
        lane.set_parent(&mut store, context);
        lane.call(&mut store, |store| f.call(store, ())).unwrap();
    }
    lane.switch(&mut store, 5);
    lane.set_parent(&mut store, Some(context(1)));
    f.call(&mut store, ()).unwrap();
    drop(store);
    recorder.finish("completed").unwrap();
    let reader = TraceReader::new(&trace.bytes()[..]).map(|reader| reader.header().parent.clone());
    assert_eq!(reader.unwrap(), Some(context(4)));
    assert_text(
        &named(&trace.text()),
        "0.0 parent c1
         0 @2 enter 0
         0 @3 leave
         0.0 parent none
         0 @4 enter 0
         0 @5 leave
         0.0 parent c2
         0 @6 enter 0
         0 @7 leave
         0.0 parent c3
         0 @8 enter 0
         0 @9 leave
         0.5 parent c1
         0.5 @11 enter 0
         0.5 @12 leave
         end @13 completed: 10 events, 5 blocks, 0 dropped, 1 recorders",
    );
}

#[test]
fn a_request_s_parent_ends_with_its_store() {
    let engine = engine();
    let (recorder, trace) = recorder(&engine);
    let guest = module(&engine, GUEST);
    let mut linker: Linker<HostLane> = Linker::new(&engine);
    recorder.add_to_linker(&mut linker, |lane| lane).unwrap();
    for context in [Some(context(1)), None] {
        let mut store = Store::new(&engine, recorder.host_lane());
        if context.is_some() {
            store.data_mut().set_parent(context);
        }
        let instance = linker.instantiate(&mut store, &guest).unwrap();
        instance.get_typed_func::<(), ()>(&mut store, "f").unwrap().call(&mut store, ()).unwrap();
    }
    let mut late = recorder.host_lane();
    recorder.finish("completed").unwrap();
    late.set_parent(Some(context(2)));
    drop(late);
    assert_text(
        &named(&trace.text()),
        "0.0 parent c1
         0 @2 enter 0
         0 @3 leave
         0.* parent none
         0 @5 enter 0
         0 @6 leave
         end @7 completed: 4 events, 2 blocks, 0 dropped, 1 recorders",
    );
}
