//! Waits whose places are unknown.

/// Sums of waits without a place, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnplacedTicks {
    /// The thread was ready to run.
    pub(crate) processor: u64,
    /// It waited itself.
    pub(crate) own: u64,
    /// When that was found out.
    pub(crate) until: u64,
}

impl UnplacedTicks {
    /// The sums of both.
    pub(crate) fn plus(self, other: UnplacedTicks) -> UnplacedTicks {
        UnplacedTicks {
            processor: self.processor.saturating_add(other.processor),
            own: self.own.saturating_add(other.own),
            until: self.until.max(other.until),
        }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn since(self, before: UnplacedTicks) -> UnplacedTicks {
        UnplacedTicks {
            processor: self.processor.saturating_sub(before.processor),
            own: self.own.saturating_sub(before.own),
            until: self.until,
        }
    }
}
