//! Anomalies: the faults of a trace.

use crate::chunk::ChunkKind;
use std::fmt;

/// A fault of a trace, and where it is. The rest of the trace was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// Where the chunk with the fault begins in the file, in bytes.
    pub offset: u64,
    /// The fault.
    pub kind: AnomalyKind,
}

/// The kinds of faults.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnomalyKind {
    /// The file ends inside a chunk.
    Truncated,
    /// The recording was cut off: there is no end chunk.
    NoEnd,
    /// The trace has a later minor version than this reader knows. Its additions are skipped.
    NewerVersion {
        /// The trace's minor version.
        minor: u8,
    },
    /// The first chunk is not a readable header: the clock's rate and the other fields are defaults.
    NoHeader,
    /// A field of the header or of the end has an invalid value; its default is used.
    BadField {
        /// The chunk's kind.
        chunk: ChunkKind,
        /// Its name, after the name of its object: `clock.source`.
        field: String,
    },
    /// Another header, which is ignored: files were joined.
    SecondHeader,
    /// Bytes after the end chunk, which are ignored.
    AfterEnd,
    /// Bytes that are not a chunk; reading continued at the next one.
    Skipped {
        /// How many.
        bytes: u64,
    },
    /// A chunk whose payload has a wrong checksum; it is ignored.
    BadChecksum {
        /// The chunk's kind.
        chunk: ChunkKind,
        /// Its recorder.
        recorder: u32,
    },
    /// A chunk with the right checksum that can't be read; it is ignored.
    Malformed {
        /// The chunk's kind.
        chunk: ChunkKind,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A chunk of a kind that this reader doesn't know; it is ignored.
    UnknownChunk {
        /// The chunk's kind.
        chunk: ChunkKind,
    },
    /// Chunks of a recorder are missing, or come twice.
    Gap {
        /// The recorder.
        recorder: u32,
        /// Sequence number that should have come.
        expected: u32,
        /// Sequence number that came.
        found: u32,
    },
    /// Words that no recorder writes; they are ignored.
    UnknownWords {
        /// The recorder.
        recorder: u32,
        /// The first of them.
        first: u32,
        /// How many there are in this chunk.
        count: u32,
    },
    /// The trace has more lanes than this reader follows. Events of the others are left out.
    TooManyLanes {
        /// The recorder.
        recorder: u32,
        /// How many events of this chunk are left out; `None` if the chunk was not decoded.
        events: Option<u64>,
    },
    /// There are more anomalies than the list keeps.
    More {
        /// How many more.
        count: u64,
    },
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use AnomalyKind::*;
        match &self.kind {
            Truncated => write!(f, "the file ends inside a chunk")?,
            NoEnd => write!(f, "the recording was cut off: there is no end chunk")?,
            NewerVersion { minor } => write!(
                f,
                "the trace has format version {}.{minor}, this reader knows {0}.{}: what is new in it is passed over",
                crate::chunk::MAJOR,
                crate::chunk::MINOR
            )?,
            NoHeader => write!(f, "no readable header: the clock's rate is a guess")?,
            BadField { chunk, field } => {
                write!(f, "{chunk} chunk: {field} has an invalid value, its default is used")?;
            }
            SecondHeader => write!(f, "another header, ignored")?,
            AfterEnd => write!(f, "bytes after the end chunk, ignored")?,
            Skipped { bytes } => write!(f, "{bytes} bytes that are not a chunk, skipped")?,
            BadChecksum { chunk, recorder } => {
                write!(f, "{chunk} chunk of recorder {recorder} with a bad checksum, ignored")?;
            }
            Malformed { chunk, what } => write!(f, "malformed {chunk} chunk, ignored: {what}")?,
            UnknownChunk { chunk } => write!(f, "chunk of unknown kind {chunk}, ignored")?,
            Gap { recorder, expected, found } if *found == expected.wrapping_add(1) => {
                write!(f, "recorder {recorder}: chunk {expected} is missing")?;
            }
            Gap { recorder, expected, found } if expected < found => {
                write!(f, "recorder {recorder}: chunks {expected} to {} are missing", found - 1)?;
            }
            Gap { recorder, expected, found } => {
                write!(f, "recorder {recorder}: chunk {found} where {expected} should be")?;
            }
            UnknownWords { recorder, first, count } => {
                write!(
                    f,
                    "recorder {recorder}: {count} words that nobody writes, ignored, the first {first:#010x}"
                )?;
            }
            TooManyLanes { recorder, events } => {
                match events {
                    Some(events) => write!(f, "recorder {recorder}: {events} events left out")?,
                    None => write!(f, "recorder {recorder}: a chunk left out")?,
                }
                write!(f, ": more than {} lanes", crate::limits::MAX_LANES)?;
            }
            More { count } => return write!(f, "and {count} more"),
        }
        write!(f, " (at offset {:#x})", self.offset)
    }
}

/// The list of anomalies, of limited length.
#[derive(Debug, Default)]
pub(crate) struct Anomalies {
    list: Vec<Anomaly>,
}

/// How many anomalies are kept; one more counts the rest.
const KEPT: usize = 1000;

impl Anomalies {
    pub(crate) fn push(&mut self, offset: u64, kind: AnomalyKind) {
        if self.list.len() < KEPT {
            self.list.push(Anomaly { offset, kind });
        } else if let Some(Anomaly { kind: AnomalyKind::More { count }, .. }) = self.list.last_mut() {
            *count += 1;
        } else {
            self.list.push(Anomaly { offset, kind: AnomalyKind::More { count: 1 } });
        }
    }

    pub(crate) fn list(&self) -> &[Anomaly] {
        &self.list
    }
}
