//! The tree of the paths that samples found.

use kperf_abi::FuncId;
use kperf_trace::WindowNode;
use std::collections::HashMap;

/// It grows with the number of different paths, up to a limit. Then samples count for the part of their path that is known.
#[derive(Default)]
pub(crate) struct SampleTree {
    /// Parents come before their children.
    nodes: Vec<WindowNode>,
    children: HashMap<(Option<u32>, FuncId), u32>,
    /// Where in the nodes' functions samples were: how many, and the ticks that they stand for.
    places: HashMap<(u32, usize), (u64, u64)>,
}

/// Where in a node's function samples were.
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
/// What samples find beyond has no place.
const MAX_PLACES: usize = 1 << 18;

impl SampleTree {
    /// The path from `parent` (`None`: from the host) into a function. `None` if there is no room for it.
    pub(crate) fn child(&mut self, parent: Option<u32>, func: FuncId) -> Option<u32> {
        if let Some(&node) = self.children.get(&(parent, func)) {
            return Some(node);
        }
        // There are only so many functions: what the host calls always fits.
        if self.nodes.len() >= MAX_NODES && parent.is_some() {
            return None;
        }
        let node = self.nodes.len() as u32;
        self.nodes.push(WindowNode { parent, func, samples: 0, self_ticks: 0 });
        self.children.insert((parent, func), node);
        Some(node)
    }

    /// Counts a sample that found a path, and where in the code of its function, if it knows.
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

    /// Its nodes, but for paths that no sample found, nor any that goes on from them, and the places in them, in the order of
    /// the nodes; it is empty after that.
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
