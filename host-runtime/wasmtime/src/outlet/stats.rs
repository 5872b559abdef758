//! Counts of a running recording.

use kperf_trace::StallTotal;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of a running recording: see [`Recorder::stats`](crate::Recorder::stats). Events are counted after their block has
/// reached the writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Events that were written: enters, leaves, unwinds and marks.
    pub events: u64,
    /// Bytes that were written to all files, without each file's end.
    pub bytes: u64,
    /// How many files were begun. More than one if the trace rotates ([`Builder::rotate`](crate::Builder::rotate)).
    pub files: u64,
    /// Events that are lost: they had no room in the queue, or could not be written. (Of a profile: calls.)
    pub lost_events: u64,
    /// How many blocks (and windows of a profile) these were.
    pub lost_blocks: u64,
    /// How many writes have failed.
    pub failed_writes: u64,
    /// How often and how long guests waited for room in the queue.
    pub waits: StallTotal,
    /// Nanoseconds in which guests' threads handed blocks over, waits included. 0 with [`ClockChoice::Test`](crate::ClockChoice::Test)
    /// and [`ClockChoice::Instructions`](crate::ClockChoice::Instructions).
    pub flush_nanos: u64,
    /// Bytes that wait for the writer.
    pub queued_bytes: usize,
    /// Bytes of memory that recording takes: open lanes, the queue, and what is kept to be reused. See
    /// [`Builder::memory_limit`](crate::Builder::memory_limit).
    pub memory_bytes: usize,
    /// How often a store or an instance was not recorded, because the memory limit was reached. One that is kept asks again at each of
    /// the host's calls.
    pub refused_lanes: u64,
    /// How many lanes are open: stores, or instances that have their recorder inside.
    pub lanes: usize,
}

/// What the writer has done so far.
#[derive(Default)]
pub(crate) struct Progress {
    pub(crate) events: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) files: AtomicU64,
    pub(crate) lost_events: AtomicU64,
    pub(crate) lost_blocks: AtomicU64,
    pub(crate) failed_writes: AtomicU64,
    /// Bytes of dumps.
    pub(crate) dumped: AtomicU64,
    /// Ticks in which guests' threads handed blocks over.
    pub(crate) flush_ticks: AtomicU64,
}

impl Progress {
    pub(crate) fn get(count: &AtomicU64) -> u64 {
        count.load(Ordering::Relaxed)
    }

    pub(crate) fn add(count: &AtomicU64, more: u64) {
        count.fetch_add(more, Ordering::Relaxed);
    }
}
