//! SIGINT, SIGTERM and SIGHUP: the first one lets the process finish its work, a second one ends it at once.

use std::process::ExitCode;

/// A signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal(i32);

impl Signal {
    /// Its name, such as `SIGINT`.
    pub fn name(self) -> &'static str {
        // POSIX fixes these numbers.
        match self.0 {
            1 => "SIGHUP",
            2 => "SIGINT",
            _ => "SIGTERM",
        }
    }

    /// The exit code of a process that this signal ended.
    pub fn code(self) -> ExitCode {
        ExitCode::from(128_u8.saturating_add(self.0 as u8))
    }

    /// Ends the process with that code.
    pub fn exit(self) -> ! {
        // The standard library's `exit` would wait for a guest that is stuck in a write to stdout.
        #[cfg(unix)]
        signal_hook::low_level::exit(128 + self.0);
        #[cfg(not(unix))]
        std::process::exit(128 + self.0)
    }
}

/// Starts a thread that waits for the first signal and calls `answer` with it.
#[cfg(unix)]
pub fn watch(answer: impl FnOnce(Signal) + Send + 'static) -> anyhow::Result<()> {
    use anyhow::Context;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    let ending = Arc::new(AtomicBool::new(false));
    let mut wanted = vec![SIGINT, SIGTERM];
    if !ignores_hangup() {
        wanted.push(SIGHUP);
    }
    for &signal in &wanted {
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, ending.clone())
            .context("failed to handle signals")?;
    }
    let mut signals = signal_hook::iterator::Signals::new(wanted).context("failed to handle signals")?;
    let wait = move || {
        let Some(signal) = signals.forever().next() else { return };
        ending.store(true, Ordering::Relaxed);
        answer(Signal(signal));
    };
    std::thread::Builder::new()
        .name("kperf-signals".into())
        .spawn(wait)
        .context("failed to start a thread")?;
    Ok(())
}

/// Starts a thread that calls `answer` at each SIGUSR1.
#[cfg(unix)]
pub fn at_user_signal(answer: impl Fn() + Send + 'static) -> anyhow::Result<()> {
    use anyhow::Context;
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGUSR1])
        .context("failed to handle signals")?;
    let wait = move || signals.forever().for_each(|_| answer());
    let thread = std::thread::Builder::new().name("kperf-dumps".into()).spawn(wait);
    thread.map(drop).context("failed to start a thread")
}

/// This system has no such signal.
#[cfg(not(unix))]
pub fn at_user_signal(_answer: impl Fn() + Send + 'static) -> anyhow::Result<()> {
    Ok(())
}

/// Whether the process was started to outlive its terminal, as `nohup` does. Then a hangup must not end it. Where that isn't known, it
/// counts as true.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The lowest bit is signal 1.
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_none_or(|mask| mask & 1 != 0)
}

/// On this system signals end the process. Its files keep what was written.
#[cfg(not(unix))]
pub fn watch(answer: impl FnOnce(Signal) + Send + 'static) -> anyhow::Result<()> {
    // If `answer` were dropped, a channel in it would close, and its receiver would take that for a signal.
    std::mem::forget(answer);
    Ok(())
}

/// Waits for the end of the process.
pub fn wait() -> ! {
    loop {
        std::thread::park();
    }
}
