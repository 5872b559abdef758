//! The exports and imports, for callers that have only numbers and the instance's memory.
//!
//! | export | |
//! |---|---|
//! | `kperf_input(length) -> address` | room for so many bytes |
//! | `kperf_make(length) -> status` | makes a product; the room has [`Options`](crate::Options) as JSON. 0: the output is [`Answer`](crate::Answer) as JSON. -1: it is the text of an error |
//! | `kperf_ask(length) -> status` | answers a question; the room has an [`Ask`](crate::Ask) as JSON, and the output is the answer, or an error as above |
//! | `kperf_output() -> address`, `kperf_output_length() -> length` | what that gave |
//!
//! | import from `kperf` | |
//! |---|---|
//! | `rewind(trace)` | the trace of this number, counted from 0, is read from its beginning |
//! | `read(trace, address, length) -> count` | its next bytes, at most so many; 0 at its end |
//! | `write(address, length)` | the product's next bytes |
//!
//! What fails there throws, and this instance is never used again.

#![allow(
    unsafe_code,
    reason = "exports have names that the compiler doesn't choose, and imports are other people's code"
)]

use crate::make::{Options, Source, make};
use crate::pages::Ask;
use std::cell::RefCell;
use std::io::{self, BufReader, BufWriter, Read, Write};

#[link(wasm_import_module = "kperf")]
unsafe extern "C" {
    safe fn rewind(trace: u32);
    fn read(trace: u32, at: *mut u8, length: usize) -> usize;
    fn write(at: *const u8, length: usize);
}

#[derive(Default)]
struct State {
    input: Vec<u8>,
    output: Vec<u8>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// How many bytes are read or written at a time.
const PIECE: usize = 1 << 20;

struct Host;

struct Trace(u32);

struct Product;

impl Source for Host {
    type Trace = BufReader<Trace>;

    fn open(&mut self, trace: usize) -> io::Result<BufReader<Trace>> {
        rewind(trace as u32);
        Ok(BufReader::with_capacity(PIECE, Trace(trace as u32)))
    }
}

impl Read for Trace {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the host writes at most so many bytes there.
        let count = unsafe { read(self.0, bytes.as_mut_ptr(), bytes.len()) };
        Ok(count.min(bytes.len()))
    }
}

impl Write for Product {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the host reads so many bytes from there.
        unsafe { write(bytes.as_ptr(), bytes.len()) };
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn product(options: &[u8]) -> Result<Vec<u8>, String> {
    let options: Options =
        serde_json::from_slice(options).map_err(|error| format!("bad options: {error}"))?;
    let mut out = BufWriter::with_capacity(PIECE, Product);
    let answer = make(&options, &mut Host, &mut out).map_err(|failure| failure.0)?;
    out.flush().map_err(|error| error.to_string())?;
    serde_json::to_vec(&answer).map_err(|error| error.to_string())
}

fn asked(ask: &[u8]) -> Result<Vec<u8>, String> {
    let ask: Ask = serde_json::from_slice(ask).map_err(|error| format!("bad question: {error}"))?;
    serde_json::to_vec(&ask.answer()).map_err(|error| error.to_string())
}

/// Gives what the room has to `work`, and makes its answer the output.
fn with_input(length: usize, work: fn(&[u8]) -> Result<Vec<u8>, String>) -> i32 {
    let input = STATE.with_borrow_mut(|state| std::mem::take(&mut state.input));
    let (status, output) = match work(input.get(..length).unwrap_or_default()) {
        Ok(answer) => (0, answer),
        Err(error) => (-1, error.into_bytes()),
    };
    STATE.with_borrow_mut(|state| state.output = output);
    status
}

#[unsafe(no_mangle)]
extern "C" fn kperf_input(length: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.input.resize(length, 0);
        state.input.as_mut_ptr()
    })
}

#[unsafe(no_mangle)]
extern "C" fn kperf_make(length: usize) -> i32 {
    with_input(length, product)
}

#[unsafe(no_mangle)]
extern "C" fn kperf_ask(length: usize) -> i32 {
    with_input(length, asked)
}

#[unsafe(no_mangle)]
extern "C" fn kperf_output() -> *const u8 {
    STATE.with_borrow(|state| state.output.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn kperf_output_length() -> usize {
    STATE.with_borrow(|state| state.output.len())
}
