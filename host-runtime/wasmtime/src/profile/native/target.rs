//! What a sample looks for: the calls of one instance, on one thread.

use super::code::Code;
use super::thread::Thread;
use crate::profile::counts::Counts;
use std::sync::Arc;

/// An instance, its code, and the thread that runs it.
#[derive(Clone)]
pub(crate) struct Target {
    pub(super) code: Arc<Code>,
    pub(super) counts: Counts,
    pub(super) thread: Thread,
}

impl Target {
    /// An instance of this code on the running thread. Fails if that thread's stack can't be walked.
    pub(crate) fn of_this_thread(code: Arc<Code>, counts: Counts) -> Result<Target, &'static str> {
        Ok(Target { code, counts, thread: Thread::this()? })
    }

    /// Whether samples can't distinguish these two instances.
    pub(super) fn is_same(&self, other: &Target) -> bool {
        self.code.is(&other.code) && self.thread.is(&other.thread)
    }
}
