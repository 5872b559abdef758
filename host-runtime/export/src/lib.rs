//! A trace in other tools' formats, as pictures, and as one HTML page.
//!
//! The crate does no IO of its own: each writer gets a trace or a profile, and where to write.

pub mod formats;
pub mod graph;
pub mod view;

mod names;
mod replay;

pub use replay::{ReplayOptions, replay};
