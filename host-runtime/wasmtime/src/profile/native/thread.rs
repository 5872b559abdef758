//! The thread that runs a guest.
#![allow(unsafe_code)] // The C library knows threads.

use crate::lanes::fiber::stack;
use std::ops::Range;

/// A thread, by what the kernel calls it.
#[derive(Clone)]
pub(super) struct Thread {
    id: libc::pid_t,
    stack: Range<usize>,
}

impl Thread {
    pub(super) fn this() -> Result<Thread, &'static str> {
        let stack = stack().ok_or("this thread's stack can't be found")?;
        let here = &raw const stack as usize;
        if !stack.contains(&here) {
            return Err(
                "the guest runs on a stack of its own (asynchronous calls), which can't be walked from here: \
                 rewrite it with a shadow stack",
            );
        }
        Ok(Thread { id: id(), stack })
    }

    pub(super) fn is(&self, other: &Thread) -> bool {
        self.id == other.id
    }

    /// Where its stack lies.
    pub(super) fn stack(&self) -> &Range<usize> {
        &self.stack
    }

    pub(super) fn id(&self) -> libc::pid_t {
        self.id
    }
}

/// The number of the running thread. A signal's handler may call this.
pub(super) fn id() -> libc::pid_t {
    // SAFETY: it takes nothing and can't fail.
    unsafe { libc::gettid() }
}
