//! SIGINT and SIGTERM end the server in order; the second of them ends the process at once.

use tokio::sync::oneshot::{self, Receiver};

/// What is told when a signal comes.
#[cfg(unix)]
pub fn watch() -> anyhow::Result<Receiver<()>> {
    use anyhow::Context;
    use signal_hook::consts::{SIGINT, SIGTERM};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    let ending = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, ending.clone())
            .context("failed to handle signals")?;
    }
    let mut signals =
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).context("failed to handle signals")?;
    let (sender, receiver) = oneshot::channel();
    let wait = move || {
        if signals.forever().next().is_some() {
            ending.store(true, Ordering::Relaxed);
            // Nobody waits where the server failed meanwhile.
            let _ = sender.send(());
        }
    };
    std::thread::Builder::new()
        .name("kperf-signals".into())
        .spawn(wait)
        .context("failed to start a thread")?;
    Ok(receiver)
}

/// Signals are not handled here: they end the process, and what pages sent is in the files.
#[cfg(not(unix))]
pub fn watch() -> anyhow::Result<Receiver<()>> {
    let (sender, receiver) = oneshot::channel();
    std::mem::forget(sender);
    Ok(receiver)
}
