//! Warnings about records of memory.

use crate::memory::block::{Address, Ends};
use crate::memory::heap::{Heap, MAX_DISPLACED, MAX_LIVE_BLOCKS};
use crate::memory::problems::HeapProblems;
use rustc_hash::FxHashMap;

impl Heap {
    /// Records that contradict each other, or that are over a limit.
    pub fn problems(&self) -> HeapProblems {
        let sum =
            |ends: &FxHashMap<Address, Ends>| ends.values().map(|ends| u64::from(ends.count)).sum::<u64>();
        let twice = sum(&self.given_before);
        // As in `unknown`.
        let is_told = self.problems.over_limit == 0 && self.sample == 0;
        let early = if is_told { sum(&self.freed_before) } else { 0 };
        HeapProblems {
            unknown: self.problems.unknown.saturating_add(early),
            given_twice: self.problems.given_twice.saturating_add(twice),
            lost: self.cut.lost,
            ..self.problems
        }
    }

    /// Each a sentence without its full stop.
    pub fn warnings(&self) -> Vec<String> {
        let HeapProblems { unknown, given_twice, over_limit, reordered, displaced, unplaced, lost } =
            self.problems();
        let mut warnings = Vec::new();
        if unknown > 0 {
            warnings.push(format!(
                "{unknown} blocks were freed whose allocation was not seen: an allocator's function is unknown (it can be named), or was compiled \
                 into its callers, or events were lost"
            ));
        }
        if given_twice > 0 {
            warnings.push(format!(
                "{given_twice} blocks were allocated again without having been freed: a function that frees is unknown (it can be named), or was \
                 compiled into its callers, or events were lost"
            ));
        }
        if over_limit > 0 {
            warnings.push(format!(
                "{over_limit} allocations are not followed to their end: at most {MAX_LIVE_BLOCKS} blocks are, at a time"
            ));
        }
        if reordered > 0 {
            warnings.push(format!(
                "{reordered} records could not be brought into the order of time: bytes at the peak, how long blocks lived and, on a shared \
                 memory, whose they are may be wrong"
            ));
        }
        if unplaced > 0 {
            warnings.push(format!(
                "{unplaced} records are of an unknown module's memory: blocks at the same address may be taken for \
                 one another"
            ));
        }
        if self.modules.any_is_shared() && self.sample > 0 {
            warnings.push(
                "samples of a shared memory: what another thread or instance frees is not seen".to_owned(),
            );
        }
        if self.slack.is_none() && self.order.is_shared() {
            warnings.push(
                "threads that count instructions have no time in common: bytes at the peak, how long blocks lived and whose blocks of a \
                 shared memory are may be wrong"
                    .to_owned(),
            );
        }
        if self.is_coarse && self.order.is_shared() {
            warnings.push(
                "threads share a memory, and a ticker gives many records one time: some may be read in the wrong order (a precise clock \
                 has no such times)"
                    .to_owned(),
            );
        }
        if displaced > 0 {
            warnings.push(format!(
                "{displaced} blocks of a shared memory can't be followed: at most {MAX_DISPLACED} may have records of their threads out of order. So \
                 bytes at the peak and at the end may be wrong"
            ));
        }
        if lost > 0 {
            warnings.push(format!(
                "what {lost} calls of an allocator did is not recorded: an allocator's call before them was ended by a trap or an \
                 exception, and the host went on calling (call through the recorder: `Lane::call`, `kperf.call`)"
            ));
        }
        warnings
    }
}
