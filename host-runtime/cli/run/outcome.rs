//! How the guest ended, and what the user is told about it.

use super::guest::FRAMES;
use super::module::Prepared;
use crate::output::tell;
use kperf_abi::names::EXPORT_PREFIX;
use std::fmt;
use std::process::ExitCode;
use wasmtime::{FrameInfo, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

/// The exit code after a trap: that of a process that was aborted, as the command `wasmtime` has it.
const ABORTED: u8 = 134;

/// How the guest ended.
pub enum Outcome {
    Completed,
    Exit(i32),
    /// The trap's message, and the frames that were open.
    Trap(String, Vec<String>),
    /// A host function failed, or an exception left the guest.
    Failed(String, Vec<String>),
    /// The guest was never called.
    NotStarted,
}

impl Outcome {
    pub fn of(result: &wasmtime::Result<()>, prepared: &Prepared) -> Outcome {
        let Err(error) = result else { return Outcome::Completed };
        if let Some(exit) = error.downcast_ref::<I32Exit>() {
            return Outcome::Exit(exit.0);
        }
        let frames = error.downcast_ref::<WasmBacktrace>().map(|backtrace| frames(backtrace, prepared));
        if let Some(trap) = error.downcast_ref::<Trap>() {
            return Outcome::Trap(trap.to_string(), frames.unwrap_or_default());
        }
        match frames {
            Some(frames) => Outcome::Failed(error.root_cause().to_string(), frames),
            None => Outcome::NotStarted,
        }
    }

    /// Prints the guest's error, if it ended with one. Returns the exit code, or the error if the guest never started.
    pub fn tell(&self, result: wasmtime::Result<()>) -> anyhow::Result<ExitCode> {
        let code = match self {
            Outcome::Completed => return Ok(ExitCode::SUCCESS),
            Outcome::Exit(code) => return Ok(ExitCode::from(*code as u8)),
            Outcome::NotStarted => {
                result.map_err(anyhow::Error::from)?;
                return Ok(ExitCode::SUCCESS);
            }
            Outcome::Trap(..) => ExitCode::from(ABORTED),
            Outcome::Failed(..) => ExitCode::FAILURE,
        };
        tell(format_args!("error: {}", self.message()));
        Ok(code)
    }

    /// What the user is told: the error, and the functions that were open, a line for each.
    pub fn message(&self) -> String {
        match self {
            Outcome::Trap(message, frames) | Outcome::Failed(message, frames) => {
                let mut text = message.clone();
                for (n, frame) in frames.iter().enumerate() {
                    text.push_str(&format!("\n{n:>5}: {frame}"));
                }
                text
            }
            ended => ended.to_string(),
        }
    }
}

impl fmt::Display for Outcome {
    /// The text that the trace's summary gets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Completed => f.write_str("completed"),
            Outcome::Exit(code) => write!(f, "exit {code}"),
            Outcome::Trap(message, _) => f.write_str(&message.replacen("wasm trap: ", "trap: ", 1)),
            Outcome::Failed(message, _) => write!(f, "failed: {message}"),
            Outcome::NotStarted => f.write_str("not started"),
        }
    }
}

/// The guest's open functions, innermost first, without the recorder's own.
fn frames(backtrace: &WasmBacktrace, prepared: &Prepared) -> Vec<String> {
    let names = prepared.names();
    let guest = backtrace.frames().iter().filter(|frame| {
        let inside = frame.func_name().is_some_and(|name| name.starts_with(EXPORT_PREFIX));
        frame.module().name() != Some("kperf_recorder") && !inside
    });
    let text = |frame: &FrameInfo| {
        let name = names.of(frame.module(), frame.func_index(), frame.func_name());
        // wasmtime reads debug information if `WASMTIME_BACKTRACE_DETAILS=1` asks for it.
        let place = frame.symbols().first().and_then(|symbol| Some((symbol.file()?, symbol.line()?)));
        place.map_or(name.clone(), |(file, line)| format!("{name} at {file}:{line}"))
    };
    let mut frames: Vec<String> = guest.map(text).collect();
    if backtrace.frames().len() >= FRAMES {
        frames.push("and more".to_owned());
    }
    frames
}
