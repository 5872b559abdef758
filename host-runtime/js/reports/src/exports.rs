//! The module's exports, in addition to those of [`kperf_js_exports`], and its imports.
//!
//! | export | |
//! |---|---|
//! | `kperf_make(length) -> status` | makes a product; the input is [`Options`](crate::Options) as JSON, the output the [`Answer`](crate::Answer) as JSON |
//!
//! | import from `kperf` | |
//! |---|---|
//! | `rewind(trace)` | starts to read the trace with this number, from 0, from its beginning |
//! | `read(trace, address, length) -> count` | reads at most `length` bytes of it; 0 at its end |
//! | `write(address, length)` | takes the product's next bytes |
//!
//! An import that fails throws, and the instance is never used again.

#![allow(
    unsafe_code,
    reason = "callers find exports by unmangled names, and imports are other people's code"
)]

use crate::make::{Options, make};
use crate::traces::Source;
use kperf_js_exports::{output, with_input};
use std::io::{self, BufReader, BufWriter, Read, Write};

#[link(wasm_import_module = "kperf")]
unsafe extern "C" {
    safe fn rewind(trace: u32);
    fn read(trace: u32, at: *mut u8, length: usize) -> usize;
    fn write(at: *const u8, length: usize);
}

/// The number of bytes that are read or written at a time.
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
        // SAFETY: the host writes at most `bytes.len()` bytes there.
        let count = unsafe { read(self.0, bytes.as_mut_ptr(), bytes.len()) };
        Ok(count.min(bytes.len()))
    }
}

impl Write for Product {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the host reads `bytes.len()` bytes from there.
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

#[unsafe(no_mangle)]
extern "C" fn kperf_make(length: usize) -> i32 {
    with_input(length, |options| {
        output(product(options)?);
        Ok(0)
    })
}
