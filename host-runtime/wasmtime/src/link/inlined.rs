//! The host's side of recorders inside modules.
#![allow(unsafe_code)] // Globals can't be read in another way by other threads.

use super::guards::{Guard, Guards, LaneGuard, ProfiledGuard};
use super::instance_profile::{Depth, InstanceProfile};
use super::module::{self, failed};
use crate::error::{ErrorKind, Result};
use crate::lanes::core::LaneEvents;
use crate::lanes::lane::{Lane, watched};
use crate::lanes::memory::LaneMemory;
use crate::lanes::reason::reason_of;
use crate::lanes::record::Before;
use crate::lanes::state::StateGlobals;
use crate::profile::globals::{self, InstanceMemory};
use crate::profile::sampling::Sampling;
use crate::profile::{Code, Counts, HostCalls, Native, Profiled, Shadow, Stack, Target, Thread, no_timer};
use crate::recording::Recording;
use crate::recording::answered::Answered;
use kperf_abi::names::{self, exported};
use kperf_abi::word::Reason;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wasmtime::{AsContextMut, Caller, Engine, Extern, Func, Global, Linker, Module, SharedMemory};

/// The lanes of a store whose modules have their recorder inside. Each instance is a lane, from its first event on.
/// [`Recorder::link_inlined`](crate::Recorder::link_inlined) makes it.
///
/// It is cheap to clone. Every method takes the store that it was linked in, or a `Caller` of it.
#[derive(Clone)]
pub struct Inlined {
    shared: Arc<StoreInstances>,
}

struct StoreInstances {
    recording: Arc<Recording>,
    instances: Mutex<Instances>,
    calls: Arc<HostCalls>,
    /// Whether any of the calls was asynchronous.
    is_async: AtomicBool,
}

struct Instances {
    /// In the order of their first events; it only grows.
    lanes: Vec<Lane>,
    /// The instances that make a profile.
    profiles: Vec<InstanceProfile>,
    /// Whether anything is recorded.
    on: bool,
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
    pub(crate) fn link<T: 'static>(
        recording: &Arc<Recording>,
        store: impl AsContextMut<Data = T>,
        linker: &mut Linker<T>,
    ) -> Result<Inlined> {
        Inlined::link_with(recording, store, linker, Guards::default(), false)
    }

    /// The same for a store that closes its guards before it is dropped: its modules may have their counts in globals.
    #[cfg(feature = "component-model")]
    pub(crate) fn link_kept<T: 'static>(
        recording: &Arc<Recording>,
        store: impl AsContextMut<Data = T>,
        linker: &mut Linker<T>,
        guards: &Guards,
    ) -> Result<Inlined> {
        Inlined::link_with(recording, store, linker, guards.clone(), true)
    }

    fn link_with<T: 'static>(
        recording: &Arc<Recording>,
        mut store: impl AsContextMut<Data = T>,
        linker: &mut Linker<T>,
        guards: Guards,
        is_kept: bool,
    ) -> Result<Inlined> {
        let mut store = store.as_context_mut();
        if !Engine::same(store.engine(), &recording.engine) {
            return Err(ErrorKind::OtherEngine.into());
        }
        recording.check_open()?;
        let instances = Mutex::new(Instances { lanes: Vec::new(), profiles: Vec::new(), on: true });
        let shared = Arc::new(StoreInstances {
            recording: recording.clone(),
            instances,
            calls: Arc::default(),
            is_async: AtomicBool::new(false),
        });
        let inlined = Inlined { shared: shared.clone() };
        let memory = exported(names::MEMORY);
        // The function owns the guards, and the store the function: when the store goes, the lanes are closed.
        let flush = Func::wrap(&mut store, move |mut caller: Caller<'_, T>, address: u32, length: u32| {
            shared.recording.check_process()?;
            let memory = match caller.get_export(&memory) {
                Some(Extern::SharedMemory(memory)) => memory,
                None if is_profile_of(&mut caller) => {
                    if !is_kept {
                        return Err(wasmtime::Error::msg(NOT_KEPT));
                    }
                    if let Some(guard) = shared.attach_own_counts(&mut caller)? {
                        guards.add(Guard::Profile { _guard: guard });
                    }
                    return Ok(());
                }
                _ => return Err(wasmtime::Error::msg("who flushes has no recorder inside")),
            };
            let guard = if let Some(lane) = shared.lane_of(&memory) {
                lane.core.hand_over(address.wrapping_add(length), lane.globals.get(caller));
                return Ok(());
            } else if shared.has_profile(memory.data().as_ptr().cast_mut().cast()) {
                return Ok(());
            } else if is_profile_of(&mut caller) {
                Guard::Profile { _guard: shared.attach_profile(&mut caller, memory)? }
            } else {
                Guard::Lane { _guard: shared.attach(&mut caller, memory)? }
            };
            guards.add(guard);
            Ok(())
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

    fn begin(&self, mut store: impl AsContextMut) -> Abandon<'_> {
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

impl StoreInstances {
    fn instances(&self) -> MutexGuard<'_, Instances> {
        self.instances.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store is called asynchronously.
    fn set_async(&self) {
        if !self.is_async.swap(true, Ordering::Relaxed) {
            let instances = self.instances();
            instances.lanes.iter().for_each(|lane| lane.core.set_async());
            instances.profiles.iter().for_each(|profile| profile.profiled.core.set_async());
        }
    }

    /// An asynchronous call begins to wait, or continues.
    fn wait(&self, waits: bool) {
        let instances = self.instances();
        for lane in &instances.lanes {
            if waits { lane.core.suspend() } else { lane.core.resume() }
        }
        for InstanceProfile { profiled, .. } in &instances.profiles {
            if waits { profiled.suspend() } else { profiled.resume() }
        }
    }

    fn lane_of(&self, memory: &SharedMemory) -> Option<Lane> {
        self.instances().lanes.iter().find(|lane| lane.core.memory.is(memory)).cloned()
    }

    /// The first event of an instance, which may come from its start section.
    fn attach<T: 'static>(
        &self,
        caller: &mut Caller<'_, T>,
        memory: SharedMemory,
    ) -> wasmtime::Result<LaneGuard> {
        let instructions = global(caller, names::STATE_INSTRUCTIONS);
        self.recording.check_counts(instructions.is_some())?;
        let globals = StateGlobals::inside(|name| wanted(caller, name))?.counting(instructions);
        let globals = globals.recording(global(caller, names::STATE_ALLOCATOR));
        let memory = LaneMemory::of_instance(memory).ok_or_else(too_small)?;
        let core = self.recording.open_lane(memory, LaneEvents::AllCalls);
        core.notice_async();
        if self.is_async.load(Ordering::Relaxed) {
            core.set_async();
        }
        self.recording.note(Answered::Inside);
        let mut instances = self.instances();
        self.recording.set_clock(&core, instances.on);
        core.check_clock_closely();
        instances.lanes.push(Lane { core: core.clone(), globals });
        Ok(LaneGuard { core, recording: self.recording.clone() })
    }

    /// Whether the counts at this address are known.
    fn has_profile(&self, address: *mut u8) -> bool {
        self.instances().profiles.iter().any(|profile| profile.profiled.counts.is_at(address.addr()))
    }

    /// An instance that makes a profile begins.
    fn attach_profile<T: 'static>(
        &self,
        caller: &mut Caller<'_, T>,
        memory: SharedMemory,
    ) -> wasmtime::Result<ProfiledGuard> {
        let [id_base, functions] = counted(caller)?;
        let counts = Counts::of_instance(memory, id_base, functions).ok_or_else(too_small)?;
        self.attach_counts(caller, counts, (id_base, true), Answered::InMemory)
    }

    /// The same for one whose counts are in globals; `None` if it began before.
    fn attach_own_counts<T: 'static>(
        &self,
        caller: &mut Caller<'_, T>,
    ) -> wasmtime::Result<Option<ProfiledGuard>> {
        let [id_base, functions] = counted(caller)?;
        let codes = self.recording.codes_of(id_base);
        if codes.is_empty() {
            return Err(wasmtime::Error::msg(NO_CODE));
        }
        let start = caller.get_export(&exported(names::START)).and_then(Extern::into_func);
        let counts_of = |code: &Arc<Code>| {
            // SAFETY: the code of the function is the module's, which the rewriter made to define it.
            unsafe { InstanceMemory::of(&mut *caller, start.as_ref()?, code) }?.counts(functions)
        };
        let found = codes.iter().map(counts_of).zip(0..).find_map(|(first, form)| Some((first?, form)));
        let (first, form) = found.ok_or_else(|| wasmtime::Error::msg(NOT_FOUND))?;
        if self.has_profile(first.as_ptr().cast()) {
            return Ok(None);
        }
        // SAFETY: globals stay where they are until their store is dropped, and the store closes the profile before.
        let counts = unsafe { Counts::of_globals(first, globals::GLOBAL, id_base, functions) };
        self.attach_counts(caller, counts, (id_base, form == 0), Answered::InGlobals).map(Some)
    }

    /// `is_sampled`: whether samples are taken of the thread's stack if the instance keeps none. If not, only its time is measured.
    fn attach_counts<T: 'static>(
        &self,
        caller: &mut Caller<'_, T>,
        counts: Counts,
        (id_base, is_sampled): (u32, bool),
        answered: Answered,
    ) -> wasmtime::Result<ProfiledGuard> {
        self.recording.check_counts(false)?;
        self.recording.note(answered);
        let recording = &self.recording;
        let usual = |period| recording.sampling.unwrap_or_else(|| Sampling::new(period));
        let (stack, depth, sampling) = match global(caller, names::STATE_TOP) {
            Some(top) => {
                let shadow = Shadow::of_instance(counts.clone());
                let depth = Depth::Shadow { top, abandoned: AtomicU32::new(0) };
                (Stack::Shadow(shadow), depth, usual(Sampling::PERIOD))
            }
            None => {
                let sampling = usual(Sampling::NATIVE_PERIOD);
                let period = sampling.period.max(Sampling::SHORTEST_NATIVE_PERIOD);
                let sampling = Sampling { period, ..sampling };
                let stack = match is_sampled.then(|| self.native_stack(id_base, &counts, period)) {
                    Some(Ok(stack)) => stack,
                    Some(Err(reason)) => {
                        recording.outlet.note_unsampled(reason);
                        Stack::None
                    }
                    None => Thread::here().map_or(Stack::None, Stack::Timed),
                };
                (stack, Depth::Native, sampling)
            }
        };
        let mut instances = self.instances();
        let core = recording.open_lane(LaneMemory::own(), LaneEvents::SlowCalls);
        if self.is_async.load(Ordering::Relaxed) {
            core.set_async();
        }
        let profiled =
            Arc::new(Profiled::new(core, counts, stack, self.calls.clone(), sampling, instances.on));
        let guard = ProfiledGuard { profiled: profiled.clone(), recording: recording.clone() };
        // Even if this fails, the calls are counted and the guest runs.
        if let Err(error) = recording.sampler.add(profiled.clone()) {
            recording.outlet.note_unsampled(&error.to_string());
        }
        if instances.on
            && let Err(error) = profiled.start()
        {
            recording.outlet.note_unsampled(&no_timer(&error));
        }
        instances.profiles.push(InstanceProfile { profiled, depth });
        Ok(guard)
    }

    /// The stack of the running thread, for an instance of the module whose ids begin at `id_base`.
    fn native_stack(&self, id_base: u32, counts: &Counts, period: Duration) -> Result<Stack, &'static str> {
        let unknown =
            "the module keeps no stack, and its code is not known: say `Recorder::native_code` before";
        let code = self.recording.codes_of(id_base).into_iter().next().ok_or(unknown)?;
        let target = Target::of_this_thread(code, counts.clone())?;
        if self.recording.sampler.has_same(&target) {
            return Err(
                "a thread has two instances of a module at a time, which its stack can't distinguish: rewrite the \
                 module with a shadow stack",
            );
        }
        let recording = &self.recording;
        Native::new(target, recording.outlet.clock.clone(), recording.pace.clone(), period).map(Stack::Native)
    }
}

/// A module with counts of its own must run in a store that we keep.
const NOT_KEPT: &str = "the module counts its calls in globals: link it by `RecordedStore::link_inlined`, or rewrite it with \
                        `Recording::Count`";
const NO_CODE: &str =
    "the module counts its calls in globals, and its code is not known: say `Recorder::native_code` before";
const NOT_FOUND: &str = "this version of wasmtime keeps globals in another way than is known here: rewrite the module with \
                         `Recording::Count`";

/// Whether an instance makes a profile.
fn is_profile_of<T: 'static>(caller: &mut Caller<'_, T>) -> bool {
    global(caller, names::STATE_FUNCTIONS).is_some()
}

/// The first function with a count, and the number of counts.
fn counted<T: 'static>(caller: &mut Caller<'_, T>) -> wasmtime::Result<[u32; 2]> {
    let [id_base, functions] =
        [names::STATE_ID_BASE, names::STATE_FUNCTIONS].map(|name| wanted(caller, name));
    Ok([id_base?, functions?].map(|global| global.get(&mut *caller).i32().unwrap_or_default() as u32))
}

fn global<T: 'static>(caller: &mut Caller<'_, T>, name: &str) -> Option<Global> {
    caller.get_export(&exported(name)).and_then(Extern::into_global)
}

fn wanted<T: 'static>(caller: &mut Caller<'_, T>, name: &str) -> wasmtime::Result<Global> {
    let none = || {
        let name = exported(name);
        wasmtime::Error::msg(format!(
            "the module exports no global `{name}`: if another version has rewritten it, rewrite the original with this one"
        ))
    };
    global(caller, name).ok_or_else(none)
}

fn too_small() -> wasmtime::Error {
    wasmtime::Error::msg("the recorder's memory is too small")
}

/// Held during a call: the state of each lane before it. If it is dropped unsettled, the host panicked or dropped the
/// call's future.
struct Abandon<'a> {
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

    fn settle<R>(mut self, mut store: impl AsContextMut, result: &wasmtime::Result<R>) {
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
