//! When a trace goes on in another file.

use std::time::Duration;

/// When a trace goes on in another file: see [`Builder::rotate`](crate::Builder::rotate). A file ends behind a whole block (or a
/// window of a profile), so it is a bit larger than its limit, and older only if there was nothing to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// When the file has so many bytes; `None` for no limit.
    pub bytes: Option<u64>,
    /// When the file is so old; `None` for no limit.
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
