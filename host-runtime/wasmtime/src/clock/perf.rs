//! The kernel's performance events of one thread: `perf_event_open(2)`.
#![allow(unsafe_code)] // The C library has no function for it.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// `struct perf_event_attr`, as far as version 3 of it goes.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    more_config: [u64; 2],
    branches: u64,
    registers: u64,
    stack: u32,
    clock: i32,
}

const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
const DUMMY: u64 = 9;
const SAMPLE_TIME: u64 = 1 << 2;
const DISABLED: u64 = 1 << 0;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const USE_CLOCK: u64 = 1 << 25;
const CONTEXT_SWITCH: u64 = 1 << 26;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
/// `PERF_EVENT_IOC_ENABLE` and `PERF_EVENT_IOC_PERIOD`.
const ENABLE: libc::c_ulong = 0x2400;
const SET_PERIOD: libc::c_ulong = 0x4008_2404;

/// An event that is due each `period` nanoseconds of a thread's processor time, and disabled at first.
pub(crate) fn cpu_clock(thread: libc::pid_t, period: u64) -> io::Result<OwnedFd> {
    let attributes = |flags| Attributes {
        kind: SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: CPU_CLOCK,
        period,
        flags,
        ..Attributes::default()
    };
    // Without rights the kernel's own code can't be interrupted.
    open(&attributes(DISABLED), thread).or_else(|_| open(&attributes(DISABLED | EXCLUDE_KERNEL), thread))
}

/// An event that counts nothing, and records each switch of the calling thread, with its time on the system's monotonic clock.
pub(crate) fn switches() -> io::Result<OwnedFd> {
    let attributes = Attributes {
        kind: SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: DUMMY,
        sample_type: SAMPLE_TIME,
        flags: EXCLUDE_KERNEL | SAMPLE_ID_ALL | USE_CLOCK | CONTEXT_SWITCH,
        clock: libc::CLOCK_MONOTONIC,
        ..Attributes::default()
    };
    open(&attributes, 0)
}

/// Enables an event.
pub(crate) fn enable(event: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the call takes no more arguments.
    let failed = unsafe { libc::ioctl(event.as_raw_fd(), ENABLE, 0) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes an event due each `period` nanoseconds. If its file is closed, nothing happens. A signal's handler may call this.
pub(crate) fn set_period(event: libc::c_int, period: u64) {
    // SAFETY: the call reads this number.
    unsafe { libc::ioctl(event, SET_PERIOD, &raw const period) };
}

fn open(attributes: &Attributes, thread: libc::pid_t) -> io::Result<OwnedFd> {
    const ANY_PROCESSOR: libc::c_int = -1;
    const NO_GROUP: libc::c_int = -1;
    // SAFETY: the structure is as the manual says, and says its size; the file that is returned belongs to nobody else.
    unsafe {
        let attributes: *const Attributes = attributes;
        let file = libc::syscall(
            libc::SYS_perf_event_open,
            attributes,
            thread,
            ANY_PROCESSOR,
            NO_GROUP,
            CLOSE_ON_EXEC,
        );
        if file < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(file as libc::c_int)) }
    }
}
