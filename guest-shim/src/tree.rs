//! The memory of a recorder inside a program's own memory (`recorder/tree.wat`), from its first address on.

/// The [`TEXTS`] places: the offset and the length of each, u32.
pub const PLACES: u32 = 64;
/// The table of CRC-32 for four bits: 16 u32.
pub const CRC: u32 = 208;
/// Texts may begin here.
pub const TEXT: u32 = 272;
/// Nodes. The first is the root, the second `[other]`.
pub const NODES: u32 = 1024;
/// Bytes of a node.
pub const NODE_LEN: u32 = 32;
/// The maximal number of nodes, with these two.
pub const MAX_NODES: u32 = 1 << 14;
/// A hash table with two entries for each node.
pub const TABLE: u32 = NODES + MAX_NODES * NODE_LEN;
/// The file that the recorder writes.
pub const FILE: u32 = TABLE + 2 * MAX_NODES * 4;
/// The most bytes of a window and of the file's end, and of a line of a log after them.
pub const WINDOW: u32 = 2048 + MAX_NODES * 30;

/// The function of the node for all calls for which there is no room.
pub const OTHER: u32 = u32::MAX - 3;

/// What the places in the recorder's memory are, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// `{"outcome":"completed"`
    Completed,
    /// `{"outcome":"trap: unreachable"`
    Trapped,
    /// `{"outcome":"exit `
    Exited,
    /// `{"outcome":""`
    Unknown,
    /// Before the last reading of the clock.
    EndTicks,
    /// Before the number of readings.
    Readings,
    /// Before what a reading took.
    Cost,
    /// After it.
    End,
    /// The end if there is no clock.
    EndWithoutClock,
    /// The clock in the header, if it is one. As long as the next.
    Clock,
    /// The clock in the header, if instructions are.
    Instructions,
    /// The path of the file.
    Path,
    /// The offset of the header's chunk and the length of its payload.
    Header,
    /// The holes in it: for the clock,
    HoleClock,
    /// the anchor's ticks,
    HoleTicks,
    /// and its calendar time.
    HoleUnix,
    /// The offset of the file, and the length of what is the same in each.
    File,
}

/// How many places there are.
pub const TEXTS: usize = 17;
