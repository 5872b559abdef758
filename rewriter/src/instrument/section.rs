//! Writes sections: lengths, vectors that grow, and indices that move.

use crate::error::Error;
use crate::instrument::context::Context;
use std::convert::Infallible;
use wasm_encoder::Encode;
use wasm_encoder::reencode::{self, Reencode};
use wasmparser::BinaryReader;

/// Writes a section with the content that the closure appends.
pub(crate) fn write<E>(
    out: &mut Vec<u8>,
    id: u8,
    content: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    // Room for the longest length; the content moves up if the length is shorter.
    const LONGEST: usize = 5;
    out.push(id);
    let start = out.len();
    out.extend([0; LONGEST]);
    content(out)?;
    let mut length = Vec::with_capacity(LONGEST);
    ((out.len() - start - LONGEST) as u32).encode(&mut length);
    out.copy_within(start + LONGEST.., start + length.len());
    out.truncate(out.len() - (LONGEST - length.len()));
    out[start..start + length.len()].copy_from_slice(&length);
    Ok(())
}

/// Writes a section that is a vector: the source's items (its whole content, or nothing), then `added` items, which
/// the closure appends.
pub(crate) fn write_appended(
    out: &mut Vec<u8>,
    id: u8,
    source: &[u8],
    added: u32,
    append: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
) -> Result<(), Error> {
    let (count, items) = if source.is_empty() {
        (0, source)
    } else {
        let mut reader = BinaryReader::new(source, 0);
        let count = reader.read_var_u32()?;
        (count, &source[reader.original_position() as usize..])
    };
    write(out, id, |out| {
        count.saturating_add(added).encode(out);
        out.extend_from_slice(items);
        append(out)
    })
}

/// Writes a custom section.
pub(crate) fn write_custom(out: &mut Vec<u8>, name: &str, data: &[u8]) {
    let written = write(out, 0, |out| {
        name.encode(out);
        out.extend_from_slice(data);
        Ok::<(), Infallible>(())
    });
    match written {
        Ok(()) => {}
    }
}

/// Moves indices of functions and globals. Memories keep theirs; an out-of-range memory must not become the
/// recorder's.
pub(crate) struct Mover<'a>(pub(crate) &'a Context<'a>);

impl Reencode for Mover<'_> {
    type Error = Infallible;

    fn function_index(&mut self, index: u32) -> Result<u32, reencode::Error> {
        Ok(self.0.function(index))
    }

    fn memory_index(&mut self, index: u32) -> Result<u32, reencode::Error> {
        Ok(if index < self.0.info.memories { index } else { u32::MAX })
    }

    fn global_index(&mut self, index: u32) -> Result<u32, reencode::Error> {
        Ok(self.0.global(index))
    }
}
