//! Everything that a report needs, from one pass over a trace.

use crate::builder::CallTreeBuilder;
use crate::frames::LaneStatus;
use crate::health::{Health, Stalls};
use crate::nodes::CallTree;
use crate::symbols::Symbols;
use kperf_trace::{Header, Item, TraceReader};
use std::io::{self, Read};

/// What a trace says. The file is a trace; this is computed from it.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Clock, host, command.
    pub header: Header,
    /// The functions.
    pub symbols: Symbols,
    /// The calls of all lanes.
    pub tree: CallTree,
    /// The lanes, in the order in which they first appear.
    pub lanes: Vec<LaneStatus>,
    /// What is to be told besides the figures.
    pub health: Health,
    /// Length of the file, in bytes.
    pub bytes: u64,
    /// When the first lane began.
    pub start_ticks: u64,
    /// When the recording ended.
    pub end_ticks: u64,
}

impl Profile {
    /// Reads a trace to its end. `progress` is told how many bytes were read so far, chunk by chunk.
    ///
    /// Fails only where reading does: damage is in [`Profile::health`].
    pub fn read<R: Read>(mut reader: TraceReader<R>, mut progress: impl FnMut(u64)) -> io::Result<Profile> {
        let mut symbols = Symbols::default();
        let mut builder = CallTreeBuilder::new();
        let mut stalls = Stalls::default();
        loop {
            match reader.next()? {
                None => break,
                Some(Item::Events(batch)) => builder.push(&batch),
                Some(Item::Symbols(bytes)) => symbols.add_bytes(bytes),
                Some(Item::Stall(stall)) => stalls.add(&stall),
                Some(Item::Parent(_) | Item::End(_)) => {}
            }
            progress(reader.offset());
        }
        let end_ticks = builder.last_ticks().max(reader.summary().map_or(0, |summary| summary.end_ticks));
        builder.close(end_ticks);
        let lanes = builder.lanes();
        let start_ticks = lanes.iter().map(|lane| lane.start_ticks).min().unwrap_or(end_ticks);
        Ok(Profile {
            header: reader.header().clone(),
            health: Health::new(&reader, *builder.counts(), builder.problems(), stalls, &symbols),
            symbols,
            tree: builder.finish(end_ticks),
            lanes,
            bytes: reader.offset(),
            start_ticks,
            end_ticks,
        })
    }

    /// How often a function was entered.
    pub fn calls(&self) -> u64 {
        self.health.counts.calls
    }

    /// From the first lane's beginning to the end of the recording, in nanoseconds.
    pub fn wall_nanos(&self) -> u64 {
        self.header.nanos(self.end_ticks.saturating_sub(self.start_ticks))
    }
}
