//! Other code takes the signal of native samples while they are taken.
#![allow(unsafe_code)]

use super::is_alone;
use crate::common::exits::{compile, engine, table};
use crate::common::recorder_with;
use kperf_rewriter::Recording;
use kperf_wasmtime::ClockChoice;
use std::sync::mpsc::channel;
use std::time::Duration;
use wasmtime::{Linker, Store};

extern "C" fn other(_: libc::c_int) {}

#[test]
fn a_handler_that_is_installed_over_ours_is_told() {
    if !is_alone(module_path!(), "a_handler_that_is_installed_over_ours_is_told") {
        return;
    }
    let engine = engine();
    let text = "(module (func (export \"f\")))";
    let (sender, notices) = channel();
    let (recorder, _) = recorder_with(&engine, |builder| {
        let builder = builder.clock(ClockChoice::Precise).calibrate(false);
        builder.on_notice(move |notice| sender.send(notice.to_string()).unwrap())
    });
    let module = compile(&engine, text, Recording::Count);
    recorder.native_code(&module, &table(text, Recording::Count)).unwrap();
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    let inlined = recorder.link_inlined(&mut store, &mut linker).unwrap();
    let instance = linker.instantiate(&mut store, &module).unwrap();
    let f = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();
    inlined.call(&mut store, |store| f.call(store, ())).unwrap();
    // SAFETY: the handler does nothing.
    unsafe { libc::signal(libc::SIGPROF, other as *const () as libc::sighandler_t) };
    inlined
        .call(&mut store, |store| {
            // The call goes on until it is noticed.
            let notice = notices.recv_timeout(Duration::from_secs(20)).unwrap();
            assert!(notice.contains("other code has taken the handler of SIGPROF"), "{notice}");
            f.call(store, ())
        })
        .unwrap();
    drop(store);
    let notes = recorder.finish("completed").unwrap().notes;
    assert!(notes[0].contains("other code has taken the handler of SIGPROF"), "{notes:?}");
}
