//! Writes a trace, a whole chunk at a time.

use crate::block_encoder::{BlockEncoder, invalid};
use crate::checksum::crc32;
use crate::chunk::{self, ChunkHeader, ChunkKind};
use crate::context::{CallParent, TraceContext};
use crate::header::{Anchor, Header};
use crate::kept::Kept;
use crate::summary::{Stall, StallKind, Summary};
use crate::window::Window;
use kperf_abi::block;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::io::{self, Write};

/// Writes a trace.
///
/// Every method writes one whole chunk by one call of [`Write::write_all`], so a process that dies between two calls
/// leaves a file of whole chunks. Nothing is buffered, so `W` should not buffer either.
///
/// A failed write may leave a part of a chunk; readers skip it. The writer can be used further.
pub struct TraceWriter<W: Write> {
    out: W,
    /// The sequence number of each recorder's next block.
    sequences: FxHashMap<u32, u32>,
    encoder: BlockEncoder,
    /// The buffer of a chunk.
    chunk: Vec<u8>,
    written: Written,
}

/// How much a writer has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Events (enters, leaves, unwinds, marks) in the blocks.
    pub events: u64,
    /// Blocks.
    pub blocks: u64,
    /// Bytes of the whole file.
    pub bytes: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace.
    pub fn new(out: W, header: &Header) -> io::Result<TraceWriter<W>> {
        let mut writer = TraceWriter {
            out,
            sequences: FxHashMap::default(),
            encoder: BlockEncoder::new()?,
            chunk: Vec::new(),
            written: Written::default(),
        };
        let mut preamble = chunk::MAGIC.to_vec();
        preamble.extend([chunk::MAJOR, chunk::WRITTEN_MINOR]);
        writer.out.write_all(&preamble)?;
        writer.written.bytes = preamble.len() as u64;
        writer.json(ChunkKind::HEADER, header)?;
        Ok(writer)
    }

    /// Adds a symbol table, as [`SymbolTable::to_bytes`](kperf_abi::SymbolTable::to_bytes) gives it. The trace doesn't
    /// look into it.
    pub fn symbols(&mut self, table: &[u8]) -> io::Result<()> {
        self.begin();
        self.chunk.extend_from_slice(table);
        self.end(ChunkKind::SYMBOLS, 0, 0)
    }

    /// Adds a block of a recorder: header and words, the bytes that it handed over. A block without words adds nothing.
    ///
    /// If it can't be written, [`lost`](Self::lost) should follow as soon as writing works again.
    ///
    /// # Errors
    ///
    /// Errors of the output; `InvalidInput` if the bytes are no block: shorter than a header, longer than
    /// 4 MiB, not made of words.
    pub fn block(&mut self, recorder: u32, raw_block: &[u8]) -> io::Result<()> {
        self.block_of(ChunkKind::EVENTS, recorder, raw_block, &mut || ())
    }

    /// [`block`](Self::block) for a thread that has other work every few microseconds, such as writing the time. It calls `between`
    /// after each step of the packing. A step takes some tens of microseconds.
    ///
    /// # Errors
    ///
    /// As of [`block`](Self::block).
    pub fn block_between(
        &mut self,
        recorder: u32,
        raw_block: &[u8],
        between: &mut dyn FnMut(),
    ) -> io::Result<()> {
        self.block_of(ChunkKind::EVENTS, recorder, raw_block, between)
    }

    /// Adds a block of slow calls that a sampler saw, for a recorder that makes a profile. The block has enters and leaves of
    /// these calls only.
    ///
    /// # Errors
    ///
    /// Errors of the output; `InvalidInput` if the bytes are no block: shorter than a header, longer than 4 MiB, not made of
    /// words.
    pub fn spans(&mut self, recorder: u32, raw_block: &[u8]) -> io::Result<()> {
        self.block_of(ChunkKind::SPANS, recorder, raw_block, &mut || ())
    }

    /// Adds a window: a sampler's counts and samples of a period.
    pub fn window(&mut self, window: &Window) -> io::Result<()> {
        self.begin();
        window.pack(&mut self.encoder.packer, &mut self.chunk);
        self.end(ChunkKind::WINDOW, window.recorder, 0)
    }

    fn block_of(
        &mut self,
        kind: ChunkKind,
        recorder: u32,
        raw_block: &[u8],
        between: &mut dyn FnMut(),
    ) -> io::Result<()> {
        if raw_block.len() == block::HEADER_LEN {
            return Ok(());
        }
        self.begin();
        let events = self.encoder.encode_between(raw_block, &mut self.chunk, between)?;
        // Counted before the write: if that fails, the number is missing, and a reader notices.
        let next = self.sequences.entry(recorder).or_default();
        let sequence = *next;
        *next = next.wrapping_add(1);
        self.end(kind, recorder, sequence)?;
        self.written.events += events;
        self.written.blocks += 1;
        Ok(())
    }

    /// Adds a period in which the recorded times are not exact.
    pub fn stall(&mut self, stall: Stall) -> io::Result<()> {
        self.begin();
        self.chunk.push(match stall.kind {
            StallKind::Ticker => 0,
            StallKind::Writer => 1,
        });
        self.chunk.extend(stall.start_ticks.to_le_bytes());
        self.chunk.extend(stall.nanos.to_le_bytes());
        self.end(ChunkKind::STALL, stall.recorder.unwrap_or(chunk::NO_RECORDER), 0)
    }

    /// Names the parent of the calls that the host makes, from the recorder's next block on.
    pub fn parent(&mut self, parent: &CallParent) -> io::Result<()> {
        self.begin();
        let none = TraceContext::default();
        let context = parent.context.as_ref().unwrap_or(&none);
        self.chunk.extend(parent.stack.unwrap_or(chunk::ALL_STACKS).to_le_bytes());
        self.chunk.push(context.flags);
        self.chunk.extend(context.trace_id);
        self.chunk.extend(context.span_id);
        self.chunk.extend_from_slice(context.state.as_bytes());
        self.end(ChunkKind::PARENT, parent.recorder, 0)
    }

    /// Adds one more moment, read on the trace's clock and on the calendar's. There should be one each minute: clocks drift,
    /// and people set calendars.
    pub fn anchor(&mut self, anchor: Anchor) -> io::Result<()> {
        self.begin();
        self.chunk.extend(anchor.ticks.to_le_bytes());
        self.chunk.extend(anchor.unix_nanos.to_le_bytes());
        self.end(ChunkKind::ANCHOR, 0, 0)
    }

    /// Notes how many events of a recorder are missing before its next block: the events of all blocks that could not be
    /// written since its last block.
    pub fn lost(&mut self, recorder: u32, events: u64) -> io::Result<()> {
        self.begin();
        self.chunk.extend(events.to_le_bytes());
        let sequence = self.sequences.get(&recorder).copied().unwrap_or_default();
        self.end(ChunkKind::LOST, recorder, sequence)
    }

    /// Adds a chunk of another trace with the same header, as its writer wrote it, with its next number here. Of a block, `events` is how
    /// many events it has.
    ///
    /// # Errors
    ///
    /// Errors of the output; `InvalidInput` if the bytes are no chunk.
    pub fn copy(&mut self, chunk: &[u8], events: u64) -> io::Result<()> {
        let split =
            chunk.split_first_chunk().map(|(header, payload)| (ChunkHeader::from_bytes(header), payload));
        let Some((Some(header), payload)) = split else {
            return Err(invalid("these bytes are no chunk".to_owned()));
        };
        let ChunkHeader { kind, recorder, .. } = header;
        self.begin();
        self.chunk.extend_from_slice(payload);
        let is_block = kind == ChunkKind::EVENTS || kind == ChunkKind::SPANS;
        let sequence = match self.sequences.get(&recorder) {
            Some(&next) if is_block || kind == ChunkKind::LOST => next,
            _ => 0,
        };
        if is_block {
            self.sequences.insert(recorder, sequence.wrapping_add(1));
        }
        self.end(kind, recorder, sequence)?;
        self.written.events += events;
        self.written.blocks += u64::from(is_block);
        Ok(())
    }

    /// How much is written so far.
    pub fn written(&self) -> Written {
        self.written
    }

    /// Ends the trace, flushes the output and gives it back.
    pub fn finish(mut self, summary: &Summary) -> io::Result<W> {
        self.json(ChunkKind::END, summary)?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// [`finish`](Self::finish) for a flight recorder's dump.
    ///
    /// # Errors
    ///
    /// Errors of the output.
    pub fn finish_kept(mut self, summary: &Summary, kept: &Kept) -> io::Result<W> {
        #[derive(Serialize)]
        struct End<'a> {
            #[serde(flatten)]
            summary: &'a Summary,
            kept: &'a Kept,
        }
        self.json(ChunkKind::END, &End { summary, kept })?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn json(&mut self, kind: ChunkKind, value: &impl Serialize) -> io::Result<()> {
        self.begin();
        serde_json::to_writer(&mut self.chunk, value)?;
        self.end(kind, 0, 0)
    }

    /// Makes room for a chunk's header; the payload is appended after it.
    fn begin(&mut self) {
        self.chunk.clear();
        self.chunk.resize(chunk::HEADER_LEN, 0);
    }

    /// Fills in the header and writes the chunk.
    fn end(&mut self, kind: ChunkKind, recorder: u32, sequence: u32) -> io::Result<()> {
        let (header, payload) = self.chunk.split_at_mut(chunk::HEADER_LEN);
        let length = u32::try_from(payload.len()).ok().filter(|&length| length <= kind.max_payload());
        let Some(length) = length else {
            return Err(invalid(format!("a {kind} chunk of {} bytes is too long", payload.len())));
        };
        let payload_crc = crc32(payload);
        header.copy_from_slice(&ChunkHeader { kind, recorder, sequence, length, payload_crc }.to_bytes());
        self.out.write_all(&self.chunk)?;
        self.written.bytes += self.chunk.len() as u64;
        Ok(())
    }
}
