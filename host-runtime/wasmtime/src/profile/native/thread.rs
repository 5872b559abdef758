//! The thread that runs a guest.
#![allow(unsafe_code)] // The C library knows threads and their stacks.

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

/// Where the running thread's stack lies.
fn stack() -> Option<Range<usize>> {
    // SAFETY: the attributes are plain data that the first call fills in and the last takes back.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
        let failed = libc::pthread_attr_getstack(&raw const attributes, &raw mut lowest, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        let begin = lowest as usize;
        (failed == 0).then(|| begin..begin.saturating_add(size))
    }
}
