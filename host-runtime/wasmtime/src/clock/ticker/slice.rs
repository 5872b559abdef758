//! Asks the kernel to run this thread soon after it wakes.
#![allow(unsafe_code)] // These are system calls.

/// Asks for short slices of time, which Linux from 6.12 on grants sooner, and for timers without delay. If the kernel refuses,
/// the thread runs a little later.
#[cfg(target_os = "linux")]
pub(super) fn ask_for_short_ones() {
    /// Far more than a tick takes; the least that the kernel grants.
    const SLICE_NANOS: u64 = 100_000;
    const SIZE: libc::c_uint = size_of::<libc::sched_attr>() as libc::c_uint;
    const THIS_THREAD: libc::c_long = 0;
    const NO_FLAGS: libc::c_long = 0;
    // SAFETY: the structure is plain data, and its size is given; both calls concern this thread only.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        let mut attributes: libc::sched_attr = std::mem::zeroed();
        let known = libc::syscall(
            libc::SYS_sched_getattr,
            THIS_THREAD,
            &raw mut attributes,
            libc::c_long::from(SIZE),
            NO_FLAGS,
        );
        if known == 0 && attributes.sched_policy == libc::SCHED_OTHER as u32 {
            attributes.sched_runtime = SLICE_NANOS;
            libc::syscall(libc::SYS_sched_setattr, THIS_THREAD, &raw const attributes, NO_FLAGS);
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn ask_for_short_ones() {}
