//! Numbers that are replaced in their places.

use crate::debug_info::source::Problem;
use std::collections::BTreeMap;

/// Another number at an offset of a section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patch {
    pub(super) at: usize,
    /// How many bytes it has.
    pub(super) size: u8,
    /// Whether these are LEB128.
    pub(super) leb: bool,
    pub(super) value: u64,
}

/// The new offset for each old one, in a section that is written anew.
pub(super) type Offsets = BTreeMap<usize, usize>;

impl Patch {
    pub(super) fn put(self, place: &mut [u8]) -> Result<(), Problem> {
        let mut left = self.value;
        let last = place.len().saturating_sub(1);
        for (n, byte) in place.iter_mut().enumerate() {
            if self.leb {
                *byte = (left & 0x7f) as u8 | if n < last { 0x80 } else { 0 };
                left >>= 7;
            } else {
                *byte = left as u8;
                left = left.checked_shr(8).unwrap_or(0);
            }
        }
        if left == 0 { Ok(()) } else { Err(Problem::NoRoom) }
    }
}

/// A number of `size` bytes at an offset.
pub(super) fn number(data: &[u8], at: usize, size: u8) -> Option<u64> {
    let bytes = data.get(at..at.checked_add(size.into())?)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}
