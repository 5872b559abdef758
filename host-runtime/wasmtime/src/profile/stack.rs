//! The stacks on which samples find open calls.

use super::native::{Native, Thread};
use super::shadow::Shadow;
use super::spent::Spent;
use std::io;

/// The stack on which samples find open calls.
pub(crate) enum Stack {
    /// A shadow stack that the module keeps.
    Shadow(Shadow),
    /// The stack of the instance's thread.
    Native(Native),
    /// None: calls are counted, and the thread's processor time is known.
    Timed(Thread),
    /// None: calls are only counted.
    None,
}

impl Stack {
    /// How the sampled thread has spent its time so far, if known.
    pub(super) fn spent(&self) -> Option<Spent> {
        match self {
            Stack::Native(native) => native.spent(),
            Stack::Timed(thread) => thread.ran(),
            Stack::Shadow(_) | Stack::None => None,
        }
    }
}

/// Why a thread's own stack isn't sampled.
pub(crate) fn no_timer(error: &io::Error) -> String {
    format!(
        "no timer can be had to sample the thread's own stack ({error}): rewrite the module with a shadow stack"
    )
}

/// The same if other code has taken the signal.
pub(crate) const TAKEN: &str = "other code has taken the handler of SIGPROF while threads were sampled by that signal: rewrite the module with a shadow stack";
