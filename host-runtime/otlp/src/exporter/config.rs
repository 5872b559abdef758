//! The exporter's configuration.

use super::error::{ErrorKind, Result};
use http::Uri;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Where spans go, and how. [`Settings::config`](super::Settings::config) makes it from OpenTelemetry's environment variables.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// What is sent.
    pub signal: Signal,
    /// The protocol to talk to the Collector.
    pub protocol: Protocol,
    /// The whole address, for HTTP with its path: `http://localhost:4318/v1/traces`. TLS where it begins with `https`.
    pub endpoint: Uri,
    /// Headers that go with each request.
    pub headers: Vec<(String, String)>,
    /// How requests are packed.
    pub compression: Compression,
    /// How long one try of a request may take, from the connection to the answer's last byte.
    pub timeout: Duration,
    /// A file with trusted certificates (PEM), instead of the system's.
    pub certificate: Option<PathBuf>,
    /// A file with our own certificate (PEM), for servers that ask for one, and one with its key.
    pub identity: Option<Identity>,
    /// How long a request is retried. Then it counts as failed, and sending ends. For a live recording, this time begins
    /// at its end.
    pub give_up_after: Duration,
    /// The wait before the second try. Each wait is twice as long as the previous one, at most [`Config::MAX_WAIT`], and randomly up to
    /// a fifth longer or shorter.
    pub first_wait: Duration,
}

/// A client's certificate and key, for servers that ask for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The certificate's file (PEM), with the chain to its issuer.
    pub certificate: PathBuf,
    /// The key's file (PEM).
    pub key: PathBuf,
}

impl Config {
    /// The longest wait between two tries, if the server doesn't ask for a longer one.
    pub const MAX_WAIT: Duration = Duration::from_secs(10);
}

impl Default for Config {
    /// A Collector on this machine, over HTTP.
    fn default() -> Config {
        Config {
            signal: Signal::default(),
            protocol: Protocol::default(),
            endpoint: Uri::from_static("http://localhost:4318/v1/traces"),
            headers: Vec::new(),
            compression: Compression::default(),
            timeout: Duration::from_secs(10),
            certificate: None,
            identity: None,
            give_up_after: Duration::from_secs(60),
            first_wait: Duration::from_millis(500),
        }
    }
}

/// What is sent: one of OpenTelemetry's signals. Each has an address of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// Spans.
    #[default]
    Traces,
    /// Metrics of functions.
    Metrics,
    /// Profiles, in the version under development.
    Profiles,
}

impl Signal {
    /// All of them.
    pub const ALL: [Signal; 3] = [Signal::Traces, Signal::Metrics, Signal::Profiles];

    /// Its path over HTTP.
    pub(super) fn path(self) -> &'static str {
        match self {
            Signal::Traces => "/v1/traces",
            Signal::Metrics => "/v1/metrics",
            Signal::Profiles => "/v1development/profiles",
        }
    }

    /// Its gRPC method. All of them answer with messages that have the same fields.
    pub(super) fn method(self) -> &'static str {
        match self {
            Signal::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            Signal::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
            Signal::Profiles => {
                "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
            }
        }
    }

    /// Its part in the names of environment variables.
    pub(super) fn word(self) -> &'static str {
        match self {
            Signal::Traces => "TRACES",
            Signal::Metrics => "METRICS",
            Signal::Profiles => "PROFILES",
        }
    }
}

/// OTLP's transports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Protobuf over HTTP: port 4318.
    #[default]
    HttpProtobuf,
    /// gRPC: port 4317.
    Grpc,
}

impl FromStr for Protocol {
    type Err = super::Error;

    fn from_str(text: &str) -> Result<Protocol> {
        match text {
            "http/protobuf" => Ok(Protocol::HttpProtobuf),
            "grpc" => Ok(Protocol::Grpc),
            _ => Err(ErrorKind::Protocol(text.to_owned()).into()),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Protocol::HttpProtobuf => "http/protobuf",
            Protocol::Grpc => "grpc",
        })
    }
}

/// How requests are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// gzip: about a tenth of the bytes, for four times the processor time.
    Gzip,
}

impl FromStr for Compression {
    type Err = super::Error;

    fn from_str(text: &str) -> Result<Compression> {
        match text {
            "none" => Ok(Compression::None),
            "gzip" => Ok(Compression::Gzip),
            _ => Err(ErrorKind::Compression(text.to_owned()).into()),
        }
    }
}
