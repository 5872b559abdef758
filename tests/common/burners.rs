//! Makes the machine busy.
#![allow(unreachable_pub)]

use std::io;
use std::process::{Child, Command, Stdio};

/// Processes that only use a processor, until this is dropped.
pub struct Burners(Vec<Child>);

impl Burners {
    /// Starts this number of processes.
    pub fn start(count: usize) -> io::Result<Burners> {
        let mut burners = Burners(Vec::new());
        for _ in 0..count {
            burners
                .0
                .push(Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn()?);
        }
        Ok(burners)
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        for burner in &mut self.0 {
            // The process may have ended already.
            let _ = burner.kill();
            let _ = burner.wait();
        }
    }
}
