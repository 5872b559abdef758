//! Encodes a raw block as the payload of an `EVTS` chunk.

use crate::codec::Packer;
use crate::columns::{Columns, MAX_BLOCK};
use kperf_abi::block;
use std::io;

/// Sorts blocks into columns and packs them; built for WebAssembly it doesn't pack. For hosts that write chunks
/// themselves; [`TraceWriter`](crate::TraceWriter) uses it too.
pub struct BlockEncoder {
    columns: Columns,
    pub(crate) packer: Packer,
}

impl BlockEncoder {
    /// Its buffers are kept from block to block.
    pub fn new() -> io::Result<BlockEncoder> {
        Ok(BlockEncoder { columns: Columns::default(), packer: Packer::new()? })
    }

    /// Appends the payload of a block, header and words, as specified in FORMAT.md under "Codec 1: columns". Returns how many events
    /// (enters, leaves, unwinds, marks) the block has.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the bytes are not a block: shorter than a header, longer than 4 MiB, or not made of words.
    pub fn encode(&mut self, raw_block: &[u8], payload: &mut Vec<u8>) -> io::Result<u64> {
        self.encode_between(raw_block, payload, &mut || ())
    }

    /// The same for a caller that has other work every few microseconds: calls `between` after each step.
    pub(crate) fn encode_between(
        &mut self,
        raw_block: &[u8],
        payload: &mut Vec<u8>,
        between: &mut dyn FnMut(),
    ) -> io::Result<u64> {
        let Some((header, words)) = raw_block.split_first_chunk::<{ block::HEADER_LEN }>() else {
            return Err(invalid(format!("a block of {} bytes is shorter than its header", raw_block.len())));
        };
        let (words, []) = words.as_chunks::<4>() else {
            return Err(invalid(format!(
                "a block of {} bytes doesn't end with a whole word",
                raw_block.len()
            )));
        };
        if raw_block.len() > MAX_BLOCK {
            return Err(invalid(format!("a block of {} bytes is longer than {MAX_BLOCK}", raw_block.len())));
        }
        let events = self.columns.encode(words);
        between();
        self.columns.pack(header, &mut self.packer, payload, between);
        Ok(events)
    }
}

pub(crate) fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
