//! Converts addresses in compiled code to offsets in the original module: the engine maps its code to the rewritten module, and the
//! symbol table maps that to the original.

use super::code::Code;
use crate::profile::tree::NativePlace;
use kperf_abi::{FuncId, FunctionCode, Move};
use kperf_trace::{WindowNode, WindowPlace};
use std::collections::HashMap;

/// Whether code at this offset was put before a function's first instruction. The first move is the body's beginning, the second
/// the first instruction that isn't as far from there as it was.
fn is_probe(moves: &[Move], new: u32) -> bool {
    let [body, first, ..] = moves else { return false };
    let added = (first.new - body.new).saturating_sub(first.old - body.old);
    (first.new - added..first.new).contains(&new)
}

impl Code {
    /// The places in the functions' original bodies, in the order of `nodes`. Leaves out unknown ones, and takes those in the probes' own
    /// instructions off the nodes: they are the recorder's. Reads the engine's map of the whole module once.
    pub(super) fn places(&self, nodes: &mut [WindowNode], mut places: Vec<NativePlace>) -> Vec<WindowPlace> {
        if places.is_empty() {
            return Vec::new();
        }
        places.sort_unstable_by_key(|place| place.address);
        let Some(map) = self.module().address_map() else { return Vec::new() };
        let mut map = map.peekable();
        // The last instruction of the module that the engine names, and where its code begins.
        let mut last = None;
        let mut codes: HashMap<FuncId, FunctionCode> = HashMap::new();
        let mut sums: HashMap<(u32, u32), (u64, u64)> = HashMap::new();
        for NativePlace { node, address, samples, ticks } in places {
            let Some(at) = address.checked_sub(self.start()) else { continue };
            while let Some(entry) = map.next_if(|(code, _)| *code <= at) {
                // The engine's own code within a function, such as its checks, belongs to the instruction before it.
                last = entry.1.map(|new| (entry.0, new)).or(last);
            }
            let Some(of) = nodes.get_mut(node as usize) else { continue };
            let func = of.func;
            let Some(begin) = self.at(address).map(|place| place.begin - self.start()) else { continue };
            let code = codes.entry(func).or_insert_with(|| self.code(func));
            // Code before a function's first instruction belongs to its beginning.
            let offset = match last.filter(|(code, _)| begin <= *code) {
                Some((_, new)) if is_probe(&code.moves, new) => {
                    of.samples = of.samples.saturating_sub(samples);
                    of.self_ticks = of.self_ticks.saturating_sub(ticks);
                    continue;
                }
                Some((_, new)) => code.original(new),
                None => (!code.moves.is_empty()).then_some(0),
            };
            if let Some(offset) = offset {
                let (all, sum) = sums.entry((node, offset)).or_default();
                *all += samples;
                *sum = sum.saturating_add(ticks);
            }
        }
        let place = |((node, offset), (samples, ticks))| WindowPlace { node, offset, samples, ticks };
        let mut found: Vec<WindowPlace> = sums.into_iter().map(place).collect();
        found.sort_unstable_by_key(|place| (place.node, place.offset));
        found
    }
}
