//! The input and the output of a module whose caller has only numbers and the module's memory.
//!
//! | export | |
//! |---|---|
//! | `kperf_input(length) -> address` | room for an input of `length` bytes; replaces the input before |
//! | `kperf_output() -> address`, `kperf_output_length() -> length` | the output of the last call, valid until the next call |
//!
//! A module's other exports return a status. -1 is an error, and the output is its text.

#![allow(
    unsafe_code,
    reason = "callers find exports by unmangled names; no other crate exports names like these"
)]

use std::cell::RefCell;
use std::error::Error;

const FAILED: i32 = -1;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = RefCell::default();
    static OUTPUT: RefCell<Vec<u8>> = RefCell::default();
}

/// Returns the status, or -1 with the error's text as the output.
pub fn status(result: Result<i32, String>) -> i32 {
    result.unwrap_or_else(|error| {
        output(error.into_bytes());
        FAILED
    })
}

/// Calls `work` with the first `length` bytes of the input, and returns its status.
pub fn with_input(length: usize, work: impl FnOnce(&[u8]) -> Result<i32, String>) -> i32 {
    INPUT.with_borrow(|input| status(work(input.get(..length).unwrap_or_default())))
}

/// Sets the output.
pub fn output(bytes: Vec<u8>) {
    OUTPUT.set(bytes);
}

/// Calls `write` with the emptied output, whose memory is reused.
pub fn write_output<T>(write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    OUTPUT.with_borrow_mut(|output| {
        output.clear();
        write(output)
    })
}

/// An error and its causes in one line.
pub fn text_of(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

#[unsafe(no_mangle)]
extern "C" fn kperf_input(length: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        input.resize(length, 0);
        input.as_mut_ptr()
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_output() -> *const u8 {
    OUTPUT.with_borrow(|output| output.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn kperf_output_length() -> usize {
    OUTPUT.with_borrow(Vec::len)
}
