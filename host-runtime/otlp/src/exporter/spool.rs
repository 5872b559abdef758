//! A spool: a trace that is read while it is written.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The writing end: give it to a recorder as its sink. Dropping it ends the trace.
///
/// The trace goes to a file, and the reader reads that file: neither waits for the other. The file is as long as the trace. A file
/// without a name is deleted when both ends are dropped.
#[derive(Debug)]
pub struct Spool {
    file: File,
    shared: Arc<SpoolProgress>,
    /// [`Spool::append`] has left a part in the file.
    is_broken: bool,
}

/// The reading end. It waits for bytes that are not written yet.
#[derive(Debug)]
pub struct Tail {
    file: File,
    shared: Arc<SpoolProgress>,
    position: u64,
}

/// Knows when a trace ended.
#[derive(Clone, Debug)]
pub(super) struct Ended(Arc<SpoolProgress>);

#[derive(Debug, Default)]
struct SpoolProgress {
    progress: Mutex<Progress>,
    more: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    written: u64,
    ended: Option<Instant>,
}

impl SpoolProgress {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spool {
    /// A spool in a new file of this name, which is kept.
    ///
    /// # Errors
    ///
    /// If the file can't be created.
    pub fn create(path: &Path) -> io::Result<(Spool, Tail)> {
        let file = File::create(path)?;
        Ok(Spool::of(file, File::open(path)?))
    }

    /// A spool in a temporary file without a name.
    ///
    /// # Errors
    ///
    /// If the file can't be created.
    pub fn temporary() -> io::Result<(Spool, Tail)> {
        let named = tempfile::NamedTempFile::new()?;
        let reader = named.reopen()?;
        // The name goes; the file stays for as long as it is open.
        Ok(Spool::of(named.into_file(), reader))
    }

    fn of(writer: File, reader: File) -> (Spool, Tail) {
        let shared = Arc::new(SpoolProgress::default());
        (
            Spool { file: writer, shared: shared.clone(), is_broken: false },
            Tail { file: reader, shared, position: 0 },
        )
    }
}

impl Spool {
    /// Writes all of `bytes`, or nothing: if the disk becomes full, the file is as long as before, and the write can be repeated.
    ///
    /// # Errors
    ///
    /// If the bytes can't be written. If a written part can't be removed either, all later calls fail.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("an earlier part was not written whole, and can't be taken out"));
        }
        let before = self.shared.progress().written;
        if let Err(error) = self.file.write_all(bytes) {
            let cut = self.file.set_len(before).and_then(|()| self.file.seek(SeekFrom::Start(before)));
            self.is_broken = cut.is_err();
            return Err(error);
        }
        self.shared.progress().written += bytes.len() as u64;
        self.shared.more.notify_all();
        Ok(())
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.shared.progress().written += count as u64;
        self.shared.more.notify_all();
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.shared.progress().ended.get_or_insert_with(Instant::now);
        self.shared.more.notify_all();
    }
}

impl Tail {
    /// Another reading end of the same trace. `path` is the file's.
    ///
    /// # Errors
    ///
    /// When the file can't be opened.
    pub fn again(&self, path: &Path) -> io::Result<Tail> {
        Ok(Tail { file: File::open(path)?, shared: self.shared.clone(), position: 0 })
    }

    pub(super) fn ended(&self) -> Ended {
        Ended(self.shared.clone())
    }
}

impl Read for Tail {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut progress = self.shared.progress();
        while progress.written <= self.position && progress.ended.is_none() && !bytes.is_empty() {
            progress = self.shared.more.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
        drop(progress);
        let count = self.file.read(bytes)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Ended {
    /// When the trace ended; `None` while it is written.
    pub(super) fn at(&self) -> Option<Instant> {
        self.0.progress().ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_is_written_whoever_is_faster() {
        let (mut spool, mut tail) = Spool::temporary().expect("a file");
        let ended = tail.ended();
        let reader = std::thread::spawn(move || {
            let mut all = Vec::new();
            tail.read_to_end(&mut all).map(|_| all)
        });
        let mut expected = Vec::new();
        for n in 0..1000_u32 {
            let piece = vec![n as u8; n as usize % 97];
            spool.write_all(&piece).expect("room");
            expected.extend(piece);
            if n % 100 == 0 {
                std::thread::yield_now();
            }
        }
        assert_eq!(ended.at(), None);
        drop(spool);
        assert_eq!(reader.join().expect("no panic").expect("the file"), expected);
        assert!(ended.at().is_some());
    }
}
