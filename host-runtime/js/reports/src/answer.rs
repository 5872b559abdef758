//! Answers to JavaScript, and errors.

use kperf_js_exports::text_of;
use serde::Serialize;
use std::error::Error;

/// What is said beside the product.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// What makes the figures doubtful.
    pub warnings: Vec<String>,
    /// How many calls the product is of.
    pub calls: u64,
    /// How many of them are in it one by one, or together with their neighbours.
    pub shown: u64,
    /// The finest level's resolution, in nanoseconds or instructions; 0 if every call is shown by itself. Or the shortest call in a chart.
    pub resolution: u64,
}

/// Why something can't be made, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(pub String);

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(text_of(&error))
    }
}
