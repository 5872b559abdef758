//! Generates the OTLP messages; see Cargo.toml.

use std::error::Error;
use std::fs;
use std::path::Path;

const FILES: [&str; 3] = [
    "opentelemetry/proto/collector/profiles/v1development/profiles_service.proto",
    "opentelemetry/proto/collector/trace/v1/trace_service.proto",
    "opentelemetry/proto/collector/metrics/v1/metrics_service.proto",
];

/// The last words of the packages' names, without the version, and their versions.
const PACKAGES: [(&str, &str); 8] = [
    ("collector.metrics", "v1"),
    ("collector.profiles", "v1development"),
    ("collector.trace", "v1"),
    ("common", "v1"),
    ("metrics", "v1"),
    ("profiles", "v1development"),
    ("resource", "v1"),
    ("trace", "v1"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host-runtime/otlp");
    let made = std::env::temp_dir().join(format!("otlp-proto-{}", std::process::id()));
    fs::create_dir_all(&made)?;
    let files = protox::compile(FILES, [root.join("proto")])?;
    prost_build::Config::new().disable_comments(["."]).out_dir(&made).compile_fds(files)?;
    let mut stale = Vec::new();
    for (package, version) in PACKAGES {
        let name = format!("opentelemetry.proto.{package}.{version}.rs");
        let text = without_impls(&fs::read_to_string(made.join(&name))?);
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

/// Removes the conversions between enumerations and names, which nothing uses. Generated files have no other `impl`.
fn without_impls(text: &str) -> String {
    let mut end = None;
    let mut kept = String::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if end.is_none() && line.trim_start().starts_with("impl ") {
            end = Some(format!("{}}}", &line[..indent]));
        }
        match &end {
            None => kept.extend([line, "\n"]),
            Some(last) if line == last => end = None,
            Some(_) => {}
        }
    }
    kept
}
