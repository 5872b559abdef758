//! Grows the call tree of a trace while it is read.

use crate::feed::Feed;
use kperf_profile::{CallTree, FlatProfile, GrowingProfile, write_json};
use kperf_trace::TraceReader;
use serde::Serialize;
use std::io;

pub(crate) struct Tree {
    reader: TraceReader<Feed>,
    growing: GrowingProfile,
}

/// The nodes of a call tree in columns. Parents precede children, the first node is the host. Times are nanoseconds.
#[derive(Serialize)]
struct Columns<'a> {
    /// Unique names, by the numbers in `function`.
    names: Vec<String>,
    function: Vec<u32>,
    parent: Vec<u32>,
    calls: Vec<u64>,
    total_nanos: Vec<u64>,
    self_nanos: Vec<u64>,
    outcome: Option<&'a str>,
    wall_nanos: u64,
}

impl Tree {
    pub(crate) fn new(reader: TraceReader<Feed>) -> Tree {
        Tree { reader, growing: GrowingProfile::default() }
    }

    /// Reads the pieces that have come.
    pub(crate) fn read(&mut self) -> io::Result<()> {
        loop {
            match self.reader.next() {
                Ok(None) => return Ok(()),
                Ok(Some(item)) => self.growing.push(&item),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// The report, as `kperf-wasm report --format json` writes it.
    pub(crate) fn report(&self, compensate: bool) -> io::Result<Vec<u8>> {
        let profile = self.growing.profile(&self.reader);
        let cost = profile.compensation().ok().filter(|_| compensate);
        let cost = cost.as_ref();
        let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, cost);
        let rows: Vec<_> = flat.rows.iter().collect();
        let mut json = Vec::new();
        write_json(&profile, &flat, &rows, None, cost.is_some(), &mut json)?;
        Ok(json)
    }

    /// The tree in columns, as JSON.
    pub(crate) fn columns(&self) -> io::Result<Vec<u8>> {
        let profile = self.growing.profile(&self.reader);
        let nodes = profile.tree.nodes();
        let mut funcs: Vec<_> = nodes.iter().map(|node| node.func).collect();
        funcs.sort_unstable();
        funcs.dedup();
        let number = |func| funcs.binary_search(&func).unwrap_or_default() as u32;
        let nanos = |ticks| profile.header.nanos(ticks);
        let root = |index: usize| index == CallTree::ROOT.0 as usize;
        let columns = Columns {
            names: funcs.iter().map(|&func| profile.symbols.label(func)).collect(),
            function: nodes.iter().map(|node| number(node.func)).collect(),
            parent: nodes.iter().map(|node| node.parent.0).collect(),
            calls: nodes.iter().map(|node| node.calls).collect(),
            total_nanos: nodes.iter().map(|node| nanos(node.total_ticks)).collect(),
            self_nanos: nodes
                .iter()
                .enumerate()
                .map(|(index, node)| if root(index) { 0 } else { nanos(node.self_ticks) })
                .collect(),
            outcome: profile.health.outcome(),
            wall_nanos: profile.wall_nanos(),
        };
        Ok(serde_json::to_vec(&columns)?)
    }
}
