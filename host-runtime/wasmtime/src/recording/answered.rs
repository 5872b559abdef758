//! The kinds of recorders that a guest's probes call.

/// What a guest's probes call. A probe's cost depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// A recorder module in the guest's store.
    ByModule,
    /// The recorder inside the guest.
    Inside,
    /// Functions of the host.
    ByHost,
}
