//! The process that records. A child made by `fork` has a copy of its memory, but none of its threads: a lock that one of them held stays
//! locked, and no writer takes a block.

#[cfg(target_os = "linux")]
use std::sync::Once;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicU32, Ordering};

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(u32);

/// How many forks made this process.
#[cfg(target_os = "linux")]
static FORKS: AtomicU32 = AtomicU32::new(0);

#[cfg(target_os = "linux")]
extern "C" fn note_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

impl Process {
    /// This process.
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code)] // A function of the C library.
    pub(crate) fn this() -> Process {
        static WATCHES: Once = Once::new();
        // SAFETY: the function only counts. If it can't be registered, there is no memory left.
        WATCHES.call_once(|| unsafe {
            libc::pthread_atfork(None, None, Some(note_fork));
        });
        Process(FORKS.load(Ordering::Relaxed))
    }

    /// This process.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn this() -> Process {
        Process(std::process::id())
    }

    /// Whether the running process is a child of this one, made by `fork`.
    #[inline]
    pub(crate) fn is_parent(self) -> bool {
        #[cfg(target_os = "linux")]
        let now = FORKS.load(Ordering::Relaxed);
        #[cfg(not(target_os = "linux"))]
        let now = std::process::id();
        self.0 != now
    }
}
