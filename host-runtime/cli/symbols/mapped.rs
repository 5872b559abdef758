//! Large files are mapped into memory, and what was read of them is given back: debug information is often several times what
//! is kept of it.
#![allow(unsafe_code)] // The file is mapped, parts of the mapping are given back, and so is what an allocator keeps.

use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::path::Path;

/// Less is not worth a call of the system.
const LEAST: usize = 1 << 16;

/// How much is read ahead.
const MOST_AHEAD: usize = 1 << 30;

/// Reads a file. `read` gets its bytes, and whom to tell of bytes that aren't needed for a while.
pub(super) fn with<T>(
    path: &Path,
    read: impl FnOnce(&[u8], &(dyn Fn(&[u8]) + Sync)) -> io::Result<T>,
) -> io::Result<T> {
    // SAFETY: nobody is known to write to the file. If somebody does, what is read makes no sense, as with a file that changes
    // while it is read piece by piece; if somebody cuts it off, the system ends the program.
    let Ok(map) = (unsafe { Mmap::map(&File::open(path)?) }) else {
        // Not every file system can.
        return read(&std::fs::read(path)?, &|_| ());
    };
    // What is read here and there would come from a disk in small pieces. If it fails, it does.
    #[cfg(unix)]
    let _ = map.advise_range(memmap2::Advice::WillNeed, 0, map.len().min(MOST_AHEAD));
    let done = |bytes: &[u8]| {
        let Some(start) = (bytes.as_ptr() as usize).checked_sub(map.as_ptr() as usize) else { return };
        if bytes.len() >= LEAST && start + bytes.len() <= map.len() {
            // SAFETY: the mapping is of a file and is never written to, so its pages are read from the file again.
            // If it fails, they stay.
            #[cfg(unix)]
            let _ =
                unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, bytes.len()) };
        }
    };
    read(&map, &done)
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
