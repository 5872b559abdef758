//! Recognizes guests on a stack of their own, as in asynchronous calls.
#![allow(unsafe_code)] // The C library knows threads' stacks.

use std::ops::Range;

/// Whether the caller runs on another stack than its thread's, which means within an asynchronous call: waiting here would hold up
/// an executor. Always false on systems other than Linux, where it is unknown.
pub(crate) fn is_current() -> bool {
    thread_local! {
        static STACK: Option<Range<usize>> = stack();
    }
    let here = 0u8;
    // A thread that is ending has lost its value.
    let stack = STACK.try_with(Clone::clone).ok().flatten();
    stack.is_some_and(|stack| !stack.contains(&(&raw const here).addr()))
}

/// Where the running thread's stack lies.
#[cfg(target_os = "linux")]
pub(crate) fn stack() -> Option<Range<usize>> {
    // SAFETY: the attributes are plain data that the first call fills in and the last takes back.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
        let failed = libc::pthread_attr_getstack(&raw const attributes, &raw mut lowest, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        let begin = lowest as usize;
        (failed == 0).then(|| begin..begin.saturating_add(size))
    }
}

#[cfg(not(target_os = "linux"))]
fn stack() -> Option<Range<usize>> {
    None
}

#[cfg(test)]
mod tests {
    use super::is_current;

    #[test]
    fn a_thread_s_own_stack_is_none() {
        assert!(!is_current());
        assert!(std::thread::spawn(|| !is_current()).join().unwrap());
    }
}
