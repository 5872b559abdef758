//! What a flight recorder keeps, and when it writes.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// The least memory for kept events.
const LEAST: usize = 1 << 20;
/// How much is kept if only a time is given.
const USUAL: usize = 64 << 20;

/// What a flight recorder keeps: see [`Builder::keep`](crate::Builder::keep). The events are packed, as in a file: half a byte to four
/// bytes a call.
pub struct Keep {
    pub(crate) bytes: usize,
    pub(crate) age: Option<Duration>,
    pub(crate) to: Option<PathBuf>,
    pub(crate) slower: Vec<Slower>,
}

/// What a recording keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Keeps {
    #[default]
    Nothing,
    /// Events, for dumps with a path.
    Events,
    /// And for numbered ones.
    Numbered,
}

/// Calls that are written when they end.
pub(crate) struct Slower {
    pub(crate) matches: Box<dyn Fn(&str) -> bool + Send>,
    pub(crate) limit: Duration,
}

impl Keep {
    /// Keeps the last events of this age, as far as 64 MiB have room for them.
    pub fn last(age: Duration) -> Keep {
        Keep { age: Some(age), ..Keep::bytes(USUAL) }
    }

    /// Keeps so many bytes of packed events, a MiB at least.
    pub fn bytes(bytes: usize) -> Keep {
        Keep { bytes: bytes.max(LEAST), age: None, to: None, slower: Vec::new() }
    }

    /// Keeps nothing older.
    pub fn and_last(mut self, age: Duration) -> Keep {
        self.age = Some(age);
        self
    }

    /// Where dumps go that no path is given for: `app.kperf`, then `app.2.kperf` and so on. They replace older files. Without this only
    /// [`Recorder::dump`](crate::Recorder::dump) writes.
    ///
    /// A dump is written when a trap, an error of the host's or an exception that leaves the guest closes calls, at most 16 times; when a
    /// call was slow ([`slower_than`](Keep::slower_than)), at most 16 times; and when the host says so
    /// ([`Recorder::request_dump`](crate::Recorder::request_dump)). There are at most 100, and one begins at least a second after the
    /// last. What happens sooner is in the next one, as far as its events are kept that long.
    pub fn to(mut self, path: impl AsRef<Path>) -> Keep {
        self.to = Some(path.as_ref().to_owned());
        self
    }

    /// A call of a function with such a name that takes so long, waits included, is written when it ends. Calls of a lane that switches
    /// stacks are not timed.
    pub fn slower_than(mut self, limit: Duration, name: impl Fn(&str) -> bool + Send + 'static) -> Keep {
        self.slower.push(Slower { matches: Box::new(name), limit });
        self
    }
}
