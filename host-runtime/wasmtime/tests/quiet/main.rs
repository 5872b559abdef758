//! Tests that look at the process's threads and times. A program of its own: no other test may run beside them.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod idle;
mod suspended;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by the test that runs.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
