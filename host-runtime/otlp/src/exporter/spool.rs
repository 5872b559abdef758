//! A spool: a trace that is read while it is written.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The writing end: give it to a recorder as its sink. Dropping it ends the trace.
///
/// The trace goes to a file, and the reader reads that file: neither waits for the other. A file with a name is as long as the trace.
/// Without a name it is a sequence of files, each of which is deleted when the reader has read it: what was read is in requests. While
/// [`Spool::ROOM`] is not read, it takes no more.
#[derive(Debug)]
pub struct Spool {
    file: File,
    /// How much of the trace is in earlier files.
    before: u64,
    /// How much may wait to be read; `None` for a file with a name.
    room: Option<u64>,
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
    /// How often a reading is interrupted.
    rests: Rests,
    /// The next time.
    due: Option<Instant>,
}

/// Interrupts the readings of a [`Tail`].
#[derive(Clone, Debug, Default)]
pub(super) struct Rests(Arc<OnceLock<Duration>>);

impl Rests {
    /// From now on, readings fail with [`WouldBlock`](ErrorKind::WouldBlock), each time after this time, whether there is something
    /// to read or not. At the trace's end they don't.
    pub(super) fn begin(&self, every: Duration) {
        let _ = self.0.set(every);
    }
}

/// How long a file without a name grows.
const PART: u64 = 8 << 20;

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
    /// How much the reader of a spool without a name has read.
    read: u64,
    ended: Option<Instant>,
    /// Where each later file of a spool without a name begins, and its reading end.
    parts: VecDeque<(u64, File)>,
}

impl SpoolProgress {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spool {
    /// How many bytes of a spool without a name may wait to be read: a gigabyte.
    pub const ROOM: u64 = 1 << 30;

    /// A spool in a new file of this name, which is kept.
    ///
    /// # Errors
    ///
    /// If the file can't be created.
    pub fn create(path: &Path) -> io::Result<(Spool, Tail)> {
        let file = File::create(path)?;
        Ok(Spool::of(file, File::open(path)?, None))
    }

    /// A spool in a temporary file without a name.
    ///
    /// # Errors
    ///
    /// If the file can't be created.
    pub fn temporary() -> io::Result<(Spool, Tail)> {
        let (writer, reader) = unnamed()?;
        Ok(Spool::of(writer, reader, Some(Spool::ROOM)))
    }

    fn of(writer: File, reader: File, room: Option<u64>) -> (Spool, Tail) {
        let shared = Arc::new(SpoolProgress::default());
        (
            Spool { file: writer, before: 0, room, shared: shared.clone(), is_broken: false },
            Tail { file: reader, shared, position: 0, rests: Rests::default(), due: None },
        )
    }

    /// Begins another file if this one is full. If there can't be one, this one goes on.
    fn begin_part(&mut self) {
        let written = self.shared.progress().written;
        if self.room.is_none() || written - self.before < PART {
            return;
        }
        if let Ok((writer, reader)) = unnamed() {
            self.file = writer;
            self.before = written;
            self.shared.progress().parts.push_back((written, reader));
        }
    }

    /// Writes all of `bytes`, or nothing: if the disk becomes full, the file is as long as before, and the write can be repeated.
    ///
    /// # Errors
    ///
    /// If the bytes can't be written, or too much waits to be read. If a written part can't be removed either, all later calls fail.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("an earlier part was not written whole, and can't be taken out"));
        }
        let waiting = {
            let progress = self.shared.progress();
            progress.written - progress.read
        };
        if let Some(room) = self.room.filter(|&room| waiting >= room) {
            let text = format!("{room} bytes wait to be sent, and there is room for no more");
            return Err(io::Error::new(ErrorKind::StorageFull, text));
        }
        self.begin_part();
        let before = self.shared.progress().written - self.before;
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
        self.append(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file without a name, open for writing and for reading. It is deleted when both are closed.
fn unnamed() -> io::Result<(File, File)> {
    let named = tempfile::NamedTempFile::new()?;
    let reader = named.reopen()?;
    Ok((named.into_file(), reader))
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
        Ok(Tail {
            file: File::open(path)?,
            shared: self.shared.clone(),
            position: 0,
            rests: Rests::default(),
            due: None,
        })
    }

    pub(super) fn rests(&self) -> Rests {
        self.rests.clone()
    }

    pub(super) fn ended(&self) -> Ended {
        Ended(self.shared.clone())
    }
}

impl Read for Tail {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut progress = self.shared.progress();
        loop {
            let has_ended = progress.ended.is_some();
            if let Some(&every) = self.rests.0.get().filter(|_| !has_ended) {
                let now = Instant::now();
                if self.due.is_some_and(|due| due <= now) {
                    self.due = Some(now + every);
                    return Err(ErrorKind::WouldBlock.into());
                }
                self.due.get_or_insert(now + every);
            }
            if progress.written > self.position || has_ended || bytes.is_empty() {
                break;
            }
            let more = &self.shared.more;
            progress = match self.due {
                None => more.wait(progress).unwrap_or_else(PoisonError::into_inner),
                Some(due) => {
                    let left = due.saturating_duration_since(Instant::now());
                    more.wait_timeout(progress, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        let next = progress.parts.front().map(|(start, _)| *start);
        if next == Some(self.position)
            && let Some((_, file)) = progress.parts.pop_front()
        {
            self.file = file;
        }
        let end = progress.parts.front().map_or(u64::MAX, |(start, _)| *start);
        drop(progress);
        let room = usize::try_from(end - self.position).unwrap_or(usize::MAX).min(bytes.len());
        let count = self.file.read(&mut bytes[..room])?;
        self.position += count as u64;
        self.shared.progress().read = self.position;
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
            // Some files in all.
            let piece = vec![n as u8; n as usize % 97 * 500];
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
    #[test]
    fn what_finds_no_room_is_refused_whole_until_something_is_read() {
        let (mut spool, mut tail) = Spool::temporary().expect("a file");
        spool.room = Some(10);
        spool.write_all(b"0123456789").expect("room");
        let error = spool.write_all(b"lost").expect_err("full");
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        tail.read_exact(&mut [0; 4]).expect("bytes");
        spool.write_all(b"abc").expect("room again");
        drop(spool);
        let mut rest = String::new();
        tail.read_to_string(&mut rest).expect("the rest");
        assert_eq!(rest, "456789abc");
    }
}
