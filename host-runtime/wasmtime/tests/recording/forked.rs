//! A child made by `fork` has its parent's recorder in its memory, and none of its threads.
#![cfg(unix)]
#![allow(unsafe_code, reason = "fork")]

use crate::common::exits::{compile, engine};
use crate::common::*;
use kperf_rewriter::Recording;
use kperf_wasmtime::{ClockChoice, Error, ErrorKind, HostLane, Recorder, Sampling};
use std::time::Duration;
use wasmtime::{Linker, Store};

const GUEST: &str = r#"(module (func (export "f") (param i32) (result i32) (local.get 0)))"#;

/// Runs this in a child. Returns its exit code; it is killed if it hangs.
fn in_child(act: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child uses no lock that another thread of this process may hold, but for those of the recorder, which
    // this is about, and those of the allocator, which are free after a fork.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::alarm(60);
            let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).unwrap_or(99);
            libc::_exit(code);
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        assert!(libc::WIFEXITED(status), "signal {}", libc::WTERMSIG(status));
        libc::WEXITSTATUS(status)
    }
}

fn is_forked<T>(result: Result<T, Error>) -> bool {
    result.is_err_and(|error| matches!(error.kind(), ErrorKind::Forked))
}

#[test]
fn a_child_gets_an_error_at_once_and_dropping_a_recorder_is_harmless() {
    let engine = engine();
    for clock in [ClockChoice::Precise, ClockChoice::ticker()] {
        let (recorder, trace) = recorder_with(&engine, |builder| {
            builder.clock(clock).sampling(Sampling::default()).flush_every(Some(Duration::from_millis(1)))
        });
        let module = compile(&engine, GUEST, Recording::imported());
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        let lane = recorder.link(&mut store, &mut linker).unwrap();
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let f = instance.get_typed_func::<i32, i32>(&mut store, "f").unwrap();
        lane.call(&mut store, |store| f.call(store, 1)).unwrap();
        // Again and again, since each fork may find other locks locked.
        for _ in 0..20 {
            let code = in_child(|| {
                let mut other = Store::new(&engine, recorder.host_lane());
                let errors = [
                    is_forked(recorder.link(&mut other, &mut Linker::new(&engine))),
                    is_forked(recorder.link_inlined(&mut other, &mut Linker::new(&engine))),
                    is_forked(recorder.finish("in the child")),
                    is_forked(recorder.symbols(Vec::new())),
                ];
                if errors.contains(&false) {
                    return 1;
                }
                // A store that was linked before runs on, unrecorded.
                let _ = lane.call(&mut store, |store| f.call(store, 2));
                lane.flush(&mut store);
                recorder.stats();
                0
            });
            assert_eq!(code, 0, "{clock:?}");
        }
        lane.call(&mut store, |store| f.call(store, 3)).unwrap();
        let all = (recorder, store, linker, lane);
        let code = in_child(move || {
            drop(all);
            0
        });
        assert_eq!(code, 0, "{clock:?}");
        drop(trace);
    }
}

#[test]
fn a_child_may_have_a_recorder_of_its_own() {
    let engine = engine();
    let (_recorder, _) = recorder(&engine);
    // The engine's own threads compile, which a child lacks.
    let module = compile(&engine, GUEST, Recording::imported());
    let code = in_child(|| {
        let own =
            Recorder::builder().clock(ClockChoice::Test).sink(Memory::default()).build(&engine).unwrap();
        let (mut store, mut linker) = (Store::new(&engine, own.host_lane()), Linker::new(&engine));
        own.add_to_linker(&mut linker, |lane: &mut HostLane| lane).unwrap();
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let f = instance.get_typed_func::<i32, i32>(&mut store, "f").unwrap();
        f.call(&mut store, 1).unwrap();
        drop(store);
        let summary = own.finish("completed").unwrap();
        if summary.events == 2 { 0 } else { 1 }
    });
    assert_eq!(code, 0);
}
