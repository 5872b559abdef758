use crate::Weights;

/// What the times of a trace are.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// Times, which the host tells.
    #[default]
    Host,
    /// How many instructions the instance has executed: the same on every host, machine and run. The module counts them itself, in a
    /// global that every run of straight-line code increases: its own with [`Probe::Inline`](crate::Probe::Inline), the recorder's with
    /// [`Probe::Import`](crate::Probe::Import), which only hosts in JavaScript have.
    Instructions(Weights),
}

impl Clock {
    /// What instructions count, if they are the clock.
    pub(crate) fn weights(&self) -> Option<&Weights> {
        match self {
            Clock::Host => None,
            Clock::Instructions(weights) => Some(weights),
        }
    }
}
