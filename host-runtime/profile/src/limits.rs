//! Limits of memory: no trace takes more than a gigabyte.

use crate::text::times;

/// The most paths of a call tree. A call over the limit, with all that it calls, goes to a node of its caller, of the
/// function [`OTHER`](crate::OTHER).
pub const MAX_PATHS: usize = 1 << 18;
/// The most frames that are open at once, over all lanes. Deeper calls share one frame, of the function
/// [`OTHER`](crate::OTHER).
pub const MAX_OPEN_FRAMES: usize = 1 << 20;

/// How many names of functions are kept in a cache: a damaged trace has any number of functions that no table knows.
pub const MAX_CACHED: usize = 1 << 20;

/// Calls over a limit. They are counted, and their times are in all sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverLimit {
    /// Calls on paths over [`MAX_PATHS`].
    pub paths: u64,
    /// Calls over [`MAX_OPEN_FRAMES`].
    pub frames: u64,
    /// Windows of a profile that were wanted one by one, and are too many. They are in the sum.
    pub windows: u64,
    /// Calls from the host below a span that have no link to it, in a profile with links.
    pub links: u64,
}

impl OverLimit {
    /// How many calls these are.
    pub fn calls(&self) -> u64 {
        self.paths.saturating_add(self.frames)
    }

    /// Each a sentence without its full stop.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.paths > 0 {
            warnings.push(format!(
                "{} in [other] where calls are shown by their paths: a call tree has at most {MAX_PATHS}; a filter of functions or depth \
                 makes it smaller",
                times(self.paths, "call is", "calls are")
            ));
        }
        if self.frames > 0 {
            warnings.push(format!(
                "{} in [other]: at most {MAX_OPEN_FRAMES} open calls have frames of their own",
                times(self.frames, "call is", "calls are")
            ));
        }
        if self.windows > 0 {
            warnings.push(format!(
                "{} not shown: too many to be kept one by one; each can be shown by its number",
                times(self.windows, "window is", "windows are")
            ));
        }
        if self.links > 0 {
            warnings.push(format!(
                "{} no link to the span that called: there are too many spans",
                times(self.links, "call from the host has", "calls from the host have")
            ));
        }
        warnings
    }
}
