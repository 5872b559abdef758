//! Errors of starting to send. Errors while sending are in the [`Delivery`](super::Delivery).

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why an exporter could not be started.
#[derive(Debug)]
pub struct Error {
    kind: Box<ErrorKind>,
}

/// What failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The address can't be used.
    Endpoint {
        /// What was given.
        endpoint: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// OTLP doesn't have this protocol, or this crate doesn't speak it.
    Protocol(String),
    /// This crate doesn't have this compression.
    Compression(String),
    /// The time limit is not a number of milliseconds.
    Timeout(String),
    /// A variable of the environment has no meaning.
    Variable {
        /// Its name.
        name: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// An entry of a list isn't a name and a value.
    Pair(String),
    /// A pair in which a percent sign is not followed by two digits, or that is not UTF-8.
    PercentEncoding(String),
    /// A header with an invalid name or value.
    Header(String),
    /// A client's certificate without its key, or the other way round.
    HalfIdentity,
    /// A certificate or key that can't be read.
    Pem {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A part of the TLS configuration is missing, or doesn't match.
    Tls(String),
    /// A file or a thread could not be created.
    Io(io::Error),
}

/// `Result` with this module's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// What failed.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Error {
        Error { kind: Box::new(kind) }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        ErrorKind::Io(error).into()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            ErrorKind::Endpoint { endpoint, what } => {
                write!(f, "`{endpoint}` is not an endpoint: {what}")
            }
            ErrorKind::Variable { name, what } => {
                write!(f, "failed to read {name} of the environment: {what}")
            }
            ErrorKind::Protocol(text) if text == "http/json" => {
                f.write_str("the protocol http/json is not supported; use http/protobuf or grpc")
            }
            ErrorKind::Protocol(text) => {
                write!(f, "`{text}` is not a protocol of OTLP; use http/protobuf or grpc")
            }
            ErrorKind::Compression(text) => write!(f, "`{text}` is not a compression; use gzip or none"),
            ErrorKind::Timeout(text) => {
                write!(f, "`{text}` is not a time limit; give milliseconds, such as 10000")
            }
            ErrorKind::Pair(text) => write!(f, "`{text}` is not a pair; give NAME=VALUE"),
            ErrorKind::PercentEncoding(text) => write!(f, "`{text}` is badly percent-encoded"),
            ErrorKind::Header(name) => {
                write!(f, "the header `{name}` is not valid in HTTP")
            }
            ErrorKind::HalfIdentity => {
                f.write_str("a client certificate and its key belong together; one of them is missing")
            }
            ErrorKind::Pem { path, what } => write!(f, "failed to read `{}`: {what}", path.display()),
            ErrorKind::Tls(what) => write!(f, "failed to set up TLS: {what}"),
            ErrorKind::Io(_) => f.write_str("failed to start sending"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.kind {
            ErrorKind::Io(error) => Some(error),
            _ => None,
        }
    }
}
