//! When a trace continues in another file.

use std::time::Duration;

/// When a trace continues in another file: see [`Builder::rotate`](crate::Builder::rotate). A file ends after a whole block (or a
/// window of a profile), so it is slightly larger than its limit. It is older only if there was nothing to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// Maximal size of a file in bytes; `None` for no limit.
    pub bytes: Option<u64>,
    /// Maximal age of a file; `None` for no limit.
    pub age: Option<Duration>,
}

impl Rotation {
    /// Rotates by size.
    pub fn by_size(bytes: u64) -> Rotation {
        Rotation { bytes: Some(bytes), age: None }
    }

    /// Rotates by time.
    pub fn by_age(age: Duration) -> Rotation {
        Rotation { bytes: None, age: Some(age) }
    }

    /// Whether a file is large or old enough.
    pub(crate) fn is_due(&self, bytes: u64, age: Duration) -> bool {
        self.bytes.is_some_and(|most| bytes >= most) || self.age.is_some_and(|most| age >= most)
    }
}
