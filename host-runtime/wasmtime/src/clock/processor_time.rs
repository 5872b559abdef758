//! The processor time of any thread of this process.
#![allow(unsafe_code)] // The C library knows threads and their clocks.

use std::cell::Cell;

/// The kernel's number of the calling thread. A signal's handler may call this.
pub(crate) fn thread_id() -> i32 {
    // SAFETY: it takes nothing and can't fail.
    unsafe { libc::gettid() }
}

/// The same, after the first time in a nanosecond.
pub(crate) fn known_thread_id() -> i32 {
    thread_local! {
        static KNOWN: Cell<i32> = const { Cell::new(0) };
    }
    KNOWN.with(|known| {
        if known.get() == 0 {
            known.set(thread_id());
        }
        known.get()
    })
}

/// How long a thread has been on a processor so far, in nanoseconds; `None` if it has ended. A signal's handler may call this.
pub(crate) fn processor_nanos(thread: i32) -> Option<u64> {
    // `MAKE_THREAD_CPUCLOCK(id, CPUCLOCK_SCHED)` of the kernel. It refuses threads of other processes.
    let clock = (!thread) << 3 | 6;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes the structure.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (failed == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
