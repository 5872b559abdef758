//! Where the probes of a guest are answered.

/// Who answers a guest's probes. What a probe costs depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// A recorder module in the guest's store.
    ByModule,
    /// The recorder inside the guest.
    Inside,
    /// Functions of the host.
    ByHost,
}
