//! Limits of what is kept of inlined calls.

use crate::debug_info::source::debug::Debug;
use crate::debug_info::source::problem::Problem;
use gimli::Section as _;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most calls and ranges that are kept of a module. Compilers write ten bytes or more for each.
const MAX_RANGES: usize = 1 << 22;
const BYTES_PER_RANGE: usize = 4;
const SOME_RANGES: usize = 1 << 10;
/// The greatest length of all names together: `NAMES` bytes, plus `NAMES_PER_BYTE` for each byte of their
/// sections.
const NAMES: usize = 1 << 20;
const NAMES_PER_BYTE: usize = 4;

/// What is left of the room for calls and ranges, or for names.
pub(in super::super) struct Room(AtomicUsize);

impl Room {
    pub(in super::super) fn of(debug: &Debug<'_, '_>) -> Room {
        let ranges = &debug.dwarf.ranges;
        let bytes = debug.dwarf.debug_info.reader().len()
            + ranges.debug_ranges().reader().len()
            + ranges.debug_rnglists().reader().len();
        Room(AtomicUsize::new((SOME_RANGES + bytes / BYTES_PER_RANGE).min(MAX_RANGES)))
    }

    /// For the names of functions.
    pub(super) fn of_names(debug: &Debug<'_, '_>) -> Room {
        Room(AtomicUsize::new(NAMES + NAMES_PER_BYTE * debug.bytes_with_names()))
    }

    /// Whether there was so much.
    pub(super) fn take(&self, wanted: usize) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(wanted)).is_ok()
    }

    pub(super) fn take_one(&self) -> Result<(), Problem> {
        if self.take(1) { Ok(()) } else { Err(Problem::ManyInlined) }
    }
}
