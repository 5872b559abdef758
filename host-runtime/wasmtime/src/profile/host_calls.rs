//! The embedder's calls into a store.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The embedder's calls into a store.
#[derive(Default)]
pub(crate) struct HostCalls {
    open: AtomicU32,
    /// Whether there was ever one. An embedder may call its guests without notice.
    were_noted: AtomicBool,
}

impl HostCalls {
    /// A call begins.
    pub(crate) fn begin(&self) {
        self.were_noted.store(true, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::SeqCst);
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
