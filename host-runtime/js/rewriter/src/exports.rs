//! The module's exports, in addition to those of [`kperf_js_exports`].
//!
//! | export | |
//! |---|---|
//! | `kperf_options(length) -> status` | sets the [`Options`] for later modules; the input is their JSON |
//! | `kperf_rewrite(length) -> status` | rewrites the input. 1: the output is the module with probes. 0: the module stays as it is |
//! | `kperf_summary() -> status` | the output is the [`Summary`] of the last rewriting, as JSON |

#![allow(unsafe_code, reason = "callers find exports by unmangled names")]

use crate::{Options, Outcome, Summary, rewrite};
use kperf_js_exports::{output, status, with_input};
use std::cell::RefCell;

const UNTOUCHED: i32 = 0;
const PROBED: i32 = 1;

thread_local! {
    static OPTIONS: RefCell<Options> = RefCell::default();
    static SUMMARY: RefCell<Option<Summary>> = RefCell::default();
}

#[unsafe(no_mangle)]
extern "C" fn kperf_options(length: usize) -> i32 {
    with_input(length, |json| {
        let options: Options =
            serde_json::from_slice(json).map_err(|error| format!("bad options: {error}"))?;
        let checked = options.check().map_err(|error| error.to_string());
        OPTIONS.set(options);
        checked.map(|()| UNTOUCHED)
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_rewrite(length: usize) -> i32 {
    with_input(length, |wasm| {
        let outcome = OPTIONS.with_borrow(|options| rewrite(wasm, options));
        match outcome.map_err(|error| error.to_string())? {
            Outcome::Untouched => Ok(UNTOUCHED),
            Outcome::Probed(wasm, summary) => {
                output(wasm);
                SUMMARY.set(Some(summary));
                Ok(PROBED)
            }
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_summary() -> i32 {
    status(SUMMARY.with_borrow(|summary| {
        let summary = summary.as_ref().ok_or("nothing was rewritten")?;
        output(serde_json::to_vec(summary).map_err(|error| error.to_string())?);
        Ok(UNTOUCHED)
    }))
}
