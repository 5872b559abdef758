//! The file's first bytes, and the header of every chunk.

use crate::checksum::crc32;
use std::fmt;

/// First bytes of a trace; the version follows.
pub(crate) const MAGIC: [u8; 6] = *b"KPERF\0";
/// Version of the format, two bytes after the magic: a reader of this major version reads every minor one.
pub(crate) const MAJOR: u8 = 1;
pub(crate) const MINOR: u8 = 5;
/// The version of what the writer writes: only recorders in a program's own memory write more.
pub(crate) const WRITTEN_MINOR: u8 = 4;
/// Length of magic and version.
pub(crate) const PREAMBLE_LEN: usize = 8;
/// First bytes of every chunk. No UTF-8 text and no word of a small program has 0xf5.
pub(crate) const SYNC: [u8; 4] = *b"\xf5kpf";
/// Length of a chunk's header.
pub(crate) const HEADER_LEN: usize = 28;
/// Takes the place of the recorder's number in a stall that concerns all recorders.
pub(crate) const NO_RECORDER: u32 = u32::MAX;

/// Takes the place of the stack's number in a parent that concerns all stacks.
pub(crate) const ALL_STACKS: u32 = u32::MAX;

/// The kind of a chunk: four ASCII letters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChunkKind(pub [u8; 4]);

impl ChunkKind {
    /// The header, JSON.
    pub const HEADER: ChunkKind = ChunkKind(*b"HEAD");
    /// A symbol table.
    pub const SYMBOLS: ChunkKind = ChunkKind(*b"SYMS");
    /// A block of events.
    pub const EVENTS: ChunkKind = ChunkKind(*b"EVTS");
    /// A stall.
    pub const STALL: ChunkKind = ChunkKind(*b"STAL");
    /// Events of a recorder that could not be written.
    pub const LOST: ChunkKind = ChunkKind(*b"LOST");
    /// A block of slow calls that a sampler saw, in the form of a block of events.
    pub const SPANS: ChunkKind = ChunkKind(*b"SPAN");
    /// A window of a profile: counts and samples of a period.
    pub const WINDOW: ChunkKind = ChunkKind(*b"PROF");
    /// The parent of the calls that the host makes into a recorder from there on.
    pub const PARENT: ChunkKind = ChunkKind(*b"PRNT");
    /// Another anchor: one moment on the trace's clock and on the calendar.
    pub const ANCHOR: ChunkKind = ChunkKind(*b"ANCH");
    /// The summary, JSON.
    pub const END: ChunkKind = ChunkKind(*b"ENDT");

    /// Whether each chunk of this kind belongs to one recorder.
    pub(crate) fn is_of_recorder(self) -> bool {
        [ChunkKind::EVENTS, ChunkKind::SPANS, ChunkKind::WINDOW, ChunkKind::LOST, ChunkKind::PARENT]
            .contains(&self)
    }

    /// The maximal length of a payload of this kind, in bytes. A reader keeps all of it in memory, so it refuses more.
    pub(crate) fn max_payload(self) -> u32 {
        match self {
            ChunkKind::HEADER | ChunkKind::EVENTS | ChunkKind::STALL => 32 << 20,
            ChunkKind::LOST | ChunkKind::PARENT | ChunkKind::ANCHOR | ChunkKind::END => 32 << 20,
            ChunkKind::SPANS | ChunkKind::WINDOW => 32 << 20,
            _ => 128 << 20,
        }
    }
}

impl fmt::Display for ChunkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

impl fmt::Debug for ChunkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The header of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHeader {
    pub(crate) kind: ChunkKind,
    pub(crate) recorder: u32,
    pub(crate) sequence: u32,
    pub(crate) length: u32,
    pub(crate) payload_crc: u32,
}

impl ChunkHeader {
    /// The header's bytes. It has a checksum of its own, so that a damaged length is never trusted.
    pub(crate) fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[0..4].copy_from_slice(&SYNC);
        bytes[4..8].copy_from_slice(&self.kind.0);
        bytes[8..12].copy_from_slice(&self.recorder.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.length.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = crc32(&bytes[..24]);
        bytes[24..28].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads a header; `None` if these bytes are not a header.
    pub(crate) fn from_bytes(bytes: &[u8; HEADER_LEN]) -> Option<ChunkHeader> {
        let [sync, kind, recorder, sequence, length, payload_crc, crc] =
            [0, 4, 8, 12, 16, 20, 24].map(|at| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if sync != SYNC || u32::from_le_bytes(crc) != crc32(&bytes[..24]) {
            return None;
        }
        let [recorder, sequence, length, payload_crc] =
            [recorder, sequence, length, payload_crc].map(u32::from_le_bytes);
        let kind = ChunkKind(kind);
        (length <= kind.max_payload()).then_some(ChunkHeader {
            kind,
            recorder,
            sequence,
            length,
            payload_crc,
        })
    }
}
