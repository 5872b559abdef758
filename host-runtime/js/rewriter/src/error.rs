//! Why a module stays without probes.

use kperf_rewriter::ErrorKind;
use std::fmt;

/// Why a module stays without probes. Messages name the options of [`Options`](crate::Options).
#[derive(Debug)]
pub enum Error {
    /// Two options exclude each other.
    Options(&'static str),
    /// The rewriter's error.
    Rewriter(kperf_rewriter::Error),
}

impl From<kperf_rewriter::Error> for Error {
    fn from(error: kperf_rewriter::Error) -> Error {
        Error::Rewriter(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Options(message) => f.write_str(message),
            Error::Rewriter(error) => {
                let hint = match error.kind() {
                    ErrorKind::SwitchesStacks { .. } => "; leave them out with `skip`",
                    ErrorKind::SideModule { .. } => " (`probe`: `import`)",
                    _ => "",
                };
                write!(f, "{error}{hint}")
            }
        }
    }
}

impl std::error::Error for Error {}
