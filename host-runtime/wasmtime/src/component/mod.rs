//! The host's side of components whose core modules have probes.
//!
//! A recorder in a component keeps its block in a memory of its component: shared memories can't be reached from there. We keep
//! its address, which is good as long as the store. So the lanes end before their store does: [`RecordedStore`] sees to it.

mod lanes;
mod linker;
mod profiled;
mod store;

pub(crate) use linker::define;
#[cfg(feature = "instrument")]
pub(crate) use store::Stores;
pub use store::{ComponentLanes, RecordedStore};
