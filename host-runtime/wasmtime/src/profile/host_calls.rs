//! The embedder's calls into a store.

#[cfg(target_os = "linux")]
use crate::clock::processor_time::known_thread_id;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

/// The embedder's calls into a store.
#[derive(Default)]
pub(crate) struct HostCalls {
    open: AtomicU32,
    /// Whether there was ever one. An embedder may call its guests without notice.
    were_noted: AtomicBool,
    /// The thread that runs them; 0 if unknown.
    thread: AtomicI32,
}

impl HostCalls {
    /// A call begins.
    pub(crate) fn begin(&self) {
        self.were_noted.store(true, Ordering::Relaxed);
        self.note_thread();
        self.open.fetch_add(1, Ordering::SeqCst);
    }

    /// The open calls go on, on this thread.
    pub(crate) fn note_thread(&self) {
        #[cfg(target_os = "linux")]
        self.thread.store(known_thread_id(), Ordering::Relaxed);
    }

    /// The thread that runs the open call, or ran the last one, if it is known.
    pub(super) fn thread(&self) -> Option<i32> {
        Some(self.thread.load(Ordering::Relaxed)).filter(|&thread| thread > 0)
    }

    /// A call ends.
    pub(crate) fn end(&self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether one is open.
    #[cfg(feature = "component-model")]
    pub(crate) fn is_any(&self) -> bool {
        self.open() > 0
    }

    pub(super) fn open(&self) -> u32 {
        self.open.load(Ordering::SeqCst)
    }

    /// Whether none is open, as far as we know.
    pub(super) fn are_none(&self) -> bool {
        self.were_noted.load(Ordering::Relaxed) && self.open() == 0
    }
}
