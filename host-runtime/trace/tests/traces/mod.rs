//! Traces: written, read, damaged, interrupted.

mod damage;
mod format;
mod interrupted;
mod loss;
mod roundtrip;
mod windows;
