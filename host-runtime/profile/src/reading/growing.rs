//! The profile of a growing trace.

use crate::reading::drive::Pass;
use crate::reading::profile::Profile;
use crate::sampled::windows::Windows;
use crate::tree::builder::Growth;
use kperf_trace::{Header, Item, TraceReader};
use std::io::Read;

/// Takes a reader's items, and makes profiles of the items so far, as [`Profile::read`] does of a whole trace.
#[derive(Clone)]
pub struct GrowingProfile {
    pass: Pass<Growth<()>>,
}

impl Default for GrowingProfile {
    fn default() -> Self {
        GrowingProfile { pass: Pass::new(Growth::new(()), Windows::default()) }
    }
}

impl GrowingProfile {
    /// Nothing of a trace with this header.
    pub fn of(header: &Header) -> GrowingProfile {
        GrowingProfile { pass: Pass::new(Growth::new(()), Windows::of(header)) }
    }

    /// The profile of all items, as [`GrowingProfile::profile`] makes it of those so far.
    pub fn into_profile<R: Read>(self, reader: &TraceReader<R>) -> Profile {
        match self.pass.end(reader) {
            Ok(driven) => Profile::of(driven, reader, None).0,
            Err(never) => match never {},
        }
    }

    /// Takes the reader's next item.
    pub fn push(&mut self, item: &Item<'_>) {
        match self.pass.take(item, None) {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }

    /// The profile so far; open calls are cut off here. `reader` must be the one that gave the items.
    pub fn profile<R: Read>(&self, reader: &TraceReader<R>) -> Profile {
        self.clone().into_profile(reader)
    }
}
