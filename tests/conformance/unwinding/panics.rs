//! Rust panics: through frames with destructors, caught, resumed.

use std::panic::{catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

static SINK: AtomicU32 = AtomicU32::new(0);

#[unsafe(no_mangle)]
#[inline(never)]
fn after() {
    SINK.fetch_add(1, Ordering::Relaxed);
}

struct Guard;

impl Drop for Guard {
    #[inline(never)]
    fn drop(&mut self) {
        after();
    }
}

#[unsafe(no_mangle)]
#[inline(never)]
fn panics(n: u32) -> u32 {
    if n == 1 {
        panic!("said so");
    }
    [1, 2][n as usize]
}

#[unsafe(no_mangle)]
#[inline(never)]
fn between(n: u32) -> u32 {
    let _guard = Guard;
    let result = panics(n);
    after();
    result
}

#[unsafe(no_mangle)]
#[inline(never)]
fn resumes(n: u32) -> u32 {
    match catch_unwind(|| between(n)) {
        Ok(result) => result,
        Err(payload) => {
            after();
            resume_unwind(payload)
        }
    }
}

#[unsafe(no_mangle)]
#[inline(never)]
fn catches(n: u32) -> Option<u32> {
    let result = catch_unwind(|| resumes(n)).ok();
    after();
    result
}

fn main() {
    println!("{:?}", catches(0));
    println!("{:?}", catches(1));
    println!("{:?}", catches(7));
    after();
}
