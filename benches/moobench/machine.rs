//! Describes the machine on which the figures were measured.

use crate::tools::{self, Tools};
use std::path::Path;

/// Lines for the report: a name, and what is to be said.
pub(crate) fn describe(tools: &Tools) -> Vec<(&'static str, String)> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let processor = field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory = field("/proc/meminfo", "MemTotal").unwrap_or_default();
    let system =
        field_with("/etc/os-release", "PRETTY_NAME", '=').unwrap_or_else(|| std::env::consts::OS.to_owned());
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut lines = vec![
        ("processor", format!("{processor}, {threads} of it visible")),
        ("memory", memory),
        ("system", format!("{}, Linux {}", system.trim_matches('"'), kernel.trim())),
        ("load", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim().to_owned()),
        ("wasmtime", "48, Cranelift".to_owned()),
    ];
    let versions = [
        ("node", tools.node.as_deref(), "--version"),
        ("java", tools.java.as_ref().map(|_| Path::new("java")), "-version"),
        ("rustc", Some(Path::new("rustc")), "--version"),
    ];
    for (name, program, flag) in versions {
        if let Some(version) = program.and_then(|program| tools::version(program, flag)) {
            lines.push((name, version));
        }
    }
    for (name, jar) in [("Kieker", &tools.kieker), ("OpenTelemetry", &tools.opentelemetry)] {
        if let Some(file) = jar.as_ref().and_then(|jar| jar.file_name()) {
            lines.push((name, file.to_string_lossy().into_owned()));
        }
    }
    lines
}

fn field(path: &str, name: &str) -> Option<String> {
    field_with(path, name, ':')
}

fn field_with(path: &str, name: &str, separator: char) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(separator)?.1.trim().to_owned())
}
