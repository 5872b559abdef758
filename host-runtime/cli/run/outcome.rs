//! How the guest ended.

use super::names::Names;
use super::program::FRAMES;
use crate::shared::output;
use kperf_abi::names::EXPORT_PREFIX;
use std::borrow::Borrow;
use std::fmt;
use std::process::ExitCode;
use wasmtime::{FrameInfo, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

/// The exit code after a trap: an aborted process, as for the command `wasmtime`.
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
    /// Asks for the functions' names only if some were open.
    pub fn of<N: Borrow<Names>>(result: &wasmtime::Result<()>, names: impl FnOnce() -> N) -> Outcome {
        let Err(error) = result else { return Outcome::Completed };
        if let Some(exit) = error.downcast_ref::<I32Exit>() {
            return Outcome::Exit(exit.0);
        }
        let frames =
            error.downcast_ref::<WasmBacktrace>().map(|backtrace| frames(backtrace, names().borrow()));
        if let Some(trap) = error.downcast_ref::<Trap>() {
            return Outcome::Trap(trap.to_string(), frames.unwrap_or_default());
        }
        match frames {
            Some(frames) => Outcome::Failed(error.root_cause().to_string(), frames),
            None => Outcome::NotStarted,
        }
    }

    /// Prints the guest's error, if it ended with one. Returns the exit code, or the error if the guest never started.
    pub fn report(&self, result: wasmtime::Result<()>) -> anyhow::Result<ExitCode> {
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
        output::error(format_args!("{}", self.message()));
        Ok(code)
    }

    /// The error, and a line for each open function.
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
fn frames(backtrace: &WasmBacktrace, names: &Names) -> Vec<String> {
    let guest = backtrace.frames().iter().filter(|frame| {
        let inside = frame.func_name().is_some_and(|name| name.starts_with(EXPORT_PREFIX));
        frame.module().name() != Some("kperf_recorder") && !inside
    });
    let text = |frame: &FrameInfo| {
        let name = names.name(frame.module(), frame.func_index(), frame.func_name());
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
