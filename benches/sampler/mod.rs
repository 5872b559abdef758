//! A native sampler: it interrupts a thread at fixed intervals and notes in which function of a module it was.
//!
//! While the thread is in the kernel, a signal can't be delivered; it then also stands for those that would have come meanwhile.
//!
//! What the engine does for a function (grow or copy its memory) counts as the function's time, since the function is on the stack
//! then. Time of host functions belongs to none, if the sampler knows which these are.
// A signal handler and the registers that it is given.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use wasmtime::Module;

/// Not a divisor of anything that the guest does regularly.
const PERIOD_NANOS: i64 = 97_111;
const ROOM: usize = 1 << 16;

/// How many places on the stack are kept of a sample, as a trampoline's may be before the function's, and how many words are
/// looked through for them.
const PLACES: usize = 4;
const WORDS: usize = 4096;

/// The timer whose signals they are.
static TIMER: AtomicPtr<libc::c_void> = AtomicPtr::new(std::ptr::null_mut());
/// How many periods each sample stands for.
static WEIGHTS: [AtomicUsize; ROOM] = [const { AtomicUsize::new(0) }; ROOM];
static ADDRESSES: [[AtomicUsize; PLACES]; ROOM] = [const { [const { AtomicUsize::new(0) }; PLACES] }; ROOM];
/// Whether the thread is in a host function, where that is said.
static IN_HOST: AtomicBool = AtomicBool::new(false);
/// Where the thread's stack ends.
static STACK_END: AtomicUsize = AtomicUsize::new(0);
/// Where the module's code begins and ends.
static CODE: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
static COUNT: AtomicUsize = AtomicUsize::new(0);

pub(crate) struct Sampler {
    timer: libc::timer_t,
    /// Who handled the signal before, and shall again.
    before: libc::sigaction,
}

extern "C" fn note(_signal: i32, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel gives a handler of SA_SIGINFO the interrupted context.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    let [begin, end] = CODE.each_ref().map(|bound| bound.load(Ordering::Relaxed));
    if IN_HOST.load(Ordering::Relaxed) {
        return;
    }
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let (Some(places), Some(weight)) = (ADDRESSES.get(count), WEIGHTS.get(count)) else { return };
    // SAFETY: the timer is there while it sends signals.
    let overrun = unsafe { libc::timer_getoverrun(TIMER.load(Ordering::Relaxed)) };
    weight.store(1 + overrun.max(0) as usize, Ordering::Relaxed);
    let [pc, sp] =
        [libc::REG_RIP, libc::REG_RSP].map(|register| context.uc_mcontext.gregs[register as usize] as usize);
    let stack = sp as *const usize;
    let above = STACK_END.load(Ordering::Relaxed).saturating_sub(sp) / size_of::<usize>();
    // SAFETY: they are on the stack. A word that is no return address is not in the code, or was one.
    let words = (0..above.min(WORDS)).map(|n| unsafe { stack.add(n).read_volatile() });
    let mut found = std::iter::once(pc).chain(words).filter(|word| (begin..end).contains(word));
    for place in places {
        let address = found.next().unwrap_or(0);
        place.store(address, Ordering::Relaxed);
        if address == pc {
            break;
        }
    }
}

impl Sampler {
    /// For this thread, until it is stopped.
    pub(crate) fn start(module: &Module) -> std::io::Result<Sampler> {
        COUNT.store(0, Ordering::Relaxed);
        Self::set_in_host(false);
        let code = module.text().as_ptr_range();
        for (bound, address) in CODE.iter().zip([code.start, code.end]) {
            bound.store(address as usize, Ordering::Relaxed);
        }
        // SAFETY: all structures are plain data, filled in as the manual says; the handler only touches atomics.
        unsafe {
            let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
            let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
            check(libc::pthread_getattr_np(libc::pthread_self(), &mut attributes))?;
            check(libc::pthread_attr_getstack(&attributes, &mut lowest, &mut size))?;
            check(libc::pthread_attr_destroy(&mut attributes))?;
            STACK_END.store(lowest as usize + size, Ordering::Relaxed);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
            let mut before: libc::sigaction = std::mem::zeroed();
            check(libc::sigaction(libc::SIGPROF, &action, &mut before))?;
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGPROF;
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer: libc::timer_t = std::mem::zeroed();
            check(libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer))?;
            TIMER.store(timer, Ordering::Relaxed);
            let period = libc::timespec { tv_sec: 0, tv_nsec: PERIOD_NANOS };
            let times = libc::itimerspec { it_interval: period, it_value: period };
            check(libc::timer_settime(timer, 0, &times, std::ptr::null_mut()))?;
            Ok(Sampler { timer, before })
        }
    }

    /// The thread enters a host function, or leaves it.
    pub(crate) fn set_in_host(in_host: bool) {
        IN_HOST.store(in_host, Ordering::Relaxed);
    }

    /// For how many periods the thread was in each of the module's functions, by its index.
    pub(crate) fn stop(self, module: &Module) -> BTreeMap<u32, u64> {
        // SAFETY: the timer is ours, and the handler is one that was there. (Nobody's is no handler: a signal may be on its way.)
        unsafe {
            libc::timer_delete(self.timer);
            if ![libc::SIG_DFL, libc::SIG_IGN].contains(&self.before.sa_sigaction) {
                libc::sigaction(libc::SIGPROF, &self.before, std::ptr::null_mut());
            }
        }
        let text = module.text().as_ptr() as usize;
        let mut functions: Vec<(usize, usize, u32)> = module
            .functions()
            .map(|function| (text + function.offset, function.len, function.index.as_u32()))
            .collect();
        functions.sort_unstable();
        let function_at = |address: usize| {
            let before = functions.partition_point(|(begin, ..)| *begin <= address).checked_sub(1)?;
            let &(begin, length, index) = functions.get(before)?;
            (address < begin + length).then_some(index)
        };
        let mut counts = BTreeMap::new();
        for (places, weight) in ADDRESSES.iter().zip(&WEIGHTS).take(COUNT.load(Ordering::Relaxed)) {
            // All of them: a later sample may have fewer.
            let places = places.each_ref().map(|place| place.swap(0, Ordering::Relaxed));
            if let Some(index) = places.into_iter().find_map(function_at) {
                *counts.entry(index).or_default() += weight.load(Ordering::Relaxed) as u64;
            }
        }
        counts
    }
}

/// How often this thread was put aside for another.
pub(crate) fn switches() -> i64 {
    // SAFETY: plain data, which the call fills in.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage.ru_nivcsw
    }
}

fn check(result: i32) -> std::io::Result<()> {
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
