//! When a thread lost its processor, and when it got one again: the kernel's records.
//!
//! A software event that counts nothing writes a record with the time at each switch of its thread into a ring that the process has
//! mapped. It needs no rights (`perf_event_paranoid` 2), but containers often forbid it. Records: `perf_event_open(2)`.
#![allow(unsafe_code)] // The ring is the kernel's.

use crate::clock::perf;
use crate::outlet::process::Process;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many pages of records the ring has, if the user may still lock so many: two switches for each wait, 16 bytes each.
const PAGES: [usize; 2] = [16, 2];
/// With less room than this, in bytes, the kernel may have left out a record: the longest, and the one that reports the loss.
const TIGHT: u64 = 64;

// `linux/perf_event.h`.
const RECORD_SWITCH: u32 = 14;
const SWITCH_OUT: u32 = 1 << 13;
const SWITCH_OUT_PREEMPT: u32 = 1 << 14;
/// Where `data_head` and `data_tail` are in the first page, in words of eight bytes.
const HEAD: usize = 1024 / 8;
const TAIL: usize = 1032 / 8;

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// The thread lost its processor at this time on the system's monotonic clock.
    Out { nanos: u64, is_ready: bool },
    /// It got one.
    In { nanos: u64 },
    /// Records are missing.
    Lost,
}

/// The ring of a thread's records.
pub(super) struct Switches {
    /// The first page, and `data` words after it.
    map: NonNull<AtomicU64>,
    page_words: usize,
    data_words: usize,
    /// The process whose threads the ring is of.
    process: Process,
}

// SAFETY: the mapping is the process's, and all accesses are atomic.
unsafe impl Send for Switches {}
// SAFETY: as above; the owner lets one thread at a time read records.
unsafe impl Sync for Switches {}

impl Switches {
    /// Begins with the calling thread's records.
    pub(super) fn of_this_thread() -> io::Result<Switches> {
        // The mapping keeps the event when its file is closed.
        let fd = perf::switches()?;
        let [usual, small] = PAGES;
        Switches::map(&fd, usual).or_else(|_| Switches::map(&fd, small))
    }

    fn map(fd: &OwnedFd, pages: usize) -> io::Result<Switches> {
        // SAFETY: it only asks for a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let map = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                (1 + pages) * page,
                protection,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        let map = NonNull::new(map.cast()).filter(|_| map != libc::MAP_FAILED);
        let map = map.ok_or_else(io::Error::last_os_error)?;
        let process = Process::this();
        Ok(Switches { map, page_words: page / 8, data_words: pages * page / 8, process })
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        debug_assert!(index < self.page_words + self.data_words);
        // SAFETY: the callers' indices are within the mapping, which lives as long as `self`. The kernel writes whole words.
        unsafe { self.map.add(index).as_ref() }
    }

    /// A word of the records.
    fn data(&self, at: u64) -> u64 {
        // The length is a power of two.
        let index = (at / 8) as usize & (self.data_words - 1);
        self.word(self.page_words + index).load(Ordering::Relaxed)
    }

    /// Whether there are records.
    pub(super) fn has_more(&self) -> bool {
        if self.process.is_parent() {
            return true;
        }
        self.word(HEAD).load(Ordering::Acquire) != self.word(TAIL).load(Ordering::Relaxed)
    }

    /// Takes the records. Only one thread may do so at a time.
    pub(super) fn take(&self, mut each: impl FnMut(Record)) {
        if self.process.is_parent() {
            return each(Record::Lost);
        }
        let head = self.word(HEAD).load(Ordering::Acquire);
        let mut at = self.word(TAIL).load(Ordering::Relaxed);
        let is_tight = (8 * self.data_words as u64).saturating_sub(head.wrapping_sub(at)) < TIGHT;
        while at != head {
            let header = self.data(at);
            let (kind, misc) = (header as u32, (header >> 32) as u32 & 0xffff);
            let length = header >> 48;
            // Each ends with its time.
            let nanos = self.data(at.wrapping_add(length).wrapping_sub(8));
            each(match (kind, misc & SWITCH_OUT != 0) {
                (RECORD_SWITCH, true) => Record::Out { nanos, is_ready: misc & SWITCH_OUT_PREEMPT != 0 },
                (RECORD_SWITCH, false) => Record::In { nanos },
                _ => Record::Lost,
            });
            if length < 16 {
                // No record is this short. The kernel doesn't write it; it would be read forever.
                break;
            }
            at = at.wrapping_add(length);
        }
        self.word(TAIL).store(head, Ordering::Release);
        if is_tight {
            each(Record::Lost);
        }
    }
}

impl Drop for Switches {
    fn drop(&mut self) {
        if self.process.is_parent() {
            return;
        }
        // SAFETY: the mapping is this ring's, and nothing uses it any more. The event goes with it.
        unsafe { libc::munmap(self.map.as_ptr().cast(), 8 * (self.page_words + self.data_words)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_child_has_lost_the_records() {
        // Containers may forbid the event.
        let Ok(switches) = Switches::of_this_thread() else { return };
        const LOST: libc::c_int = 7;
        // SAFETY: the child calls nothing that takes a lock or memory.
        let status = unsafe {
            let child = libc::fork();
            if child == 0 {
                let mut status = 0;
                switches.take(|record| status = if record == Record::Lost { LOST } else { 1 });
                libc::_exit(if switches.has_more() { status } else { 2 });
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            status
        };
        assert!(libc::WIFEXITED(status), "signal {}", libc::WTERMSIG(status));
        assert_eq!(libc::WEXITSTATUS(status), LOST);
    }
}
