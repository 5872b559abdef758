//! The messages of OTLP 1.11, made by `scripts/otlp-proto` from the official files in `proto/`.
#![allow(missing_docs)]

/// Requests and responses.
pub mod collector {
    /// Spans.
    pub mod trace {
        /// Version 1.
        pub mod v1 {
            include!("proto/collector_trace.rs");
        }
    }
    /// Metrics.
    pub mod metrics {
        /// Version 1.
        pub mod v1 {
            include!("proto/collector_metrics.rs");
        }
    }
    /// Profiles.
    pub mod profiles {
        /// The version under development.
        pub mod v1development {
            include!("proto/collector_profiles.rs");
        }
    }
}

/// Attributes and scopes.
pub mod common {
    /// Version 1.
    pub mod v1 {
        include!("proto/common.rs");
    }
}

/// Metrics.
pub mod metrics {
    /// Version 1.
    pub mod v1 {
        include!("proto/metrics.rs");
    }
}

/// Profiles.
pub mod profiles {
    /// The version under development.
    pub mod v1development {
        include!("proto/profiles.rs");
    }
}

/// The resource.
pub mod resource {
    /// Version 1.
    pub mod v1 {
        include!("proto/resource.rs");
    }
}

/// Spans.
pub mod trace {
    /// Version 1.
    pub mod v1 {
        include!("proto/trace.rs");
    }
}
