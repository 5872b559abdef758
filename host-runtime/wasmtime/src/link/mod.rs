//! The ways to give a guest its recorder: a module in the store, one inside the guest, functions of the host.

pub(crate) mod attach;
pub(crate) mod guards;
pub(crate) mod host_functions;
pub(crate) mod host_lane;
pub(crate) mod inlined;
mod instance_profile;
pub(crate) mod module;
mod store_instances;
