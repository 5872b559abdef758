//! Writes to stdout and stderr. `product.rs` writes files.

use anyhow::Context;
use std::fmt::Display;
use std::io::{ErrorKind, Write};

/// Whether the error only says that the reader of our stdout has gone.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}

/// Writes the text to stdout.
pub fn print(text: &str) -> anyhow::Result<()> {
    std::io::stdout().lock().write_all(text.as_bytes()).context("failed to write to stdout")
}

/// Prints a line on stderr, or nothing if stderr is closed. Control characters, which names of modules may have, are escaped.
pub fn status(text: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{}", safe(&text.to_string()));
}

/// Prints a warning on stderr.
pub fn warn(text: impl Display) {
    status(format_args!("warning: {text}"));
}

/// Prints on stderr what the user may do for a better result.
pub fn hint(text: impl Display) {
    status(format_args!("hint: {text}"));
}

/// Prints an error on stderr.
pub fn error(text: impl Display) {
    status(format_args!("error: {text}"));
}

/// Text of several lines that is safe for a terminal.
pub fn safe(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(kperf_profile::printable).collect();
    lines.join("\n")
}
