//! The exports, for callers that have only numbers and the instance's memory.
//!
//! | export | |
//! |---|---|
//! | `kperf_input(length) -> address` | room for so many bytes; what was in it before is gone |
//! | `kperf_options(length) -> status` | the room has [`Options`] as JSON, for modules to come |
//! | `kperf_rewrite(length) -> status` | the room has a module. 1: the output is the same with probes. 0: it stays as it is |
//! | `kperf_summary() -> status` | what was done to it: the output is [`Summary`] as JSON |
//! | `kperf_output() -> address`, `kperf_output_length() -> length` | what the last call gave, until the next call |
//!
//! A status of -1 is an error; the output is its text.

// The names of exports are unmangled, which the compiler counts as unsafe: two of one name would clash. Nothing else
// has names like these.
#![allow(unsafe_code)]

use crate::{Options, Outcome, Summary, rewrite};
use std::cell::RefCell;

const FAILED: i32 = -1;
const UNTOUCHED: i32 = 0;
const PROBED: i32 = 1;

#[derive(Default)]
struct State {
    input: Vec<u8>,
    output: Vec<u8>,
    options: Options,
    summary: Option<Summary>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
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

    fn options(&mut self, length: usize) -> Result<i32, String> {
        self.options =
            serde_json::from_slice(self.room(length)).map_err(|error| format!("bad options: {error}"))?;
        self.options.check().map_err(|error| error.to_string())?;
        Ok(UNTOUCHED)
    }

    fn rewrite(&mut self, length: usize) -> Result<i32, String> {
        match rewrite(self.room(length), &self.options).map_err(|error| error.to_string())? {
            Outcome::Untouched => Ok(UNTOUCHED),
            Outcome::Probed(wasm, summary) => {
                self.output = wasm;
                self.summary = Some(summary);
                Ok(PROBED)
            }
        }
    }

    fn summary(&mut self) -> Result<i32, String> {
        let summary = self.summary.as_ref().ok_or("nothing was rewritten")?;
        self.output = serde_json::to_vec(summary).map_err(|error| error.to_string())?;
        Ok(UNTOUCHED)
    }
}

fn with(act: impl FnOnce(&mut State) -> Result<i32, String>) -> i32 {
    STATE.with_borrow_mut(|state| {
        let answer = act(state);
        state.answer(answer)
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_input(length: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.input.resize(length, 0);
        state.input.as_mut_ptr()
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_options(length: usize) -> i32 {
    with(|state| state.options(length))
}

#[unsafe(no_mangle)]
extern "C" fn kperf_rewrite(length: usize) -> i32 {
    with(|state| state.rewrite(length))
}

#[unsafe(no_mangle)]
extern "C" fn kperf_summary() -> i32 {
    with(State::summary)
}

#[unsafe(no_mangle)]
extern "C" fn kperf_output() -> *const u8 {
    STATE.with_borrow(|state| state.output.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn kperf_output_length() -> usize {
    STATE.with_borrow(|state| state.output.len())
}
