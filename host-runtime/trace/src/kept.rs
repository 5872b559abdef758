//! What a flight recorder's dump says of the calls that are not in it.

use crate::chunk::{ChunkHeader, ChunkKind, HEADER_LEN, PREAMBLE_LEN};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Seek, SeekFrom};

/// What a flight recorder's dump says of the calls that are not in it: the field `kept` of a trace's last chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    /// Why it was written.
    pub why: String,
    /// All events after this time are in the trace, in ticks.
    pub complete_from_ticks: u64,
    /// How many calls were open at the beginning of their lane's part. Their times begin there.
    pub open: u64,
    /// The calls of each function since the recording began, with those in the trace: ids with numbers, in the order of the ids.
    pub calls: Vec<(u32, u64)>,
    /// Events that were lost since then: their calls are not counted.
    pub lost_events: u64,
}

#[derive(Deserialize)]
struct End {
    kept: Option<Kept>,
}

impl Kept {
    /// Finds it in a trace's file, whose events it skips; `None` if it is no dump, or has no end.
    ///
    /// # Errors
    ///
    /// Errors of the input.
    pub fn read(mut trace: impl Read + Seek) -> io::Result<Option<Kept>> {
        let mut at = PREAMBLE_LEN as u64;
        loop {
            trace.seek(SeekFrom::Start(at))?;
            let mut header = [0; HEADER_LEN];
            match trace.read_exact(&mut header) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                read => read?,
            }
            let Some(header) = ChunkHeader::from_bytes(&header) else { return Ok(None) };
            if header.kind == ChunkKind::END {
                let mut payload = Vec::new();
                trace.take(header.length.into()).read_to_end(&mut payload)?;
                return Ok(serde_json::from_slice::<End>(&payload).ok().and_then(|end| end.kept));
            }
            at += HEADER_LEN as u64 + u64::from(header.length);
        }
    }
}
