//! Large files are mapped into memory, and what was read of them is given back: debug information is often several times what
//! is kept of it.
//!
//! Who reads what is mapped of a file that somebody cuts off is ended by the system. So the file is leased where that can be
//! had: whoever wants to write to it waits until it is read. Otherwise a copy is mapped that nobody else can reach.
#![allow(unsafe_code)] // The file is mapped, parts of the mapping are given back, and so is what an allocator keeps.

use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

/// Less is not worth a call of the system.
const LEAST: usize = 1 << 16;

/// How much is read ahead.
const MOST_AHEAD: usize = 1 << 30;

/// Smaller files are read as they are.
const SMALL: u64 = 1 << 20;

/// Reads a file. `read` gets its bytes, and whom to tell of bytes that aren't needed for a while.
pub(super) fn with<T>(
    path: &Path,
    read: impl FnOnce(&[u8], &(dyn Fn(&[u8]) + Sync)) -> io::Result<T>,
) -> io::Result<T> {
    let file = Mapped::open(path)?;
    read(&file, &|bytes| file.done(bytes))
}

/// The bytes of a file.
pub(super) enum Mapped {
    /// Of a small one, or one that can't be mapped.
    Read(Vec<u8>),
    /// The lease ends with the file.
    Map { map: Mmap, _leased: File },
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Mapped::Read(bytes) => bytes,
            Mapped::Map { map, .. } => map,
        }
    }
}

impl Mapped {
    pub(super) fn open(path: &Path) -> io::Result<Mapped> {
        let file = File::open(path)?;
        if file.metadata()?.len() < SMALL {
            return Ok(Mapped::Read(std::fs::read(path)?));
        }
        let file = if lease::take(&file) { Ok(file) } else { copy_of(file) };
        // SAFETY: nobody writes to the file while it is leased, nor to a copy without a name.
        let map = file.and_then(|file| Ok((unsafe { Mmap::map(&file)? }, file)));
        let Ok((map, leased)) = map else {
            // Not every file system can, and there may be no room for a copy.
            return Ok(Mapped::Read(std::fs::read(path)?));
        };
        keep_no_large_blocks();
        // What is read here and there would come from a disk in small pieces. If it fails, it does.
        #[cfg(unix)]
        let _ = map.advise_range(memmap2::Advice::WillNeed, 0, map.len().min(MOST_AHEAD));
        Ok(Mapped::Map { map, _leased: leased })
    }

    /// Gives bytes back to the system, if they are of this file: they are read from it again when they are needed.
    pub(super) fn done(&self, bytes: &[u8]) {
        let Mapped::Map { map, .. } = self else { return };
        let Some(start) = (bytes.as_ptr() as usize).checked_sub(map.as_ptr() as usize) else { return };
        if bytes.len() >= LEAST && start.checked_add(bytes.len()).is_some_and(|end| end <= map.len()) {
            // SAFETY: the mapping is of a file and is never written to, so its pages are read from the file again.
            // If it fails, they stay.
            #[cfg(unix)]
            let _ =
                unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, bytes.len()) };
        }
    }
}

/// A copy in the folder for temporary files, which has no name there.
fn copy_of(mut file: File) -> io::Result<File> {
    let mut copy = tempfile::tempfile()?;
    io::copy(&mut file, &mut copy)?;
    Ok(copy)
}

/// Leases of Linux, `fcntl(2)`: of files of one's own that nobody has open for writing. Who opens one for writing, or cuts it
/// off, waits until the lease ends, for 45 seconds at most (`/proc/sys/fs/lease-break-time`).
#[cfg(target_os = "linux")]
mod lease {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    /// Of `fcntl(2)`; the crate `libc` lacks it.
    const F_SETSIG: libc::c_int = 10;

    /// Takes one for as long as the file is open, if it can be had.
    pub(super) fn take(file: &File) -> bool {
        // SAFETY: both are calls of the system, of a file that is open. The signal that tells that somebody waits is one that
        // does nothing by itself, where the usual one would end the program.
        unsafe {
            libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG) == 0
                && libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) == 0
        }
    }
}

/// Windows lets nobody cut off a file that is mapped; elsewhere there are no leases.
#[cfg(not(target_os = "linux"))]
mod lease {
    pub(super) fn take(_: &std::fs::File) -> bool {
        cfg!(windows)
    }
}

/// From now on, blocks of a megabyte and more are the system's, and go back to it when they are freed. Otherwise glibc takes them for its own
/// once it has seen some freed: of a large twin 10 MB stay behind, which nothing else fits into.
fn keep_no_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it may be called at any time, by any thread.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20);
    }
}

/// Gives freed memory back to the system. Large tables are made of millions of small blocks, which several threads free: glibc
/// keeps these for each thread.
pub(super) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it may be called at any time, by any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Reads a file which another thread cuts off meanwhile.
    fn read_while_cut(path: &Path) -> Vec<u8> {
        std::thread::scope(|threads| {
            with(path, |bytes, done| {
                threads.spawn(|| File::options().write(true).open(path).unwrap().set_len(0).unwrap());
                std::thread::sleep(Duration::from_millis(200));
                // From the file again.
                done(bytes);
                Ok(bytes.to_vec())
            })
            .unwrap()
        })
    }

    #[test]
    fn a_file_that_is_cut_off_is_read_to_its_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..3u32 << 20).map(|n| (n / 4096) as u8).collect();
        std::fs::write(file.path(), &bytes).unwrap();
        // It is open for writing, so there is no lease.
        assert!(read_while_cut(file.path()) == bytes);
        assert_eq!(file.path().metadata().unwrap().len(), 0);
        let path = file.into_temp_path();
        std::fs::write(&path, &bytes).unwrap();
        assert!(read_while_cut(&path) == bytes);
        assert_eq!(path.metadata().unwrap().len(), 0);
    }
}
