//! SIGINT and SIGTERM: the trace is finished before the process ends.

use kperf_wasmtime::Recorder;

/// Starts a thread that waits for a signal. On the first it finishes the trace, calls `show` and ends the process; on a
/// second one meanwhile the process ends at once.
#[cfg(unix)]
pub fn watch(recorder: &Recorder, show: impl Fn() + Send + 'static) -> anyhow::Result<()> {
    use crate::output::tell;
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
    let recorder = recorder.clone();
    let thread = move || {
        let Some(signal) = signals.forever().next() else { return };
        ending.store(true, Ordering::Relaxed);
        let name = if signal == SIGINT { "SIGINT" } else { "SIGTERM" };
        match recorder.interrupt(&format!("interrupted by {name}")) {
            Ok(_) => show(),
            // The guest ended at the same moment: the trace is finished.
            Err(error) if matches!(error.kind(), kperf_wasmtime::ErrorKind::Finished) => {}
            Err(error) => tell(format_args!("error: {:#}", anyhow::Error::from(error))),
        }
        // Not `std::process::exit`: it would wait for a guest that is stuck in a write to stdout.
        signal_hook::low_level::exit(128 + signal);
    };
    std::thread::Builder::new()
        .name("kperf-signals".into())
        .spawn(thread)
        .context("failed to start a thread")?;
    Ok(())
}

/// Signals are not handled here.
#[cfg(not(unix))]
pub fn watch(_: &Recorder, _: impl Fn() + Send + 'static) -> anyhow::Result<()> {
    Ok(())
}

/// Waits for the end of the process.
pub fn wait() -> ! {
    loop {
        std::thread::park();
    }
}
