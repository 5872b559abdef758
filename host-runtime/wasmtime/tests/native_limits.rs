//! The kernel gives no timer. A process of its own, as the limit is the process's.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(missing_docs, clippy::unwrap_used, unsafe_code)]

mod common;

use common::exits::{compile, engine, table};
use common::recorder_with;
use kperf_rewriter::Probe;
use kperf_wasmtime::ClockChoice;
use wasmtime::{Linker, Store};

#[test]
fn a_profile_that_would_have_no_samples_is_an_error() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: it reads what it is given.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_SIGPENDING, &raw const none) }, 0);
    let engine = engine();
    let text = "(module (func (export \"f\")))";
    let (recorder, _) =
        recorder_with(&engine, |builder| builder.clock(ClockChoice::Precise).calibrate(false));
    let module = compile(&engine, text, Probe::Count);
    recorder.native_code(&module, &table(text, Probe::Count)).unwrap();
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    recorder.link_inlined(&mut store, &mut linker).unwrap();
    let error = linker.instantiate(&mut store, &module).unwrap_err();
    assert!(
        format!("{error:#}").contains("no timer can be had to sample the thread's own stack"),
        "{error:#}"
    );
    recorder.finish("failed").unwrap();
}
