//! How a profile becomes requests.

use crate::options::{Limits, ResourceOptions};
use kperf_trace::TraceContext;

/// How a profile becomes requests.
#[derive(Clone, Debug, Default)]
pub struct ProfileOptions {
    /// Options of the resource.
    pub resource: ResourceOptions,
    /// The seed of the profiles' ids. `None`: made from the trace's header, so a trace that is sent twice has the same ids.
    pub seed: Option<u64>,
    /// The span around the whole profile, instead of the one in the trace's header. Samples link to it, unless the profile knows a
    /// more exact span ([`Profile::links`](kperf_profile::Profile::links)).
    pub parent: Option<TraceContext>,
    /// How large a request may be. `spans` counts samples here.
    pub limits: Limits,
}
