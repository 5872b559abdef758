//! How a profile becomes requests.

use crate::options::{Limits, ResourceOptions};
use kperf_trace::TraceContext;

/// How a profile becomes requests.
#[derive(Clone, Debug, Default)]
pub struct ProfileOptions {
    /// What the resource says.
    pub resource: ResourceOptions,
    /// The seed of the profiles' ids. `None` makes it from the trace's header, so that a trace that is sent twice has the same ids.
    pub seed: Option<u64>,
    /// The span in which all of it happened. It replaces the one that the trace's header names. Samples link to it, but those that fall
    /// into a span that the profile knows better ([`Profile::links`](kperf_profile::Profile::links)).
    pub parent: Option<TraceContext>,
    /// How large a request may be. `spans` counts samples here.
    pub limits: Limits,
}
