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
}

/// Some 20 MB.
const MAX_NODES: usize = 1 << 18;

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

    /// Counts a sample that found a path.
    pub(crate) fn add(&mut self, node: u32, ticks: u64) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.samples += 1;
            node.self_ticks = node.self_ticks.saturating_add(ticks);
        }
    }

    /// Its nodes, but for paths that no sample found, nor any that goes on from them; it is empty after that.
    pub(crate) fn take(&mut self) -> Vec<WindowNode> {
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
        kept
    }
}
