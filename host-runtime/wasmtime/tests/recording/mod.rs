//! What a host sees of the recorder.

mod asynchronous;
mod component_profiles;
mod components;
mod embed;
mod failures;
mod finish;
mod flushes;
mod forked;
mod host_functions;
mod inlined;
mod instructions;
mod instrument;
mod keep;
mod kept;
mod link;
mod losses;
mod memory;
mod parents;
mod rotation;
mod sinks;
