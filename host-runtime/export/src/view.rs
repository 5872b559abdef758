//! A trace as one HTML page that needs nothing else: timeline, flame graph, table and call graph.
//!
//! The page is the files of `view/page`, put into one by [`page`]. Its data are sections of their own, each packed
//! (raw deflate) and in base64: `profile` (JSON: see [`PageData`]), `flame`, `slices` and `level-0`, `level-1`, .. (numbers in
//! LEB128, see [`columns`]). A page of two million calls has some megabytes; the budgets below bound it for any trace.

mod columns;
mod page;
mod page_data;

use kperf_profile::{Heap, LeftOut, Level, Profile, Slices, Timeline};
use page_data::PageData;
use std::io::{self, Write};

/// How many spans the finest level of the timeline has, unless something else is wanted.
pub const SPANS: usize = 1_000_000;

/// The contents of a written page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// How many spans the finest level has.
    pub spans: usize,
    /// How many calls these spans have.
    pub calls: u64,
    /// How many levels there are.
    pub levels: usize,
    /// The finest level's resolution, in nanoseconds; 0 if every call has a span of its own.
    pub resolution_nanos: u64,
}

/// How many entries the slices have, for this many spans. Figures of a selected range of time are sums of slices.
pub const fn entries(spans: usize) -> usize {
    spans / 4
}

/// Writes the page. `timeline`, `slices` and `heap` are the observers of the profile's calls.
pub fn write_html(
    profile: &Profile,
    ((timeline, slices), heap): ((Timeline, Slices), Heap),
    title: &str,
    out: impl Write,
) -> io::Result<Written> {
    let left_out = timeline.left_out();
    let levels = timeline.levels();
    let page_data = PageData::new(profile, title, &levels, left_out, &heap);
    write_page(&page_data, profile, slices, &levels, title, out)?;
    let finest = levels.first();
    let (spans, calls) = finest.map_or((0, 0), |level| (level.spans(), calls_of(level)));
    let resolution_nanos = match finest {
        Some(level) if calls != spans as u64 => profile.header.nanos(level.resolution_ticks).max(1),
        _ => 0,
    };
    Ok(Written { spans, calls, levels: levels.len(), resolution_nanos })
}

/// Writes the page of a profile of many runs, which has sums and no single calls: there is no timeline on it.
pub fn write_html_of_sums(profile: &Profile, title: &str, out: impl Write) -> io::Result<()> {
    let page_data = PageData::new(profile, title, &[], LeftOut::default(), &Heap::default());
    write_page(&page_data, profile, Slices::new(0), &[], title, out)
}

fn write_page(
    page_data: &PageData<'_>,
    profile: &Profile,
    slices: Slices,
    levels: &[Level],
    title: &str,
    mut out: impl Write,
) -> io::Result<()> {
    let slices = slices.finish(profile);
    page::write(title, &mut out, |sections| {
        sections.add("profile", &serde_json::to_vec(page_data)?)?;
        sections.add("flame", &columns::tree_bytes(&profile.tree, page_data))?;
        sections.add("slices", &columns::slices_bytes(&slices, profile.start_ticks, &profile.tree))?;
        for (n, level) in levels.iter().enumerate() {
            sections
                .add(&format!("level-{n}"), &columns::level_bytes(level, profile.start_ticks, page_data))?;
        }
        Ok(())
    })?;
    out.flush()
}

fn calls_of(level: &Level) -> u64 {
    let spans = level.lanes.iter().flat_map(|lane| &lane.tracks).flatten();
    spans.map(|span| u64::from(span.calls)).sum()
}
