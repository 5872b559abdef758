//! The time at which a trace begins.

use crate::reader::{Item, TraceReader};
use std::io::{self, Read};

/// The beginning of a trace's first lane or window, in ticks; `None` if it has none. That lane may be anywhere in the file, so this
/// reads all of it. `progress` gets the number of bytes read so far.
///
/// # Errors
///
/// Only errors of the input.
pub fn beginning<R: Read>(
    mut reader: TraceReader<R>,
    mut progress: impl FnMut(u64),
) -> io::Result<Option<u64>> {
    let mut first: Option<u64> = None;
    while let Some(item) = reader.next()? {
        let start_ticks = match item {
            Item::Events(batch) | Item::Spans(batch) => batch.start_ticks,
            Item::Window(window) => window.start_ticks,
            _ => continue,
        };
        first = Some(first.map_or(start_ticks, |first| first.min(start_ticks)));
        progress(reader.offset());
    }
    Ok(first)
}
