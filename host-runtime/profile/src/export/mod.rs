//! Other tools' formats, each in a file of its own.

pub mod kperf;
