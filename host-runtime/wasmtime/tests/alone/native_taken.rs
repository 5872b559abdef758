//! Other code already has the signal of native samples.
#![allow(unsafe_code)]

use super::is_alone;
use crate::common::exits::{compile, engine, table};
use crate::common::recorder;
use kperf_rewriter::Recording;
use std::error::Error;

extern "C" fn other(_: libc::c_int) {}

#[test]
fn the_handler_of_others_is_left_alone() {
    if !is_alone(module_path!(), "the_handler_of_others_is_left_alone") {
        return;
    }
    // SAFETY: the handler does nothing.
    let before = unsafe { libc::signal(libc::SIGPROF, other as *const () as libc::sighandler_t) };
    assert_eq!(before, libc::SIG_DFL);
    let engine = engine();
    let text = "(module (func (export \"f\")))";
    let (recorder, _) = recorder(&engine);
    let module = compile(&engine, text, Recording::Count);
    let error = recorder.native_code(&module, &table(text, Recording::Count)).unwrap_err();
    assert!(error.to_string().contains("rewrite the module with a shadow stack"), "{error}");
    assert_eq!(error.source().unwrap().to_string(), "other code handles SIGPROF in this process");
    // SAFETY: as above.
    let still = unsafe { libc::signal(libc::SIGPROF, libc::SIG_IGN) };
    assert_eq!(still, other as *const () as libc::sighandler_t);
}
