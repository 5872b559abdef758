//! A profile as OpenTelemetry's own signal, in the version that is being developed (`v1development`).
//!
//! A request has profiles over the same stacks: the time that each path of calls took by itself (`wall`, or `instructions`), how often it
//! was called (`calls`), and what it allocated by itself (`alloc_space`, `alloc_objects`) where that was recorded. A location has a line of each function that its instruction was written in, as far as that is
//! known: those that are inlined, and the one around them. A sample links to the span that it falls into. Each request has a dictionary of
//! its own, with what it mentions and nothing else.

mod dictionary;
mod options;
mod requests;
mod slow;
mod windows;

pub use options::ProfileOptions;
pub use requests::{profiles, profiles_with_memory};
pub use slow::{SlowFilter, slow_spans};
pub use windows::WindowProfiles;
