//! The resource and the scope of every request.

use crate::attribute::{double, int, string, strings};
use crate::options::ResourceOptions;
use crate::proto::common::v1::{InstrumentationScope, KeyValue};
use crate::proto::resource::v1::Resource;
use kperf_abi::symbols::ModuleIdentity;
use kperf_profile::Symbols;
use kperf_trace::{ClockKind, Header};

/// The semantic conventions that the attributes are named by.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.37.0";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The instrumentation scope of all spans.
pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope { name: "kperf-wasm".into(), version: VERSION.into(), ..Default::default() }
}

/// The module, the host, the process.
pub(crate) fn resource(header: &Header, symbols: &Symbols, options: &ResourceOptions) -> Resource {
    let module = symbols.tables().first().map(|table| &table.module);
    let mut attributes = vec![string("service.name", &service_name(module, options))];
    attributes.extend([
        string("telemetry.sdk.name", "kperf"),
        string("telemetry.sdk.language", "rust"),
        string("telemetry.sdk.version", VERSION),
    ]);
    let host = &header.host;
    if host.pid != 0 {
        attributes.push(int("process.pid", host.pid.into()));
    }
    if !header.command.is_empty() {
        attributes.push(strings("process.command_args", &header.command));
    }
    let module_name = module.map_or("", |module| module.name.as_str());
    let sha256 = module.map_or("", |module| module.sha256.as_str());
    for (key, text) in [
        ("os.type", os_type(&host.os)),
        ("host.arch", arch(&host.arch)),
        ("kperf.host.name", &host.name),
        ("kperf.host.version", &host.version),
        ("kperf.module.name", module_name),
        ("kperf.module.sha256", sha256),
    ] {
        if !text.is_empty() {
            attributes.push(string(key, text));
        }
    }
    let clock = match header.clock.kind {
        ClockKind::Precise => "precise",
        ClockKind::Ticker => "ticker",
        ClockKind::Instructions => "instructions",
    };
    attributes.push(string("kperf.clock.kind", clock));
    attributes.push(string("kperf.clock.source", &header.clock.source));
    attributes.push(double("kperf.clock.resolution", header.clock.resolution_nanos / 1e9));
    for (key, text) in &options.attributes {
        // The service's own option is stronger, as `OTEL_SERVICE_NAME` is than `OTEL_RESOURCE_ATTRIBUTES`.
        if key == "service.name" && options.service_name.is_some() {
            continue;
        }
        put(&mut attributes, string(key, text));
    }
    Resource { attributes, ..Resource::default() }
}

/// The name of the service: the user's, or the module's.
pub(crate) fn service_name(module: Option<&ModuleIdentity>, options: &ResourceOptions) -> String {
    let module = module.map(|module| module.name.clone()).filter(|name| !name.is_empty());
    options.service_name.clone().or(module).unwrap_or_else(|| "unknown_service".into())
}

/// Adds an attribute, or replaces the one of this key.
fn put(attributes: &mut Vec<KeyValue>, attribute: KeyValue) {
    match attributes.iter_mut().find(|other| other.key == attribute.key) {
        Some(other) => *other = attribute,
        None => attributes.push(attribute),
    }
}

/// The conventions' name of an operating system, from Rust's.
fn os_type(os: &str) -> &str {
    match os {
        "macos" | "ios" => "darwin",
        "dragonfly" => "dragonflybsd",
        other => other,
    }
}

/// The conventions' name of a processor.
fn arch(arch: &str) -> &str {
    match arch {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "arm" => "arm32",
        "powerpc" => "ppc32",
        "powerpc64" => "ppc64",
        other => other,
    }
}
