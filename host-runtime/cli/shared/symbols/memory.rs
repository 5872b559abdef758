//! Memory that the allocator keeps after large tables are freed.
#![allow(unsafe_code)] // A call of the C library.

/// Returns freed memory to the system. Large tables are millions of small blocks, which several threads free: glibc keeps these for
/// each thread.
pub(super) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it may be called at any time, by any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
