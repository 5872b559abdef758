//! The profile of an instance, during the host's calls.

use crate::profile::Profiled;
use kperf_abi::shadow::STACK;
use kperf_abi::word::Reason;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use wasmtime::{AsContextMut, Global, Val};

/// An instance that makes a profile.
pub(super) struct InstanceProfile {
    pub(super) profiled: Arc<Profiled>,
    pub(super) depth: Depth,
}

/// The depth of an instance's open calls.
pub(super) enum Depth {
    Shadow {
        /// Address of the slot that the next call takes.
        top: Global,
        /// The value for `top` after a call that ended without notice (its future was dropped, or the host panicked);
        /// otherwise 0.
        abandoned: AtomicU32,
    },
    /// Unknown: only the thread knows its stack.
    Native,
}

impl InstanceProfile {
    /// The embedder begins a call. Returns the instance's depth, to return to.
    pub(super) fn begin(&self, mut store: impl AsContextMut) -> u32 {
        match &self.depth {
            Depth::Shadow { top, abandoned } => {
                let now = top.get(&mut store).i32().unwrap_or_default() as u32;
                match abandoned.swap(0, Ordering::Relaxed) {
                    // The outer call has ended since, and left the top below.
                    before if before == 0 || before >= now => now,
                    before => {
                        set_top(top, store, before);
                        before
                    }
                }
            }
            Depth::Native => 0,
        }
    }

    /// What [`begin`](Self::begin) returns before any call.
    pub(super) fn outermost(&self) -> u32 {
        match self.depth {
            Depth::Shadow { .. } => STACK as u32,
            Depth::Native => 0,
        }
    }

    /// Ends the call: closes the frames that it left open.
    pub(super) fn end(&self, mut store: impl AsContextMut, before: u32, failed: bool, reason: Reason) {
        match &self.depth {
            Depth::Shadow { top, .. } => {
                // A function that calls nothing doesn't move the top, not even if it failed and the host caught that.
                if failed || self.begin(&mut store) != before || self.profiled.is_open(before) {
                    self.profiled.unwind(before, reason);
                    set_top(top, store, before);
                } else {
                    self.profiled.returned(before);
                }
            }
            Depth::Native => self.profiled.end_call(failed.then_some(reason)),
        }
    }

    /// Ends the call without access to the store. The next call that begins sets the guest's top.
    pub(super) fn abandon(&self, before: u32) {
        match &self.depth {
            Depth::Shadow { abandoned, .. } => {
                self.profiled.unwind(before, Reason::Host);
                abandoned.store(before, Ordering::Relaxed);
            }
            Depth::Native => self.profiled.end_call(Some(Reason::Host)),
        }
    }
}

fn set_top(top: &Global, store: impl AsContextMut, value: u32) {
    // Fails for values of another type only, and this is the recorder's own global.
    let _ = top.set(store, Val::I32(value as i32));
}
