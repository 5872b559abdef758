//! Writes a dump: an ordinary trace, whole or not at all.

use super::ring::{Opening, Snapshot};
use kperf_trace::{Header, Kept, Summary, TraceWriter};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes are collected before they are written.
const BUFFER: usize = 1 << 20;
/// How many names for the temporary file are tried.
const MAX_NAMES: u32 = 100;

/// What a dump consists of.
pub(super) struct Dump {
    pub(super) header: Header,
    pub(super) snapshot: Snapshot,
    /// The last words of lanes.
    pub(super) peeks: BTreeMap<u32, Vec<u8>>,
    pub(super) summary: Summary,
    pub(super) kept: Kept,
}

impl Dump {
    /// Writes it to a file beside the target, which it then replaces; devices and pipes can't be replaced. Counts the written bytes.
    pub(super) fn write(&self, target: &Path, progress: &AtomicU64) -> io::Result<()> {
        // A link stays.
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        let out = |file| BufWriter::with_capacity(BUFFER, Counted(file, progress));
        if fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file()) {
            return self.write_to(out(OpenOptions::new().write(true).open(&target)?));
        }
        let (file, beside) = create_beside(&target)?;
        let written = self.write_to(out(file));
        let placed = written.and_then(|()| fs::rename(&beside, &target));
        if placed.is_err() {
            let _ = fs::remove_file(&beside);
        }
        placed
    }

    fn write_to(&self, out: impl Write) -> io::Result<()> {
        let mut trace = TraceWriter::new(out, &self.header)?;
        let Snapshot { tables, anchors, openings, chunks, .. } = &self.snapshot;
        for table in tables {
            trace.copy(table, 0)?;
        }
        for &anchor in anchors.iter().skip(1) {
            trace.anchor(anchor)?;
        }
        for Opening { recorder, spans, parents, block } in openings {
            for parent in parents {
                trace.copy(parent, 0)?;
            }
            match block {
                Some(block) if *spans => trace.spans(*recorder, block)?,
                Some(block) => trace.block(*recorder, block)?,
                None => {}
            }
        }
        for (chunk, events) in chunks {
            trace.copy(chunk, *events)?;
        }
        for (&recorder, block) in &self.peeks {
            trace.block(recorder, block)?;
        }
        let written = trace.written();
        let summary = Summary {
            events: written.events + self.snapshot.lost,
            blocks: written.blocks,
            dropped_events: self.snapshot.lost,
            ..self.summary.clone()
        };
        trace.finish_kept(&summary, &self.kept)?.flush()
    }
}

/// Counts what is written, so that who waits sees progress.
struct Counted<'a>(File, &'a AtomicU64);

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write(bytes)?;
        self.1.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn create_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    // File names have a limit of length.
    let name: String = name.chars().take(40).collect();
    let mut taken = io::ErrorKind::AlreadyExists.into();
    for n in 0..MAX_NAMES {
        let beside = target.with_file_name(format!(".{name}.{}-{n}.part", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&beside) {
            Ok(file) => return Ok((file, beside)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}
