//! A profile as OpenTelemetry's own signal, in the version under development (`v1development`).
//!
//! * A request has several profiles over the same stacks: the self time of each path (`wall`, or `instructions`), its calls (`calls`),
//!   and its own allocations (`alloc_space`, `alloc_objects`) if they were recorded.
//! * A location has a line for each function of its instruction, if known: the inlined functions, and the function around them.
//! * A sample links to its span.
//! * Each request has a dictionary of its own, with only the entries that it uses.

mod dictionary;
mod options;
mod requests;
mod windows;

pub use options::ProfileOptions;
pub use requests::{profiles, profiles_with_memory};
pub use windows::WindowProfiles;
