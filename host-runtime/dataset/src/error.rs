//! Errors of datasets.

use std::error::Error as StdError;
use std::fmt;

/// Why a run isn't in a dataset, or why a dataset can't be read. The message says what failed, with which file, and what to do.
/// Its sources say why.
#[derive(Debug)]
pub struct Error {
    text: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error without a cause.
    pub fn new(text: impl Into<String>) -> Error {
        Error { text: text.into(), source: None }
    }

    /// An error with its cause.
    pub fn because(text: impl Into<String>, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        Error { text: text.into(), source: Some(source.into()) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

/// Adds the failed step to an error.
pub(crate) trait Context<T> {
    fn context_with(self, text: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Box<dyn StdError + Send + Sync>>> Context<T> for std::result::Result<T, E> {
    fn context_with(self, text: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::because(text(), error))
    }
}
