//! The memory of a profile's recorder: its layout, and the content of a slot of its stack.
//!
//! ```text
//! bytes 64..1048568          u64  a slot for each open call, the outermost first; free ones after the innermost
//! bytes 1048568..1048576     u64  always 0
//! bytes 1048576..            u64  how often each function was called, in the order of their ids
//! ```
//!
//! All integers are little-endian. The first 64 bytes are unused, but for [`WAITS`]. The lower half of a free slot is 0; the
//! upper half may have any value.

use crate::function::FuncId;

/// Address of the outermost call's slot. It begins a cache line.
pub const STACK: usize = 64;
/// Address of the last slot. All calls that don't fit into the stack share it.
pub const LAST: usize = COUNTS - 16;
/// How many slots there are.
pub const SLOTS: usize = (LAST - STACK) / 8 + 1;
/// Address of the first count.
pub const COUNTS: usize = 1 << 20;
/// Address of a u64: how often the guest waited ([`WAIT_ID`](crate::word::WAIT_ID)).
pub const WAITS: usize = 8;

/// The values of two globals after which the counts are, in a global each, where a module has no such memory.
pub const MARK: [u64; 2] = [0x6b70_6572_665f_636f, 0x756e_7473_5f61_7265];

/// The size of the memory for `functions` probed functions, in pages of 64 KiB. It never grows.
pub fn pages(functions: u32) -> u32 {
    let bytes = COUNTS as u64 + 8 * u64::from(functions);
    bytes.div_ceil(65536).max(COUNTS as u64 / 65536 + 1) as u32
}

/// The content of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Slot(pub u64);

impl Slot {
    /// The function that was called; `None` if the slot is free.
    pub fn func(self) -> Option<FuncId> {
        (self.0 as u32).checked_sub(1).map(FuncId)
    }

    /// Whether the slot has the number of the call. If it has, two equal slots are the same call. (Every 2^32nd call of a
    /// function has no number.)
    pub fn has_serial(self) -> bool {
        self.0 >> 32 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_the_function_and_the_call() {
        assert_eq!(Slot(0).func(), None);
        assert_eq!(Slot(1).func(), Some(FuncId(0)));
        assert_eq!(Slot(3 << 32 | 8).func(), Some(FuncId(7)));
        assert_eq!([Slot(8), Slot(3 << 32 | 8)].map(Slot::has_serial), [false, true]);
    }

    #[test]
    fn the_memory_has_room_for_every_count() {
        assert_eq!([0, 1, 8192, 8193].map(pages), [17, 17, 17, 18]);
    }
}
