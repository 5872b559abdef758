//! Errors of bytes that are not a trace. Other damage is an [`Anomaly`](crate::Anomaly).

use std::fmt;
use std::io;

/// Why [`TraceReader::new`](crate::TraceReader::new) failed.
#[derive(Debug)]
pub struct Error {
    kind: Box<ErrorKind>,
}

/// What failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input failed.
    Io(io::Error),
    /// The first bytes are not those of a trace.
    NotATrace {
        /// The first bytes, eight at most.
        found: Vec<u8>,
    },
    /// It is a trace of a version that this reader doesn't know.
    Version {
        /// The major version: a reader reads only its own.
        major: u8,
        /// The minor version: a reader reads all of them.
        minor: u8,
    },
}

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
            ErrorKind::Io(error) => error.fmt(f),
            ErrorKind::NotATrace { found } if found.is_empty() => {
                f.write_str("not a kperf trace: it is empty")
            }
            ErrorKind::NotATrace { found } if found.starts_with(b"\0asm") => {
                f.write_str("not a kperf trace: it is a WebAssembly module; `kperf-wasm run` records one")
            }
            ErrorKind::NotATrace { found } => {
                write!(f, "not a kperf trace: it begins with \"{}\" (at offset 0x0)", found.escape_ascii())
            }
            ErrorKind::Version { major, minor } => {
                write!(
                    f,
                    "the trace has format version {major}.{minor}, this reader knows version {}.{} (at offset 0x6)",
                    crate::chunk::MAJOR,
                    crate::chunk::MINOR
                )
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.kind {
            ErrorKind::Io(error) => error.source(),
            _ => None,
        }
    }
}
