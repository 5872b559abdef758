//! Other tools' formats, each in a file of its own.
//!
//! Formats that list calls are written while the trace is read, with memory for the open frames. Formats that show sums are
//! written from a [`Profile`](kperf_profile::Profile). Times count from the trace's anchor, when the recording began.

pub mod chrome;
pub mod csv;
pub mod firefox;
pub mod flame;
pub mod folded;
pub mod kieker;
pub mod kperf;
pub mod perfetto;
pub mod pprof;
pub mod speedscope;
