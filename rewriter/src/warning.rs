//! Warnings of a rewriting.

use crate::skipped::{Left, SkipReason};
use kperf_abi::FuncIndex;
use std::fmt;

/// A warning that a caller should show after a rewriting.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The name section is malformed; it is replaced by one with the known names.
    BadNameSection {
        /// What is wrong with it.
        message: String,
    },
    /// The debug information is malformed, at least in part; functions may lack source lines.
    BadDebugInfo {
        /// What is wrong with it.
        message: String,
    },
    /// A custom section was dropped, because it would be wrong in the rewritten module or is malformed.
    DroppedSection {
        /// Its name.
        name: String,
    },
    /// A chosen function can't get a probe.
    NotProbed {
        /// Its index in the original module.
        index: FuncIndex,
        /// Its name, to show.
        name: String,
        /// Why.
        reason: SkipReason,
    },
    /// A core module of a component stays without probes.
    LeftModule {
        /// The component's name and the module's.
        name: String,
        /// Why.
        left: Left,
    },
    /// The module has a function with a name from the options, but it doesn't fit the role. An allocator of another
    /// module may be meant.
    NoAllocator {
        /// The option: `malloc=take`.
        option: String,
        /// Why.
        why: String,
    },
    /// A function without a probe may catch, but has no room for the local that keeps its depth.
    DepthNotTracked {
        /// Its index in the original module.
        index: FuncIndex,
        /// Its name, to show.
        name: String,
    },
    /// The plan names functions that aren't there.
    OtherPlan {
        /// How many.
        missing: usize,
        /// How many functions it names.
        planned: usize,
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
            Warning::NoAllocator { option, why } => write!(f, "`{option}` is no allocator here: {why}"),
            Warning::DepthNotTracked { index, name } => {
                write!(
                    f,
                    "`{name}` (function {}) has no probe and no room for a local: calls that end where it catches \
                     something seem to go on until its caller ends",
                    index.0
                )
            }
            Warning::LeftModule { name, left } => write!(f, "no probes in the core module `{name}`: {left}"),
            Warning::OtherPlan { missing, planned } if missing == planned => f.write_str(
                "none of the plan's functions is there, so it leaves out nothing: is it of another program?",
            ),
            Warning::OtherPlan { missing, planned } => {
                write!(
                    f,
                    "{missing} of the plan's {planned} functions are not there: is it of another build?"
                )
            }
            Warning::NotProbed { index, name, reason } => {
                write!(f, "no probe in `{name}` (function {}): {reason}", index.0)
            }
        }
    }
}
