//! What the embedder has chosen.

use crate::clock::source::ClockChoice;
use crate::keep::Keeps;
use crate::outlet::notice::Notices;
use crate::outlet::queue;
use crate::outlet::when_full::WhenFull;
use crate::profile::sampling::Sampling;
use std::time::Duration;

/// How long the end waits, by default, for a sink that takes nothing.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much memory recording may take by default.
pub(crate) const MEMORY: usize = 1 << 30;

/// What the embedder has chosen.
pub(crate) struct Settings {
    pub(crate) clock: ClockChoice,
    pub(crate) queue_bytes: usize,
    pub(crate) memory_limit: usize,
    pub(crate) when_full: WhenFull,
    /// Whether the program runs several times.
    pub(crate) is_repeated: bool,
    /// How to sample; `None` for the default.
    pub(crate) sampling: Option<Sampling>,
    pub(crate) notices: Notices,
    /// Whether a signal may renew the time.
    pub(crate) signals: bool,
    /// How often blocks that are not full are written.
    pub(crate) flush_every: FlushEvery,
    /// How long the end waits for a sink that takes nothing.
    pub(crate) give_up_after: Option<Duration>,
    /// What a flight recorder keeps.
    pub(crate) keeps: Keeps,
}

/// How often blocks that are not full are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FlushEvery {
    /// Each second. Under a clock that makes traces repeatable: never.
    #[default]
    Usual,
    Time(Duration),
    Never,
}

impl FlushEvery {
    pub(crate) fn period(self, clock: ClockChoice) -> Option<Duration> {
        match (self, clock) {
            (FlushEvery::Never, _) => None,
            (FlushEvery::Usual, ClockChoice::Test | ClockChoice::Instructions) => None,
            (FlushEvery::Usual, _) => Some(Duration::from_secs(1)),
            (FlushEvery::Time(period), _) => Some(period.clamp(MIN_FLUSH, MAX_FLUSH)),
        }
    }
}

/// The limits of [`FlushEvery::Time`].
const MIN_FLUSH: Duration = Duration::from_millis(1);
const MAX_FLUSH: Duration = Duration::from_secs(1 << 30);

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            clock: ClockChoice::default(),
            queue_bytes: queue::USUAL,
            memory_limit: MEMORY,
            when_full: WhenFull::default(),
            is_repeated: false,
            sampling: None,
            notices: Notices::default(),
            signals: false,
            flush_every: FlushEvery::default(),
            give_up_after: Some(PATIENCE),
            keeps: Keeps::Nothing,
        }
    }
}
