//! What a sample says of its thread.

use crate::profile::spent::Spent;

/// A sample that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) time: u64,
    /// Whether it found out which calls are open.
    pub(crate) whole: bool,
    /// Where in its code the innermost call is; 0 if none is open.
    pub(crate) address: usize,
    /// What the thread did until then, if known.
    pub(crate) spent: Option<Spent>,
}
