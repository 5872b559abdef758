//! Interrupts a thread every so often.
//!
//! The kernel does it, by a timer that belongs to the thread. If another thread sent the signal, it would arrive when the thread
//! next leaves the kernel, or when its processor leaves the hypervisor: samples would find code that faults too often.
#![allow(unsafe_code)] // Timers and signals are the C library's; a handler gets its data by pointers.

use super::ring::Ring;
use super::unwinding::Registers;
use std::sync::OnceLock;
use std::time::Duration;
use std::{io, ptr};

/// The signal that profilers use. [`install`] fails if the process already uses it.
const SIGNAL: libc::c_int = libc::SIGPROF;

/// Installs the signal's handler, for as long as the process lives: a signal that comes late must still find it.
pub(super) fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), (io::ErrorKind, String)>> = OnceLock::new();
    let install = || {
        // SAFETY: the structures are plain data, filled in as the manual says.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            check(libc::sigaction(SIGNAL, ptr::null(), &raw mut before))?;
            if ![libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction) {
                let taken = "other code handles SIGPROF in this process";
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, taken));
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            // Guests use their stacks to the end.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
            check(libc::sigaction(SIGNAL, &raw const action, ptr::null_mut()))
        }
    };
    let known = |error: io::Error| (error.kind(), error.to_string());
    let installed = INSTALLED.get_or_init(|| install().map_err(known));
    installed.clone().map_err(|(kind, text)| io::Error::new(kind, text))
}

/// Whether the signal's handler is still ours.
pub(super) fn is_ours() -> bool {
    // SAFETY: the structure is plain data, filled in by the call.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(SIGNAL, ptr::null(), &raw mut now) == 0
            && now.sa_sigaction == handle as *const () as usize
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The handler. It takes no lock and no memory, and calls nothing that does.
extern "C" fn handle(_signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel gives a handler of SA_SIGINFO both; a timer's signal has the timer's value.
    let (number, registers) = unsafe {
        if (*info).si_code != libc::SI_TIMER {
            return;
        }
        ((*info).si_value().sival_ptr as usize, Registers::of(&*context.cast::<libc::ucontext_t>()))
    };
    if let Some(ring) = Ring::of_number(number) {
        ring.sample(registers);
    }
}

/// Runs until it is dropped.
pub(super) struct Timer(libc::timer_t);

// SAFETY: a timer is the process's, and its id a number.
unsafe impl Send for Timer {}

impl Timer {
    /// Interrupts a thread for the ring with this number.
    pub(super) fn start(thread: libc::pid_t, number: usize, period: Duration) -> io::Result<Timer> {
        // SAFETY: the structures are plain data, filled in as the manual says.
        unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = SIGNAL;
            event.sigev_notify_thread_id = thread;
            event.sigev_value.sival_ptr = ptr::without_provenance_mut(number);
            let mut id: libc::timer_t = ptr::null_mut();
            check(libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut id))?;
            let timer = Timer(id);
            let period = libc::timespec {
                tv_sec: period.as_secs() as libc::time_t,
                tv_nsec: period.subsec_nanos().into(),
            };
            let times = libc::itimerspec { it_interval: period, it_value: period };
            check(libc::timer_settime(id, 0, &raw const times, ptr::null_mut()))?;
            Ok(timer)
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: it is ours.
        unsafe { libc::timer_delete(self.0) };
    }
}
