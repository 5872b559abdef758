//! Events of a sound file that contradict each other.

use kperf_trace::LaneId;
use std::fmt;

/// Something that no recorder writes. Reading goes on; figures there are doubtful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A leave while no frame was open.
    LeaveWithoutFrame {
        /// Where.
        lane: LaneId,
        /// When.
        ticks: u64,
    },
    /// An unwind to a depth that the lane didn't exceed.
    UnwindOfNothing {
        /// Where.
        lane: LaneId,
        /// When.
        ticks: u64,
        /// To which depth.
        depth: u32,
        /// How many frames were open.
        open: usize,
    },
    /// A block's number of open frames differs from what the events before it left. The block's number is used.
    DepthDiffers {
        /// Where.
        lane: LaneId,
        /// When.
        ticks: u64,
        /// How many were open by the events.
        open: usize,
        /// How many by the block.
        recorder: usize,
    },
    /// A block begins before the last event of the block before it. The lane's time stays at the last event until the block
    /// has caught up.
    TimeWentBack {
        /// Where.
        lane: LaneId,
        /// The last event.
        ticks: u64,
        /// Where the block begins.
        to: u64,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Problem::LeaveWithoutFrame { lane, ticks } => {
                write!(f, "lane {lane}: a leave without an open frame at tick {ticks}")
            }
            Problem::UnwindOfNothing { lane, ticks, depth, open } => {
                write!(f, "lane {lane}: an unwind to depth {depth} with {open} frames open at tick {ticks}")
            }
            Problem::DepthDiffers { lane, ticks, open, recorder } => {
                write!(
                    f,
                    "lane {lane}: a block says {recorder} frames are open where {open} are, at tick {ticks}"
                )
            }
            Problem::TimeWentBack { lane, ticks, to } => {
                write!(f, "lane {lane}: time goes back from tick {ticks} to {to}")
            }
        }
    }
}

/// The first few problems, and how many there were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    first: Vec<Problem>,
    count: u64,
}

impl Problems {
    /// How many are kept.
    pub const KEPT: usize = 16;

    #[cold]
    pub(crate) fn add(&mut self, problem: Problem) {
        self.count += 1;
        if self.first.len() < Problems::KEPT {
            self.first.push(problem);
        }
    }

    /// The first of them, in the order of the trace.
    pub fn first(&self) -> &[Problem] {
        &self.first
    }

    /// How many there were, kept or not.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether all was well.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
