//! The exports and imports, for callers that have only numbers and the instance's memory.
//!
//! | export | |
//! |---|---|
//! | `kperf_input(length) -> address` | room for so many bytes |
//! | `kperf_add(length) -> status` | adds a run; the room has an [`Ask`](crate::Ask) as JSON. 0: the output is [`Told`](crate::Told) as JSON. -1: it is the text of an error |
//! | `kperf_output() -> address`, `kperf_output_length() -> length` | what that gave |
//!
//! | import from `kperf` | |
//! |---|---|
//! | `read(address, length) -> count` | the trace's next bytes, at most so many; 0 at its end |
//! | `ask(address, length) -> length` | answers a [`Question`](crate::Question); as long is the answer |
//! | `answer(address)` | writes it there |
//! | `put(key, key's length, address, length)` | writes a file of the dataset |
//!
//! What fails there throws, and this instance is never used again.

#![allow(
    unsafe_code,
    reason = "exports have names that the compiler doesn't choose, and imports are other people's code"
)]

use crate::add::{Ask, add};
use crate::host::Host;
use std::cell::RefCell;
use std::io::{self, Read};

#[link(wasm_import_module = "kperf")]
unsafe extern "C" {
    fn read(at: *mut u8, length: usize) -> usize;
    fn ask(at: *const u8, length: usize) -> usize;
    fn answer(at: *mut u8);
    fn put(key: *const u8, key_length: usize, at: *const u8, length: usize);
}

#[derive(Default)]
struct State {
    input: Vec<u8>,
    output: Vec<u8>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

struct Trace;

impl Read for Trace {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the host writes at most so many bytes there.
        let count = unsafe { read(bytes.as_mut_ptr(), bytes.len()) };
        Ok(count.min(bytes.len()))
    }
}

struct Imports;

impl Host for Imports {
    fn ask(&self, question: &[u8]) -> Vec<u8> {
        // SAFETY: the host reads so many bytes from there.
        let mut text = vec![0; unsafe { ask(question.as_ptr(), question.len()) }];
        // SAFETY: it writes as many as it has said.
        unsafe { answer(text.as_mut_ptr()) };
        text
    }

    fn put(&self, key: &str, bytes: &[u8]) {
        // SAFETY: the host reads so many bytes from there.
        unsafe { put(key.as_ptr(), key.len(), bytes.as_ptr(), bytes.len()) };
    }
}

fn added(input: &[u8]) -> Result<Vec<u8>, String> {
    let ask: Ask = serde_json::from_slice(input).map_err(|error| format!("bad question: {error}"))?;
    let told = add(ask, Imports, Trace)?;
    serde_json::to_vec(&told).map_err(|error| error.to_string())
}

#[unsafe(no_mangle)]
extern "C" fn kperf_input(length: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.input.resize(length, 0);
        state.input.as_mut_ptr()
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_add(length: usize) -> i32 {
    let input = STATE.with_borrow_mut(|state| std::mem::take(&mut state.input));
    let (status, output) = match added(input.get(..length).unwrap_or_default()) {
        Ok(told) => (0, told),
        Err(error) => (-1, error.into_bytes()),
    };
    STATE.with_borrow_mut(|state| state.output = output);
    status
}

#[unsafe(no_mangle)]
extern "C" fn kperf_output() -> *const u8 {
    STATE.with_borrow(|state| state.output.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn kperf_output_length() -> usize {
    STATE.with_borrow(|state| state.output.len())
}
