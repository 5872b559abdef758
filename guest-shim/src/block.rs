//! The layout of a lane's memory, and the header of its block.
//!
//! ```text
//! bytes 0..8          u64  the clock of a recorder inside a module: the time; 0: ask the host; all ones: record nothing
//! bytes 8..12         u32  the limit of a recorder inside a module: an event that begins there or after it reads the clock first
//! bytes 64..68        u32  position: address of the next word to write. A recorder inside a module doesn't use it: its
//!                          host fills the block with ones before it begins, and the ones mark where the words end
//! bytes 72..80         u64  how many events the recorder of a component has lost since it handed over a block
//! bytes 80..88         u64  when the host's last call of a component began: no event of that is earlier
//! bytes 1024..4096    u32  depth of each of the 768 stacks of this lane that don't run now
//! bytes 4096..131072       the block: header (16 bytes), then words
//! ```
//!
//! All integers are little-endian, as everywhere in WebAssembly.

/// Size of a lane's memory in WebAssembly pages of 64 KiB. It never grows.
pub const MEMORY_PAGES: u32 = 2;
/// The same where allocations are sampled: the addresses of the live samples follow the block.
pub const MEMORY_PAGES_WITH_SAMPLES: u32 = 3;
/// Address of these.
pub const SAMPLES: usize = MEMORY_PAGES as usize * 65536;
/// Address of the clock of a recorder that is a part of its module, a u64.
pub const CLOCK: usize = 0;
/// Address of the limit of a recorder inside a module, a u32. An event at this address or after it reads the
/// clock first. Each write to [`CLOCK`] is followed by a write of 0 here. An event that has read the clock
/// writes the address at which a block is full, unless it must ask the host or nothing is recorded.
pub const LIMIT: usize = 8;
/// The value at [`CLOCK`] that switches the recorder off.
pub const CLOCK_OFF: u64 = u64::MAX;
/// Fills the rest of a block, after its last word, if the recorder is a part of its module. No word has this value.
pub const END_MARK: u32 = u32::MAX;
/// Address of the write position, a u32. It is stored after the words it covers.
pub const POSITION: usize = 64;
/// Address of the number of events that the recorder of a component has lost since it handed over a block, a u64.
pub const LOST: usize = 72;
/// Address of the time at which the host's last call of a component began, a u64. The recorder of a component takes it where there is no
/// other time and it can't ask.
pub const BEGUN: usize = 80;
/// Address of the block.
pub const START: usize = 4096;
/// Length of a whole block in bytes, header included.
pub const CAPACITY: usize = MEMORY_PAGES as usize * 65536 - START;
/// Length of a block's header in bytes.
pub const HEADER_LEN: usize = 16;
/// The number of stacks that a lane can distinguish.
pub const STACKS: u32 = 768;

/// The first 16 bytes of a block. With them a reader can read the block without those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockHeader {
    /// The stack of the lane that runs when the block begins.
    pub stack: u32,
    /// How many frames of that stack are open when the block begins.
    pub depth: u32,
    /// The time of the last event before the block, in ticks of the trace's clock.
    pub start_ticks: u64,
}

impl BlockHeader {
    /// Splits a block into its header and its words. `None` when it is shorter than a header.
    pub fn split(block: &[u8]) -> Option<(BlockHeader, &[u8])> {
        let (header, words) = block.split_first_chunk::<HEADER_LEN>()?;
        let [stack, depth, low, high] = [0, 4, 8, 12]
            .map(|at| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]));
        Some((BlockHeader { stack, depth, start_ticks: u64::from(low) | u64::from(high) << 32 }, words))
    }

    /// The header's bytes in memory.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[0..4].copy_from_slice(&self.stack.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.depth.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.start_ticks.to_le_bytes());
        bytes
    }
}
