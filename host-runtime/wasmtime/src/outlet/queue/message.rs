//! Messages to the writer.

use crate::clock::unplaced::UnplacedTicks;
use kperf_trace::{CallParent, Stall, Summary, Wait, Window};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::Sender;

/// A message to the writer.
pub(crate) enum Message {
    /// A block of a lane.
    Block(Block),
    /// A window of a profile: counts and samples of a period.
    Window(Box<Window>),
    /// A symbol table, and how many functions it has.
    Symbols { table: Vec<u8>, functions: u32 },
    /// A guest waited, or the ticker did.
    Stall(Stall),
    /// The host wants a dump.
    Dump(Wanted),
    /// What stays in a lane's block when its words are taken for a dump.
    Peek { lane: u32, block: Vec<u8> },
    /// What the lanes had when a dump began is before this.
    Collected,
    /// A dump is written.
    Wake,
    /// The last message. The writer adds its own counts.
    Finish(Box<Summary>),
}

/// A block of a lane, with what happened since the previous one.
#[derive(Default)]
pub(crate) struct Block {
    pub(crate) lane: u32,
    pub(crate) bytes: Vec<u8>,
    /// Whether it has slow calls that samples saw, rather than all calls.
    pub(crate) spans: bool,
    /// Whether it is the lane's first: another lane may have had the number before.
    pub(crate) is_first: bool,
    /// How many events of the lane had no room since its last block.
    pub(crate) lost: u64,
    /// The parents of the host's calls after this block.
    pub(crate) parents: Vec<CallParent>,
    /// When asynchronous calls waited since the lane's last block.
    pub(crate) suspensions: Vec<Suspension>,
    /// When the guest's thread worked for the recorder, or had no processor.
    pub(crate) pauses: Vec<Pause>,
    /// For how many ticks more it had no processor, at unknown times.
    pub(crate) unplaced: UnplacedTicks,
}

/// An asynchronous call of the host's waited: its guest didn't run. In ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Suspension {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// The guest's thread didn't run the guest. In ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Why it had no processor; `None` if it handed a block over, or waited until there was room for it.
    pub(crate) wait: Option<Wait>,
}

impl Message {
    /// How many bytes it takes, more or less.
    pub(crate) fn size(&self) -> usize {
        size_of::<Message>()
            + match self {
                Message::Block(block) => return block.size(),
                Message::Window(window) => {
                    size_of::<Window>() + size_of_val(&*window.nodes) + size_of_val(&*window.calls)
                }
                Message::Symbols { table, .. } => table.capacity(),
                Message::Peek { block, .. } => block.capacity(),
                Message::Stall(_) | Message::Dump(_) | Message::Collected | Message::Wake => 0,
                Message::Finish(_) => size_of::<Summary>(),
            }
    }
}

impl Block {
    pub(crate) fn size(&self) -> usize {
        size_of::<Message>()
            + self.bytes.capacity()
            + size_of_val(&*self.parents)
            + size_of_val(&*self.suspensions)
            + size_of_val(&*self.pauses)
    }
}

/// A dump that is asked for.
pub(crate) enum Wanted {
    /// At a path. Its end is reported.
    At(PathBuf, Sender<io::Result<()>>),
    /// At the next numbered path, with the reason.
    Numbered(String),
}
