//! Finds the chunks of a file, also after damage.

use super::Anomalies;
use crate::anomaly::AnomalyKind;
use crate::checksum::crc32;
use crate::chunk::{ChunkHeader, ChunkKind, HEADER_LEN, PREAMBLE_LEN};
use crate::lanes::Lanes;
use crate::source::Source;
use std::io::{self, Read};

/// How many more damaged chunks may be inside the length of a damaged chunk, before that length is trusted. A half-written chunk has
/// whole ones after it; a file with more damaged chunks was made to take forever.
const NESTED_DAMAGE: u32 = 64;

/// The chunks of a file.
pub(super) struct Chunks<R> {
    source: Source<R>,
    pub(super) anomalies: Anomalies,
    /// Length of the chunk that was given last, to be dropped with the next.
    current: usize,
    /// The damage before the next good chunk.
    damage: Option<Damage>,
}

/// Bytes that are no good chunk.
struct Damage {
    offset: u64,
    /// Up to here an anomaly accounts for them.
    explained: u64,
    /// How many damaged chunks were skipped.
    chunks: u32,
}

impl<R: Read> Chunks<R> {
    pub(super) fn new(input: R) -> Chunks<R> {
        Chunks { source: Source::new(input), anomalies: Anomalies::default(), current: 0, damage: None }
    }

    /// The file's first bytes; fewer if it has no more.
    pub(super) fn preamble(&mut self) -> io::Result<&[u8]> {
        self.source.fill(PREAMBLE_LEN)?;
        let window = self.source.window();
        Ok(window.get(..PREAMBLE_LEN).unwrap_or(window))
    }

    /// Moves on to the first chunk.
    pub(super) fn start(&mut self) {
        self.source.consume(PREAMBLE_LEN);
    }

    /// Offset of the current chunk.
    pub(super) fn offset(&self) -> u64 {
        self.source.offset()
    }

    /// Notes a fault of the current chunk, or, after the last one, of the end of the file.
    pub(super) fn note(&mut self, kind: AnomalyKind) {
        self.anomalies.push(self.source.offset(), kind);
    }

    /// The payload of the chunk that [`next`](Self::next) gave last.
    pub(super) fn payload(&self, chunk: &ChunkHeader) -> &[u8] {
        self.source.window().get(HEADER_LEN..HEADER_LEN + chunk.length as usize).unwrap_or_default()
    }

    /// The next chunk with good checksums; `None` at the end of the file. `lanes` learn which chunks can't be read.
    pub(super) fn next(&mut self, lanes: &mut Lanes) -> io::Result<Option<ChunkHeader>> {
        self.source.consume(std::mem::take(&mut self.current));
        loop {
            let whole = self.source.fill(HEADER_LEN)?;
            let Some(bytes) = self.source.window().first_chunk().filter(|_| whole) else {
                let damage = self.damage.take();
                self.end_of_file(damage);
                return Ok(None);
            };
            let offset = self.source.offset();
            let Some(chunk) = ChunkHeader::from_bytes(bytes) else {
                self.damage.get_or_insert(Damage { offset, explained: offset, chunks: 0 });
                self.source.skip_to_sync()?;
                continue;
            };
            let length = HEADER_LEN + chunk.length as usize;
            let complete = self.source.fill(length)?;
            if complete && crc32(self.payload(&chunk)) == chunk.payload_crc {
                if let Some(damage) = self.damage.take() {
                    self.skipped(&damage);
                }
                self.current = length;
                return Ok(Some(chunk));
            }
            let before = self.damage.take();
            if let Some(damage) = before.as_ref().filter(|damage| offset > damage.explained) {
                self.skipped(damage);
            }
            self.note(match complete {
                true => AnomalyKind::BadChecksum { chunk: chunk.kind, recorder: chunk.recorder },
                false => AnomalyKind::Truncated,
            });
            let is_block = chunk.kind == ChunkKind::EVENTS || chunk.kind == ChunkKind::SPANS;
            if is_block && lanes.follows(chunk.recorder) {
                lanes.spoil(chunk.recorder, chunk.sequence);
            }
            let chunks = before.map_or(0, |damage| damage.chunks) + 1;
            self.damage = Some(Damage { offset, explained: offset.saturating_add(length as u64), chunks });
            if chunks > NESTED_DAMAGE {
                self.source.consume(length);
            } else {
                self.source.skip_to_sync()?;
            }
        }
    }

    /// Notes bytes after the end chunk as an anomaly.
    pub(super) fn nothing_behind(&mut self) -> io::Result<()> {
        self.source.consume(std::mem::take(&mut self.current));
        if self.source.fill(1)? {
            self.note(AnomalyKind::AfterEnd);
        }
        Ok(())
    }

    /// A good chunk after damage: notes the bytes that no anomaly accounts for.
    fn skipped(&mut self, damage: &Damage) {
        let bytes = self.source.offset() - damage.offset;
        if self.source.offset() != damage.explained && bytes != 0 {
            self.anomalies.push(damage.offset, AnomalyKind::Skipped { bytes });
        }
    }

    fn end_of_file(&mut self, damage: Option<Damage>) {
        let left = self.source.window().len();
        match damage {
            Some(damage) => {
                self.source.consume(left);
                if self.source.offset() > damage.explained {
                    self.skipped(&damage);
                }
            }
            None if left != 0 => {
                self.note(AnomalyKind::Truncated);
                self.source.consume(left);
            }
            None => {}
        }
    }
}
