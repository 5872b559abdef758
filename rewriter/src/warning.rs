use crate::{Left, SkipReason};
use kperf_abi::FuncIndex;
use std::fmt;

/// Something that the user should know of a module that was rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The name section can't be read; it is replaced by one with the names that are known.
    BadNameSection {
        /// What is wrong with it.
        message: String,
    },
    /// The debug information can't be read, or not all of it; functions may lack their places in the source.
    BadDebugInfo {
        /// What is wrong with it.
        message: String,
    },
    /// A custom section would be wrong in the rewritten module, or can't be read, and was left out.
    DroppedSection {
        /// Its name.
        name: String,
    },
    /// A function that should have a probe can't bear one.
    NotProbed {
        /// Its index in the original module.
        index: FuncIndex,
        /// Its name, for people.
        name: String,
        /// Why.
        reason: SkipReason,
    },
    /// A core module of a component was left as it is, without probes.
    LeftModule {
        /// The component's name and the module's.
        name: String,
        /// Why.
        left: Left,
    },
    /// The user's name for a function of an allocator names none in this module, which has another function of that name.
    NoAllocator {
        /// What the user said: `malloc=take`.
        told: String,
        /// Why.
        why: String,
    },
    /// A function without a probe may catch something, but has no room for the local that keeps its depth.
    DepthNotTracked {
        /// Its index in the original module.
        index: FuncIndex,
        /// Its name, for people.
        name: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::BadNameSection { message } => write!(f, "the name section can't be read: {message}"),
            Warning::BadDebugInfo { message } => write!(f, "the debug information can't be read: {message}"),
            Warning::DroppedSection { name } => {
                write!(
                    f,
                    "dropped the custom section `{name}`: its offsets don't hold for the rewritten module"
                )
            }
            Warning::NoAllocator { told, why } => write!(f, "`{told}` is no allocator here: {why}"),
            Warning::DepthNotTracked { index, name } => {
                write!(
                    f,
                    "`{name}` (function {}) has no probe and no room for a local: calls that end where it catches \
                     something seem to go on until its caller ends",
                    index.0
                )
            }
            Warning::LeftModule { name, left } => write!(f, "no probes in the core module `{name}`: {left}"),
            Warning::NotProbed { index, name, reason } => {
                write!(f, "no probe in `{name}` (function {}): {reason}", index.0)
            }
        }
    }
}
