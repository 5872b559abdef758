//! The windows of a profile one by one, also of a growing trace.

use crate::reading::profile::Profile;
use crate::sampled::windows::Windows;
use crate::symbols::Symbols;
use crate::tree::links::FIRST_LINK;
use crate::tree::nodes::CallTree;
use kperf_trace::{Header, Item, TraceReader, Window};
use std::io::{self, Read};

/// Reads a profile, and makes a [`Profile`] of each window. Slow calls, and calls that were recorded one by one, are in none.
pub struct EachWindow<R: Read> {
    reader: TraceReader<R>,
    /// That of the last window. It keeps the symbols of all.
    profile: Profile,
}

impl<R: Read> EachWindow<R> {
    /// Begins.
    pub fn new(reader: TraceReader<R>) -> EachWindow<R> {
        let profile = Profile::of_nothing(reader.header().clone());
        EachWindow { reader, profile }
    }

    /// The profile of the next window; `None` at the end of the trace. Its tree is split by the span that the window is below, if there is
    /// one.
    ///
    /// # Errors
    ///
    /// Only errors of the trace's input.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> io::Result<Option<&Profile>> {
        while let Some(item) = self.reader.next()? {
            match item {
                Item::Symbols(bytes) => self.profile.symbols.add_bytes(bytes),
                Item::Window(window) => {
                    set(&mut self.profile, window);
                    return Ok(Some(&self.profile));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// What the trace says about its clock and host.
    pub fn header(&self) -> &Header {
        self.reader.header()
    }

    /// How many bytes of the trace were read and used.
    pub fn offset(&self) -> u64 {
        self.reader.offset()
    }
}

fn set(profile: &mut Profile, window: &Window) {
    let mut windows = Windows::default();
    windows.add(window, None, window.parent.map(|_| FIRST_LINK));
    let symbols: &Symbols = &profile.symbols;
    let (places, tree_places) = windows.places(None, symbols);
    let sampling = windows.sampling.clone();
    let tree = CallTree::new(windows.into_nodes(None, symbols));
    profile.health.sampling = Some(sampling);
    (profile.tree, profile.places, profile.tree_places) = (tree, places, tree_places);
    (profile.start_ticks, profile.end_ticks) = (window.start_ticks, window.end_ticks);
    profile.counted_calls = window.call_count();
    profile.links = window.parent.into_iter().collect();
}
