//! The tree of sampled paths.

use kperf_abi::FuncId;
use kperf_trace::{WAITING, WAITING_FOR_PROCESSOR, WindowNode};
use std::collections::HashMap;

/// The tree of sampled paths. Its size is limited; after that, samples count for the part of their path that it has.
#[derive(Default)]
pub(crate) struct SampleTree {
    /// Parents come before their children.
    nodes: Vec<WindowNode>,
    children: HashMap<(Option<u32>, FuncId), u32>,
    /// Samples by node and address: how many, and their ticks.
    places: HashMap<(u32, usize), (u64, u64)>,
}

/// An address in a node's function, with its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NativePlace {
    pub(crate) node: u32,
    /// In the compiled code.
    pub(crate) address: usize,
    pub(crate) samples: u64,
    pub(crate) ticks: u64,
}

/// Some 20 MB.
const MAX_NODES: usize = 1 << 18;
/// Samples at further addresses have no place.
const MAX_PLACES: usize = 1 << 18;

impl SampleTree {
    /// The path from `parent` (`None`: from the host) into a function. `None` if there is no room for it.
    pub(crate) fn child(&mut self, parent: Option<u32>, func: FuncId) -> Option<u32> {
        if let Some(&node) = self.children.get(&(parent, func)) {
            return Some(node);
        }
        // Functions that the host calls always fit: there are at most as many as functions in the module.
        if self.nodes.len() >= MAX_NODES && parent.is_some() {
            return None;
        }
        let node = self.nodes.len() as u32;
        self.nodes.push(WindowNode { parent, func, samples: 0, self_ticks: 0 });
        self.children.insert((parent, func), node);
        Some(node)
    }

    /// Counts a sample of a path, with its address in the function's code, if known.
    pub(crate) fn add(&mut self, node: u32, address: Option<usize>, ticks: u64) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.samples += 1;
            node.self_ticks = node.self_ticks.saturating_add(ticks);
        }
        if let Some(address) = address {
            let has_room = self.places.len() < MAX_PLACES || self.places.contains_key(&(node, address));
            if has_room {
                let (samples, sum) = self.places.entry((node, address)).or_default();
                *samples += 1;
                *sum = sum.saturating_add(ticks);
            }
        }
    }

    /// Counts time in which the thread of a path waited.
    pub(crate) fn add_wait(&mut self, node: u32, waits: FuncId, ticks: u64) {
        let node = self.child(Some(node), waits).unwrap_or(node);
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.samples += 1;
            node.self_ticks = node.self_ticks.saturating_add(ticks);
        }
    }

    /// Makes a part of what a path waited a wait for a processor.
    pub(crate) fn move_wait(&mut self, node: u32, ticks: u64) {
        let own = self.children.get(&(Some(node), WAITING)).copied();
        let Some(own) = own.and_then(|own| self.nodes.get_mut(own as usize)) else { return };
        let ticks = ticks.min(own.self_ticks);
        own.self_ticks -= ticks;
        self.add_wait(node, WAITING_FOR_PROCESSOR, ticks);
    }

    /// Takes the nodes that have samples in themselves or below, and their places, in the order of the nodes. The tree is empty
    /// after that.
    pub(crate) fn take(&mut self) -> (Vec<WindowNode>, Vec<NativePlace>) {
        self.children.clear();
        let nodes = std::mem::take(&mut self.nodes);
        let mut seen: Vec<bool> = nodes.iter().map(|node| node.samples > 0).collect();
        for index in (0..nodes.len()).rev() {
            if let Some(parent) = nodes[index].parent.filter(|_| seen[index]) {
                seen[parent as usize] = true;
            }
        }
        let mut places = vec![None; nodes.len()];
        let mut kept = Vec::new();
        for (index, node) in nodes.into_iter().enumerate().filter(|(index, _)| seen[*index]) {
            places[index] = Some(kept.len() as u32);
            kept.push(WindowNode { parent: node.parent.and_then(|parent| places[parent as usize]), ..node });
        }
        let found = std::mem::take(&mut self.places).into_iter();
        let mut found: Vec<NativePlace> = found
            .filter_map(|((node, address), (samples, ticks))| {
                let node = places.get(node as usize).copied().flatten()?;
                Some(NativePlace { node, address, samples, ticks })
            })
            .collect();
        found.sort_unstable_by_key(|place| (place.node, place.address));
        (kept, found)
    }
}
