//! One pass over a trace for a visitor that writes as it goes.

use crate::frames::{Frames, Visitor};
use crate::health::{Health, Stalls};
use crate::symbols::Symbols;
use kperf_trace::{Item, TraceReader};
use std::io::{self, Read};

/// A visitor that keeps the symbols: it needs names while the trace goes by.
pub(crate) trait Writer: Visitor<Error = io::Error> {
    fn symbols(&mut self) -> &mut Symbols;
}

/// Shows a visitor the whole trace. `progress` is told how many bytes were read so far.
pub(crate) fn drive<R: Read, V: Writer>(
    reader: &mut TraceReader<R>,
    visitor: V,
    progress: &mut dyn FnMut(u64),
) -> io::Result<(V, Health)> {
    let mut frames = Frames::new(visitor);
    let mut stalls = Stalls::default();
    loop {
        match reader.next()? {
            None => break,
            Some(Item::Symbols(bytes)) => frames.visitor().symbols().add_bytes(bytes),
            Some(Item::Events(batch)) => frames.push(&batch)?,
            Some(Item::Stall(stall)) => stalls.add(&stall),
            Some(Item::Parent(_) | Item::End(_)) => {}
        }
        progress(reader.offset());
    }
    let end_ticks = reader.summary().map_or(0, |summary| summary.end_ticks);
    frames.finish(frames.last_ticks().max(end_ticks))?;
    let (counts, problems) = (*frames.counts(), frames.problems().clone());
    let mut visitor = frames.into_visitor();
    let health = Health::new(reader, counts, &problems, stalls, visitor.symbols());
    Ok((visitor, health))
}
