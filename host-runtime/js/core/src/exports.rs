//! The exports, for callers that have only numbers and the instance's memory.
//!
//! | export | |
//! |---|---|
//! | `kperf_input(length) -> address` | room for so many bytes; what was in it before is gone |
//! | `kperf_open(length) -> status` | begins a trace; the room has [`Options`](crate::Options) as JSON |
//! | `kperf_push(length) -> status` | the bytes in the room are the trace's next |
//! | `kperf_end() -> status` | the trace has no more |
//! | `kperf_next() -> status` | 2: the next request is the output. 1: not before more is pushed. 0: that was all |
//! | `kperf_partial() -> status` | 2: what doesn't fill a request yet is the output. 0: there is nothing |
//! | `kperf_spans() -> count` | how many spans the last request has |
//! | `kperf_account() -> status` | what became of the calls; the output is JSON |
//! | `kperf_report(compensate) -> status` | the report; the output is JSON |
//! | `kperf_tree() -> status` | the call tree; the output is JSON |
//! | `kperf_encode(length) -> count` | the room has a block of a recorder; the output is the payload of its chunk, with its columns as they are. How many events it has |
//! | `kperf_output() -> address`, `kperf_output_length() -> length` | what the last call gave, until the next call |
//!
//! A status or a count of -1 is an error; the output is its text.

// The names of exports are unmangled, which the compiler counts as unsafe: two of one name would clash. Nothing else
// has names like these.
#![allow(unsafe_code)]

use crate::core::{Core, Step};
use crate::options::Options;
use kperf_otlp::Request;
use kperf_trace::BlockEncoder;
use std::cell::RefCell;
use std::io;

const FAILED: i32 = -1;
const DONE: i32 = 0;
const WAIT: i32 = 1;
const REQUEST: i32 = 2;

#[derive(Default)]
struct State {
    input: Vec<u8>,
    output: Vec<u8>,
    spans: u64,
    core: Option<Core>,
    encoder: Option<BlockEncoder>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

fn with<T>(act: impl FnOnce(&mut State) -> T) -> T {
    STATE.with_borrow_mut(act)
}

impl State {
    fn room(&self, length: usize) -> &[u8] {
        self.input.get(..length).unwrap_or_default()
    }

    fn answer(&mut self, answer: Result<i32, String>) -> i32 {
        answer.unwrap_or_else(|error| {
            self.output = error.into_bytes();
            FAILED
        })
    }

    fn give(&mut self, request: Request) -> i32 {
        self.spans = request.spans;
        self.output = request.body;
        REQUEST
    }

    /// What the trace answers; an error if there is none.
    fn ask<T>(&mut self, ask: impl FnOnce(&mut Core) -> Result<T, String>) -> Result<T, String> {
        ask(self.core.as_mut().ok_or("no trace is open")?)
    }

    fn encode(&mut self, length: usize) -> io::Result<i32> {
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            none => none.insert(BlockEncoder::new()?),
        };
        self.output.clear();
        let block = self.input.get(..length).unwrap_or_default();
        Ok(encoder.encode(block, &mut self.output)? as i32)
    }

    fn text(&mut self, text: Result<Vec<u8>, String>) -> i32 {
        let answer = text.map(|text| {
            self.output = text;
            DONE
        });
        self.answer(answer)
    }
}

#[unsafe(no_mangle)]
extern "C" fn kperf_input(length: usize) -> *mut u8 {
    with(|state| {
        state.input.resize(length, 0);
        state.input.as_mut_ptr()
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_open(length: usize) -> i32 {
    with(|state| {
        let options = serde_json::from_slice::<Options>(state.room(length));
        let answer = options.map_err(|error| format!("bad options: {error}")).map(|options| {
            state.core = Some(Core::new(options));
            DONE
        });
        state.answer(answer)
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_push(length: usize) -> i32 {
    with(|state| {
        let input = std::mem::take(&mut state.input);
        let bytes = input.get(..length).unwrap_or_default();
        let answer = state.ask(|core| core.push(bytes));
        state.input = input;
        state.answer(answer.map(|()| DONE))
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_end() -> i32 {
    with(|state| {
        let answer = state.ask(Core::end).map(|()| DONE);
        state.answer(answer)
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_next() -> i32 {
    with(|state| match state.ask(Core::next) {
        Ok(Step::Request(request)) => state.give(request),
        Ok(Step::Wait) => WAIT,
        Ok(Step::Done) => DONE,
        Err(error) => state.answer(Err(error)),
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_partial() -> i32 {
    with(|state| match state.ask(|core| Ok(core.partial())) {
        Ok(Some(request)) => state.give(request),
        Ok(None) => DONE,
        Err(error) => state.answer(Err(error)),
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_spans() -> u32 {
    with(|state| state.spans as u32)
}

#[unsafe(no_mangle)]
extern "C" fn kperf_account() -> i32 {
    with(|state| {
        let text = state.ask(Core::account);
        state.text(text)
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_report(compensate: i32) -> i32 {
    with(|state| {
        let text = state.ask(|core| core.report(compensate != 0));
        state.text(text)
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_tree() -> i32 {
    with(|state| {
        let text = state.ask(Core::call_tree);
        state.text(text)
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_encode(length: usize) -> i32 {
    with(|state| {
        let answer = state.encode(length).map_err(|error| error.to_string());
        state.answer(answer)
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_output() -> *const u8 {
    with(|state| state.output.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn kperf_output_length() -> usize {
    with(|state| state.output.len())
}
