//! The thread that runs a guest.
#![allow(unsafe_code)] // The C library knows threads.

use crate::clock::delay::Delay;
use crate::clock::processor_time::{processor_nanos, thread_id};
use crate::lanes::fiber::stack;
use crate::profile::spent::Spent;
use std::ops::Range;
use std::sync::Arc;

/// A thread, by what the kernel calls it.
#[derive(Clone)]
pub(crate) struct Thread {
    id: libc::pid_t,
    stack: Range<usize>,
    delay: Option<Arc<Delay>>,
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
        Ok(Thread { id: id(), stack, delay: Delay::of_this_thread().map(Arc::new) })
    }

    /// The running thread, which isn't walked.
    pub(crate) fn here() -> Option<Thread> {
        Some(Thread::by_id(id()))
    }

    /// A thread that isn't walked.
    pub(super) fn by_id(id: libc::pid_t) -> Thread {
        Thread { id, stack: 0..0, delay: None }
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

impl Thread {
    /// How long it has been on a processor so far, in nanoseconds; `None` if it has ended. A signal's handler may call this.
    pub(super) fn processor_time(&self) -> Option<u64> {
        processor_nanos(self.id)
    }

    /// How long it has run so far, without anything else.
    pub(crate) fn ran(&self) -> Option<Spent> {
        Some(Spent { running: self.processor_time()?, ..Spent::default() })
    }

    /// How long it has waited for a processor so far, in nanoseconds. A signal's handler may call this.
    pub(super) fn waited(&self) -> Option<u64> {
        self.delay.as_ref()?.nanos()
    }
}

/// How many times the running thread has given its processor up to wait for something; 0 if that is not known. A signal's handler
/// may call this.
pub(super) fn waits() -> u64 {
    // SAFETY: the structure is plain data, filled in by the call.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) == 0 { usage.ru_nvcsw as u64 } else { 0 }
    }
}

/// The number of the running thread. A signal's handler may call this.
pub(super) fn id() -> libc::pid_t {
    thread_id()
}
