//! What an embedder builds and holds: the recorder.

pub(crate) mod builder;
#[cfg(feature = "compiler")]
pub(crate) mod calibrate;
pub(crate) mod handle;
pub(crate) mod symbols;
