//! The module's exports, in addition to those of [`kperf_js_exports`].
//!
//! | export | |
//! |---|---|
//! | `kperf_open(length) -> status` | begins a trace; the input is [`Options`] as JSON |
//! | `kperf_push(length) -> status` | the input is the trace's next bytes |
//! | `kperf_end() -> status` | the trace is complete |
//! | `kperf_next() -> status` | 2: the output is the next request. 1: more of the trace is needed. 0: there are no more requests |
//! | `kperf_partial() -> status` | 2: the output is a request of spans that don't fill one yet. 0: there are none |
//! | `kperf_spans() -> count` | the number of spans in the last request |
//! | `kperf_report(compensate) -> status` | the output is the report, as JSON |
//! | `kperf_tree() -> status` | the output is the call tree, as JSON |
//! | `kperf_encode(length) -> count` | the input is a recorder's block; the output is its chunk's payload, columns not packed. Returns the number of events, or -1 |

#![allow(unsafe_code, reason = "callers find exports by unmangled names")]

use crate::core::{Core, Step};
use crate::options::Options;
use kperf_js_exports::{output, status, with_input, write_output};
use kperf_otlp::Request;
use kperf_trace::BlockEncoder;
use std::cell::{Cell, RefCell};

const DONE: i32 = 0;
const WAIT: i32 = 1;
const REQUEST: i32 = 2;

thread_local! {
    static CORE: RefCell<Option<Core>> = RefCell::default();
    static ENCODER: RefCell<Option<BlockEncoder>> = RefCell::default();
    static SPANS: Cell<u64> = Cell::default();
}

/// Calls `work` with the open trace.
fn with_core(work: impl FnOnce(&mut Core) -> Result<i32, String>) -> Result<i32, String> {
    CORE.with_borrow_mut(|core| work(core.as_mut().ok_or("no trace is open")?))
}

fn give(request: Request) -> i32 {
    SPANS.set(request.spans);
    output(request.body);
    REQUEST
}

/// Makes a text of the open trace the output.
fn text(make: impl FnOnce(&mut Core) -> Result<Vec<u8>, String>) -> i32 {
    status(with_core(|core| {
        output(make(core)?);
        Ok(DONE)
    }))
}

#[unsafe(no_mangle)]
extern "C" fn kperf_open(length: usize) -> i32 {
    with_input(length, |json| {
        let options: Options =
            serde_json::from_slice(json).map_err(|error| format!("bad options: {error}"))?;
        CORE.set(Some(Core::new(options)));
        Ok(DONE)
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_push(length: usize) -> i32 {
    with_input(length, |bytes| with_core(|core| core.push(bytes).map(|()| DONE)))
}

#[unsafe(no_mangle)]
extern "C" fn kperf_end() -> i32 {
    status(with_core(|core| core.end().map(|()| DONE)))
}

#[unsafe(no_mangle)]
extern "C" fn kperf_next() -> i32 {
    status(with_core(|core| {
        Ok(match core.next()? {
            Step::Request(request) => give(request),
            Step::Wait => WAIT,
            Step::Done => DONE,
        })
    }))
}

#[unsafe(no_mangle)]
extern "C" fn kperf_partial() -> i32 {
    status(with_core(|core| Ok(core.partial().map_or(DONE, give))))
}

#[unsafe(no_mangle)]
extern "C" fn kperf_spans() -> u32 {
    SPANS.get() as u32
}

#[unsafe(no_mangle)]
extern "C" fn kperf_report(compensate: i32) -> i32 {
    text(|core| core.report(compensate != 0))
}

#[unsafe(no_mangle)]
extern "C" fn kperf_tree() -> i32 {
    text(Core::call_tree)
}

#[unsafe(no_mangle)]
extern "C" fn kperf_encode(length: usize) -> i32 {
    with_input(length, |block| {
        let encoded = ENCODER.with_borrow_mut(|encoder| {
            let encoder = match encoder {
                Some(encoder) => encoder,
                none => none.insert(BlockEncoder::new()?),
            };
            write_output(|payload| encoder.encode(block, payload))
        });
        encoded.map(|events| events as i32).map_err(|error| error.to_string())
    })
}
