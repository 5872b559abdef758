//! Interrupts a thread every so often, by a clock that belongs to the thread.
//!
//! If another thread sent the signal, it would arrive when the thread next leaves the kernel, or when its processor leaves the
//! hypervisor: samples would find code that faults too often.
#![allow(unsafe_code)] // Timers and signals are the C library's; a handler gets its data by pointers.

use super::registers::Registers;
use super::ring::Ring;
use crate::clock::perf;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::OnceLock;
use std::time::Duration;
use std::{io, ptr};

/// The signal that profilers use. [`install`] fails if the process already uses it.
const SIGNAL: libc::c_int = libc::SIGPROF;

const F_SETSIG: libc::c_int = 10;
const F_SETOWN_EX: libc::c_int = 15;
const F_OWNER_TID: libc::c_int = 0;
/// Why a file raised the signal: it has data.
const POLL_IN: libc::c_int = 1;

/// `struct f_owner_ex`.
#[repr(C)]
struct FileOwner {
    kind: libc::c_int,
    thread: libc::pid_t,
}

/// A `siginfo_t` of a signal that a file raised.
#[repr(C)]
struct FileSignal {
    _signal: [libc::c_int; 4],
    _band: libc::c_long,
    file: libc::c_int,
}

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
    // SAFETY: the kernel gives a handler of SA_SIGINFO both; a timer's signal has the timer's value, and that of a file its number.
    let (ring, registers) = unsafe {
        let ring = match (*info).si_code {
            libc::SI_TIMER => Ring::of_number((*info).si_value().sival_ptr as usize),
            POLL_IN => Ring::of_event((*info.cast::<FileSignal>()).file),
            _ => None,
        };
        (ring, Registers::of(&*context.cast::<libc::ucontext_t>()))
    };
    if let Some(ring) = ring {
        ring.interrupt(registers);
    }
}

/// Interrupts a thread until it is dropped.
pub(super) struct Timer {
    /// Interrupts each period of the thread's processor time; `None` if the kernel refuses.
    _event: Option<Event>,
    /// Interrupts each period of wall time: all there is without the event, else now and then, to see where the thread waits.
    _wall: WallTimer,
}

/// How often waits are looked for.
const WAITS: Duration = Duration::from_millis(10);

impl Timer {
    /// Interrupts a thread for the ring with this number.
    pub(super) fn start(thread: libc::pid_t, number: usize, period: Duration) -> io::Result<Timer> {
        // It comes first because it refuses a thread of another process, which may have the number of one of ours that has ended.
        // The event would interrupt that process, which ends it.
        let mut wall = WallTimer::start(thread, number, period.max(WAITS))?;
        let event = Ring::of_number(number).and_then(|ring| Event::start(thread, ring).ok());
        if event.is_none() {
            wall = WallTimer::start(thread, number, period)?;
        }
        Ok(Timer { _event: event, _wall: wall })
    }
}

pub(super) fn nanos(time: Duration) -> u64 {
    time.as_nanos().min(u64::MAX.into()) as u64
}

/// The kernel's clock of a thread's processor time.
struct Event(#[expect(dead_code, reason = "open as long as this lives")] OwnedFd);

impl Event {
    fn start(thread: libc::pid_t, ring: &Ring) -> io::Result<Event> {
        let owner = FileOwner { kind: F_OWNER_TID, thread };
        let event = perf::cpu_clock(thread, ring.period())?;
        let fd = event.as_raw_fd();
        // SAFETY: the calls are as the manual says, for a file that is open.
        unsafe {
            check(libc::fcntl(fd, F_SETOWN_EX, &raw const owner))?;
            check(libc::fcntl(fd, F_SETSIG, SIGNAL))?;
            check(libc::fcntl(fd, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK))?;
        }
        ring.listen_to(fd);
        perf::enable(event.as_fd())?;
        Ok(Event(event))
    }
}

/// A timer of the process that interrupts one thread.
struct WallTimer(libc::timer_t);

// SAFETY: a timer is the process's, and its id a number.
unsafe impl Send for WallTimer {}

impl WallTimer {
    /// Interrupts a thread for the ring with this number.
    fn start(thread: libc::pid_t, number: usize, period: Duration) -> io::Result<WallTimer> {
        // SAFETY: the structures are plain data, filled in as the manual says.
        unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = SIGNAL;
            event.sigev_notify_thread_id = thread;
            event.sigev_value.sival_ptr = ptr::without_provenance_mut(number);
            let mut id: libc::timer_t = ptr::null_mut();
            check(libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut id))?;
            let timer = WallTimer(id);
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

impl Drop for WallTimer {
    fn drop(&mut self) {
        // SAFETY: it is ours.
        unsafe { libc::timer_delete(self.0) };
    }
}
