//! The profile of a trace that is still being written.

use crate::reading::drive::Pass;
use crate::reading::profile::Profile;
use crate::tree::builder::Growth;
use kperf_trace::{Item, TraceReader};
use std::io::Read;

/// Takes what a reader gives and says what it comes to so far, as [`Profile::read`] does of a whole trace.
#[derive(Clone)]
pub struct GrowingProfile {
    pass: Pass<Growth<()>>,
}

impl Default for GrowingProfile {
    fn default() -> Self {
        GrowingProfile { pass: Pass::new(Growth::new(())) }
    }
}

impl GrowingProfile {
    /// Takes the reader's next item.
    pub fn push(&mut self, item: &Item<'_>) {
        match self.pass.take(item, None) {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }

    /// What the trace says so far; calls that are open are cut off here. `reader` is the one that gave the items.
    pub fn profile<R: Read>(&self, reader: &TraceReader<R>) -> Profile {
        match self.pass.clone().end(reader) {
            Ok(driven) => Profile::of(driven, reader, None).0,
            Err(never) => match never {},
        }
    }
}
