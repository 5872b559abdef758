//! Writes to stdout and stderr. `product.rs` writes what may be a file.

use anyhow::Context;
use std::io::{ErrorKind, Write};

/// Whether the error only says that nobody reads our stdout any more.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}

/// Writes the text to stdout.
pub fn print(text: &str) -> anyhow::Result<()> {
    std::io::stdout().lock().write_all(text.as_bytes()).context("failed to write to stdout")
}

/// Prints a line on stderr. If stderr is closed, nothing happens. What files say, such as the names of modules, can't move the
/// cursor or ring.
pub fn tell(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "{}", safe(&text.to_string()));
}

/// Text of several lines that is safe for a terminal.
pub fn safe(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(kperf_profile::printable).collect();
    lines.join("\n")
}
