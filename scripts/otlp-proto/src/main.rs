//! Generates the OTLP messages; see Cargo.toml.

use std::error::Error;
use std::fs;
use std::path::Path;

const FILES: [&str; 2] = [
    "opentelemetry/proto/collector/trace/v1/trace_service.proto",
    "opentelemetry/proto/collector/metrics/v1/metrics_service.proto",
];

/// Of the six packages, the last two words.
const PACKAGES: [&str; 6] =
    ["collector.metrics", "collector.trace", "common", "metrics", "resource", "trace"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host-runtime/otlp");
    let made = std::env::temp_dir().join(format!("otlp-proto-{}", std::process::id()));
    fs::create_dir_all(&made)?;
    let files = protox::compile(FILES, [root.join("proto")])?;
    prost_build::Config::new().disable_comments(["."]).out_dir(&made).compile_fds(files)?;
    let mut stale = Vec::new();
    for package in PACKAGES {
        let name = format!("opentelemetry.proto.{package}.v1.rs");
        let text = fs::read_to_string(made.join(&name))?;
        let path = root.join("src/proto").join(format!("{}.rs", package.replace('.', "_")));
        if std::env::args().any(|arg| arg == "--check") {
            if fs::read_to_string(&path)? != text {
                stale.push(path.display().to_string());
            }
        } else {
            fs::write(path, text)?;
        }
    }
    fs::remove_dir_all(&made)?;
    if stale.is_empty() { Ok(()) } else { Err(format!("not as generated: {}", stale.join(", ")).into()) }
}
