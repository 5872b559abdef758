//! Where spans go, and how.

use super::error::{ErrorKind, Result};
use http::Uri;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Where spans go, and how. [`Settings::config`](super::Settings::config) makes one of what OpenTelemetry's environment
/// variables say.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How the Collector is talked to.
    pub protocol: Protocol,
    /// The whole address, for HTTP with its path: `http://localhost:4318/v1/traces`. TLS where it begins with `https`.
    pub endpoint: Uri,
    /// Sent with each request.
    pub headers: Vec<(String, String)>,
    /// How requests are packed.
    pub compression: Compression,
    /// How long one try of a request may take, from the connection to the answer's last byte.
    pub timeout: Duration,
    /// A file with the certificates (PEM) that are trusted, in place of the system's.
    pub certificate: Option<PathBuf>,
    /// A file with our own certificate (PEM), for servers that ask for one, and one with its key.
    pub identity: Option<Identity>,
    /// How long a request is tried again before it counts as failed, and sending ends. While a recording is live, this
    /// counts from its end.
    pub give_up_after: Duration,
    /// The wait before the second try; each wait is twice the one before it, at most [`Config::MAX_WAIT`], give or take a
    /// fifth by chance.
    pub first_wait: Duration,
}

/// What a client shows to a server that asks who it is.
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
