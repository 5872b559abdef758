//! Answers to JavaScript, and errors.

use kperf_js_exports::text_of;
use serde::Serialize;
use std::error::Error;

/// Figures and warnings of a product.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Warnings of doubtful figures.
    pub warnings: Vec<String>,
    /// The number of calls, or of functions in a comparison.
    pub calls: u64,
    /// The number of those that are shown, one by one or merged with neighbours.
    pub shown: u64,
    /// The finest level's resolution, in nanoseconds or instructions; 0 if every call is shown by itself. In a chart, the minimum length of a call.
    pub resolution: u64,
}

/// A message for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(pub String);

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(text_of(&error))
    }
}
