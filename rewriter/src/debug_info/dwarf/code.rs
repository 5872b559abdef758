//! Addresses before and after the code moved.

use super::expressions::Globals;
use super::patch::number;
use crate::debug_info::source::{Bytes, Problem};
use crate::module::info::BodyPlace;
use crate::module::moves::Moves;
use gimli::{DebugAddrBase, DebugAddrIndex, Dwarf, Section as _};

/// What addresses mean, before and after.
pub(super) struct Code<'a> {
    pub(super) moves: &'a Moves,
    pub(super) globals: Globals,
    pub(super) start: u64,
    pub(super) bodies: &'a [BodyPlace],
}

impl Code<'_> {
    /// The new address. `None` for the numbers that linkers write in place of a removed function's address.
    pub(super) fn address(&self, old: u64) -> Option<u64> {
        self.moves.address(old, self.start, self.bodies)
    }

    /// The same, for both ends of a range.
    pub(super) fn range(&self, begin: u64, end: u64) -> Option<(u64, u64)> {
        let new = self.address(begin)?;
        // A range ends in the function that it begins in, or in a later one.
        Some((
            new,
            self.address(end)
                .filter(|&end| end >= new)
                .unwrap_or(new.saturating_add(end.saturating_sub(begin))),
        ))
    }
}

/// The address with an index, and its offset in the table of addresses.
pub(super) fn address_at(
    dwarf: &Dwarf<Bytes<'_>>,
    size: u8,
    base: DebugAddrBase,
    index: DebugAddrIndex,
) -> Result<(u64, usize), Problem> {
    let at = index.0.checked_mul(size.into()).and_then(|offset| base.0.checked_add(offset));
    let at = at.ok_or(Problem::Reference)?;
    Ok((number(dwarf.debug_addr.reader().slice(), at, size).ok_or(Problem::Reference)?, at))
}
