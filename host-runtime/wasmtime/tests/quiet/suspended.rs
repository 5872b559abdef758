//! A profile of a guest that waits in an asynchronous host function.

use crate::alone;
use crate::common::exits::{compile, table};
use crate::common::{engine, recorder_with};
use crate::idle::wakeups;
use kperf_rewriter::Recording;
use kperf_trace::{Item, TraceReader, Window};
use kperf_wasmtime::ClockChoice;
use std::time::Duration;
use wasmtime::{Caller, Linker, Store};

const GUEST: &str = r#"(module
    (import "host" "sleep" (func $sleep))
    (func $g (call $sleep))
    (func (export "f") (call $g)))"#;

#[test]
fn a_wait_is_not_the_guest_s_own_time() {
    let _alone = alone();
    let engine = engine();
    let probe = Recording::Profile { spans: true };
    let module = compile(&engine, GUEST, probe);
    let (recorder, trace) = recorder_with(&engine, |builder| {
        builder.clock(ClockChoice::Precise).calibrate(false).symbols(table(GUEST, probe))
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        let inlined = recorder.link_inlined(&mut store, &mut linker).unwrap();
        linker
            .func_wrap_async("host", "sleep", |_: Caller<'_, ()>, ()| {
                Box::new(async {
                    // Until the sampler has had a processor, on a busy machine too.
                    let enough = wakeups() + 200;
                    while wakeups() < enough {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                })
            })
            .unwrap();
        let instance = linker.instantiate_async(&mut store, &module).await.unwrap();
        let f = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();
        inlined.call_async(&mut store, async |store| f.call_async(store, ()).await).await.unwrap();
    });
    recorder.finish("completed").unwrap();
    let bytes = trace.bytes();
    let mut reader = TraceReader::new(&bytes[..]).unwrap();
    let mut windows: Vec<Window> = Vec::new();
    let mut tables = 0;
    while let Some(item) = reader.next().unwrap() {
        match item {
            Item::Window(window) => windows.push(window.clone()),
            Item::Symbols(_) => tables += 1,
            _ => {}
        }
    }
    let suspended = kperf_abi::word::MAX_FUNC_ID - 1;
    let [waits, runs] = [true, false].map(|waits| {
        let nodes = windows.iter().flat_map(|window| &window.nodes);
        nodes.filter(|node| (node.func.0 == suspended) == waits).map(|node| node.samples).sum::<u64>()
    });
    // While the guest waited, the sampler looked 200 times. How long it was put aside before its wait is the machine's affair.
    assert!(waits >= 100, "{waits} samples of waiting, {runs} of the guest's own: {windows:?}");
    assert_eq!((tables, reader.anomalies()), (2, &[][..]), "the guest's symbols, and ours");
}
