//! What ends `tui` or stops it, other than its keys: signals, and a terminal that goes away.

use std::io;

/// Something that isn't a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// This signal ends the program.
    End(i32),
    /// The user stops the program for a while, as Ctrl-Z does.
    Stop,
    /// The program goes on, in a terminal that others used.
    GoOn,
}

/// Notes signals, and ends the process when its terminal is gone.
pub struct Interrupts {
    #[cfg(unix)]
    signals: signal_hook::iterator::Signals,
}

impl Interrupts {
    #[cfg(unix)]
    pub fn new() -> io::Result<Interrupts> {
        use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
        let signals = [SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP];
        let signals = signal_hook::iterator::Signals::new(signals)?;
        std::thread::Builder::new().name("kperf-terminal".into()).spawn(end_without_terminal)?;
        Ok(Interrupts { signals })
    }

    #[cfg(not(unix))]
    pub fn new() -> io::Result<Interrupts> {
        Ok(Interrupts {})
    }

    /// What came since the last call.
    pub fn next(&mut self) -> Option<Interrupt> {
        #[cfg(unix)]
        if let Some(signal) = self.signals.pending().next() {
            return Some(match signal {
                signal_hook::consts::SIGTSTP => Interrupt::Stop,
                signal_hook::consts::SIGCONT => Interrupt::GoOn,
                signal => Interrupt::End(signal),
            });
        }
        None
    }
}

/// Who reads keys from a terminal that has gone reads nothing, again and again, and never comes back to look for signals.
#[cfg(unix)]
fn end_without_terminal() {
    use std::io::IsTerminal;
    while io::stdin().is_terminal() {
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    signal_hook::low_level::exit(128 + signal_hook::consts::SIGHUP);
}

/// Stops this process until somebody lets it go on.
pub fn stop() -> io::Result<()> {
    #[cfg(unix)]
    signal_hook::low_level::raise(signal_hook::consts::SIGSTOP)?;
    Ok(())
}
