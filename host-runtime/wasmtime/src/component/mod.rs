//! The host's side of components whose core modules have probes.
//!
//! A recorder in a component keeps its block in a memory of the component, since components have no shared memories. We keep the
//! memory's address, which is valid as long as the store. So lanes must end before their store: [`RecordedStore`] ensures it.

mod lanes;
mod linker;
mod modules;
mod profiled;
mod store;

pub(crate) use linker::define;
pub(crate) use modules::define as define_modules;
pub use store::RecordedStore;
pub(crate) use store::Stores;
