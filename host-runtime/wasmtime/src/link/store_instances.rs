//! The instances of a store that have their recorder inside.

use super::instance_profile::InstanceProfile;
use crate::lanes::lane::Lane;
use crate::profile::HostCalls;
use crate::recording::Recording;
#[cfg(feature = "component-model")]
use kperf_trace::TraceContext;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The instances of a store.
pub(crate) struct StoreInstances {
    pub(super) recording: Arc<Recording>,
    instances: Mutex<Instances>,
    pub(super) calls: Arc<HostCalls>,
    /// Whether any of the calls was asynchronous.
    pub(super) is_async: AtomicBool,
}

pub(super) struct Instances {
    /// In the order of their first events; it only grows.
    pub(super) lanes: Vec<Lane>,
    /// The instances that make a profile.
    pub(super) profiles: Vec<InstanceProfile>,
    /// Whether anything is recorded.
    pub(super) on: bool,
}

impl StoreInstances {
    pub(super) fn new(recording: &Arc<Recording>) -> StoreInstances {
        StoreInstances {
            recording: recording.clone(),
            instances: Mutex::new(Instances { lanes: Vec::new(), profiles: Vec::new(), on: true }),
            calls: Arc::default(),
            is_async: AtomicBool::new(false),
        }
    }

    pub(super) fn instances(&self) -> MutexGuard<'_, Instances> {
        self.instances.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store is called asynchronously.
    pub(crate) fn set_async(&self) {
        if !self.is_async.swap(true, Ordering::Relaxed) {
            let instances = self.instances();
            instances.lanes.iter().for_each(|lane| lane.core.set_async());
            instances.profiles.iter().for_each(|profile| profile.profiled.core.set_async());
        }
    }

    /// Whether the stack of an instance that makes a profile has a call of the host's.
    #[cfg(feature = "component-model")]
    pub(crate) fn has_open_call(&self) -> bool {
        let is_open = |profile: &InstanceProfile| profile.profiled.is_open(profile.outermost());
        self.calls.is_any() && self.instances().profiles.iter().any(is_open)
    }

    /// Sets the parent of the next calls of instances that make a profile, and whether these are recorded.
    #[cfg(feature = "component-model")]
    pub(crate) fn set_parent(&self, on: bool, parent: Option<&TraceContext>) {
        for InstanceProfile { profiled, .. } in &self.instances().profiles {
            profiled.set_on(on);
            profiled.set_parent(parent);
        }
    }

    /// An asynchronous call begins to wait, or continues.
    pub(crate) fn wait(&self, waits: bool) {
        let instances = self.instances();
        for lane in &instances.lanes {
            if waits { lane.core.suspend() } else { lane.core.resume() }
        }
        for InstanceProfile { profiled, .. } in &instances.profiles {
            if waits { profiled.suspend() } else { profiled.resume() }
        }
    }
}
