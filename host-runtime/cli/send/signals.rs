//! SIGINT and SIGTERM end a sending in order; the second of them ends the process at once.

use kperf_otlp::exporter::Stopper;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Whether a signal came, and which.
pub struct Signal(Arc<AtomicI32>);

impl Signal {
    /// The exit code that tells of it.
    pub fn code(&self) -> Option<ExitCode> {
        match self.0.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(ExitCode::from(128_u8.saturating_add(signal as u8))),
        }
    }
}

/// Starts a thread that waits for a signal.
#[cfg(unix)]
pub fn watch(stopper: Stopper) -> anyhow::Result<Signal> {
    use anyhow::Context;
    use signal_hook::consts::{SIGINT, SIGTERM};
    use std::sync::atomic::AtomicBool;

    let ending = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, ending.clone())
            .context("failed to handle signals")?;
    }
    let mut signals =
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).context("failed to handle signals")?;
    let came = Arc::new(AtomicI32::new(0));
    let (told, thread) = (came.clone(), std::thread::Builder::new().name("kperf-signals".into()));
    let wait = move || {
        let Some(signal) = signals.forever().next() else { return };
        ending.store(true, Ordering::Relaxed);
        told.store(signal, Ordering::SeqCst);
        stopper.stop();
    };
    thread.spawn(wait).context("failed to start a thread")?;
    Ok(Signal(came))
}

/// Signals are not handled here.
#[cfg(not(unix))]
pub fn watch(_: Stopper) -> anyhow::Result<Signal> {
    Ok(Signal(Arc::new(AtomicI32::new(0))))
}
