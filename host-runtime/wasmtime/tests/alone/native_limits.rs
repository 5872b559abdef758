//! The kernel gives no timer: the limit is the process's.
#![allow(unsafe_code)]

use super::is_alone;
use crate::common::exits::{compile, engine, table};
use crate::common::recorder_with;
use kperf_rewriter::Recording;
use kperf_wasmtime::ClockChoice;
use wasmtime::{Linker, Store};

#[test]
fn a_profile_that_can_have_no_samples_has_its_counts() {
    if !is_alone(module_path!(), "a_profile_that_can_have_no_samples_has_its_counts") {
        return;
    }
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: it reads what it is given.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_SIGPENDING, &raw const none) }, 0);
    let engine = engine();
    let text = "(module (func (export \"f\")))";
    let (recorder, trace) =
        recorder_with(&engine, |builder| builder.clock(ClockChoice::Precise).calibrate(false));
    let module = compile(&engine, text, Recording::Count);
    recorder.native_code(&module, &table(text, Recording::Count)).unwrap();
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    recorder.link_inlined(&mut store, &mut linker).unwrap();
    let instance = linker.instantiate(&mut store, &module).unwrap();
    instance.get_typed_func::<(), ()>(&mut store, "f").unwrap().call(&mut store, ()).unwrap();
    drop(store);
    let summary = recorder.finish("completed").unwrap();
    let [note] = &summary.notes[..] else { panic!("{summary:?}") };
    assert!(note.contains("in 1 instances: no timer can be had to sample the thread's own stack"), "{note}");
    assert!(trace.text().contains("0 samples, 0 paths, calls [(100, 1)]"), "{}", trace.text());
}
