/// What the times of a trace are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// Times, which the host supplies.
    #[default]
    Host,
    /// How many instructions the instance has executed: the same on every host, machine and run. The module counts them itself, in a
    /// global that every run of straight-line code increases: its own with [`Probe::Inline`](crate::Probe::Inline), the recorder's with
    /// [`Probe::Import`](crate::Probe::Import), which only hosts in JavaScript have.
    ///
    /// Each operator counts 1. Structure counts nothing, because optimizers add and remove it: `block`, `loop`, `try_table`, `try`,
    /// `unreachable`, `return`, `nop`, `drop`. An operator that copies or fills `n` bytes or elements counts `n / 8` more.
    Instructions,
}
