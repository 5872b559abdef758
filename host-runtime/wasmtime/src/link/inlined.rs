//! The host's side of recorders inside modules.

use super::attach::Keeping;
use super::guards::Guards;
use super::instance_profile::InstanceProfile;
use super::module::{self, failed};
use super::store_instances::StoreInstances;
use crate::error::{ErrorKind, Result};
use crate::lanes::lane::{Lane, watched};
use crate::lanes::reason::reason_of;
use crate::lanes::record::Before;
use crate::profile::Native;
use crate::recording::Recording;
use kperf_abi::names::{self, exported};
use kperf_abi::word::Reason;
use std::sync::Arc;
use wasmtime::{AsContextMut, Caller, Engine, Func, Linker, Module};

/// The lanes of a store whose modules have their recorder inside. Each instance is a lane, from its first event on.
/// [`Recorder::link_inlined`](crate::Recorder::link_inlined) makes it.
///
/// It is cheap to clone. Every method takes the store that it was linked in, or a `Caller` of it.
#[derive(Clone)]
pub struct Inlined {
    shared: Arc<StoreInstances>,
}

/// Whether a module has its recorder inside.
pub fn is_inlined(module: &Module) -> bool {
    let is_ours = |module, name| module == names::HOST_MODULE && names::is_of_probes(module, name);
    module.imports().any(|import| is_ours(import.module(), import.name()))
}

/// Whether a module counts the instructions that it executes. Such a module needs
/// [`ClockChoice::Instructions`](crate::ClockChoice::Instructions).
pub fn counts_instructions(module: &Module) -> bool {
    is_inlined(module) && module.get_export(&exported(names::STATE_INSTRUCTIONS)).is_some()
}

/// Whether a module has a recorder inside that makes a profile.
pub fn is_profile(module: &Module) -> bool {
    is_inlined(module) && module.get_export(&exported(names::STATE_FUNCTIONS)).is_some()
}

/// Whether a module has a recorder inside that counts calls and keeps no stack.
/// Such a module needs [`Recorder::native_code`](crate::Recorder::native_code).
pub fn is_native(module: &Module) -> bool {
    is_profile(module) && module.get_export(&exported(names::STATE_TOP)).is_none()
}

/// Whether samples can find open calls on the threads' stacks, which modules without a stack of their own need. True on Linux on
/// x86-64.
pub const HAS_NATIVE_STACKS: bool = Native::IS_THERE;

impl Inlined {
    /// The instances of a store, none so far.
    pub(crate) fn new(recording: &Arc<Recording>) -> Inlined {
        Inlined { shared: Arc::new(StoreInstances::new(recording)) }
    }

    pub(crate) fn link<T: 'static>(
        recording: &Arc<Recording>,
        store: impl AsContextMut<Data = T>,
        linker: &mut Linker<T>,
    ) -> Result<Inlined> {
        Inlined::link_with(recording, store, linker, Guards::default(), Keeping::Store)
    }

    /// The same for a store that closes its guards before it is dropped: its modules may have their counts in globals.
    #[cfg(feature = "component-model")]
    pub(crate) fn link_kept<T: 'static>(
        recording: &Arc<Recording>,
        store: impl AsContextMut<Data = T>,
        linker: &mut Linker<T>,
        guards: &Guards,
    ) -> Result<Inlined> {
        Inlined::link_with(recording, store, linker, guards.clone(), Keeping::RecordedStore)
    }

    fn link_with<T: 'static>(
        recording: &Arc<Recording>,
        mut store: impl AsContextMut<Data = T>,
        linker: &mut Linker<T>,
        guards: Guards,
        keeping: Keeping,
    ) -> Result<Inlined> {
        let mut store = store.as_context_mut();
        if !Engine::same(store.engine(), &recording.engine) {
            return Err(ErrorKind::OtherEngine.into());
        }
        recording.check_open()?;
        let inlined = Inlined::new(recording);
        let shared = inlined.shared.clone();
        // The function owns the guards, and the store the function: when the store goes, the lanes are closed.
        let flush = Func::wrap(&mut store, move |mut caller: Caller<'_, T>, address: u32, length: u32| {
            shared.flushed(&mut caller, &guards, keeping, address.wrapping_add(length))
        });
        let now = module::now(&mut store, &recording.outlet);
        linker.define(&mut store, names::HOST_MODULE, names::HOST_FLUSH, flush).map_err(failed)?;
        linker.define(&mut store, names::HOST_MODULE, names::HOST_NOW, now).map_err(failed)?;
        Ok(inlined)
    }

    /// Calls the guest through `call`. If that fails, closes the frames that it opened, with the reason that [`reason_of`]
    /// finds in the error. See [`Lane::call`].
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub fn call<S: AsContextMut, R>(
        &self,
        store: &mut S,
        call: impl FnOnce(&mut S) -> wasmtime::Result<R>,
    ) -> wasmtime::Result<R> {
        let abandon = self.begin(&mut *store);
        let result = call(store);
        abandon.settle(store, &result);
        result
    }

    /// [`call`](Inlined::call) for asynchronous calls. If the future is dropped before it is ready, the frames are closed with
    /// [`Reason::Host`] at that time. The time in which it is pending becomes a call of `[suspended]`.
    ///
    /// # Errors
    ///
    /// What `call` returns, unchanged.
    pub async fn call_async<S: AsContextMut, R>(
        &self,
        store: &mut S,
        call: impl AsyncFnOnce(&mut S) -> wasmtime::Result<R>,
    ) -> wasmtime::Result<R> {
        self.shared.set_async();
        let abandon = self.begin(&mut *store);
        let result = watched(call(store), |waits| self.shared.wait(waits)).await;
        abandon.settle(store, &result);
        result
    }

    /// The lanes so far, in the order of their first events; without those that make a profile.
    pub fn lanes(&self) -> Vec<Lane> {
        self.shared.instances().lanes.clone()
    }

    /// How many instances so far make a profile.
    pub fn profiles(&self) -> usize {
        self.shared.instances().profiles.len()
    }

    /// Hands the current block to the writer before it is full. Full blocks are handed over automatically.
    pub fn flush(&self, mut store: impl AsContextMut) {
        let instances = self.shared.instances();
        instances.lanes.iter().for_each(|lane| lane.flush(&mut store));
        instances.profiles.iter().for_each(|profile| profile.profiled.flush());
    }

    /// Switches recording off or on again. Switching off closes open frames as unfinished. While it is off, an event costs a few
    /// instructions.
    pub fn set_recording(&self, mut store: impl AsContextMut, on: bool) {
        let mut instances = self.shared.instances();
        if std::mem::replace(&mut instances.on, on) == on {
            return;
        }
        for lane in &instances.lanes {
            if !on {
                lane.close(&mut store, Reason::Unfinished, 0);
            }
            self.shared.recording.set_clock(&lane.core, on);
        }
        instances.profiles.iter().for_each(|profile| profile.profiled.set_on(on));
    }

    /// What only their store can reach.
    #[cfg(feature = "component-model")]
    pub(crate) fn instances(&self) -> &StoreInstances {
        &self.shared
    }

    /// A call of the host's begins.
    pub(crate) fn begin(&self, mut store: impl AsContextMut) -> Abandon<'_> {
        let instances = self.shared.instances();
        let befores = instances.lanes.iter().map(|lane| lane.before(&mut store)).collect();
        let tops = instances.profiles.iter().map(|profile| profile.begin(&mut store)).collect();
        self.shared.calls.begin();
        if instances.profiles.iter().filter(|profile| profile.profiled.wake()).count() > 0 {
            self.shared.recording.sampler.wake();
        }
        drop(instances);
        Abandon { shared: &self.shared, befores, tops, settled: false }
    }
}

/// Held during a call: the state of each lane before it. If it is dropped unsettled, the host panicked or dropped the
/// call's future.
pub(crate) struct Abandon<'a> {
    shared: &'a StoreInstances,
    befores: Vec<Before>,
    /// The slots to which the profiled instances return.
    tops: Vec<u32>,
    settled: bool,
}

impl Abandon<'_> {
    /// An instance that had no event before the call was at depth 0.
    fn before(&self, lane: usize) -> Before {
        self.befores.get(lane).copied().unwrap_or_default()
    }

    fn top(&self, n: usize, profile: &InstanceProfile) -> u32 {
        self.tops.get(n).copied().unwrap_or_else(|| profile.outermost())
    }

    pub(crate) fn settle<R>(mut self, mut store: impl AsContextMut, result: &wasmtime::Result<R>) {
        let reason = result.as_ref().err().map_or(Reason::Caught, reason_of);
        let instances = self.shared.instances();
        for (n, lane) in instances.lanes.iter().enumerate() {
            lane.end(&mut store, reason, self.before(n));
        }
        for (n, profile) in instances.profiles.iter().enumerate() {
            profile.end(&mut store, self.top(n, profile), result.is_err(), reason);
        }
        drop(instances);
        self.settled = true;
    }

    fn abandon(&self) {
        let instances = self.shared.instances();
        for (n, lane) in instances.lanes.iter().enumerate() {
            lane.core.abandon(self.before(n).depth);
        }
        for (n, profile) in instances.profiles.iter().enumerate() {
            profile.profiled.resume();
            profile.abandon(self.top(n, profile));
        }
    }
}

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.abandon();
        }
        self.shared.calls.end();
    }
}
