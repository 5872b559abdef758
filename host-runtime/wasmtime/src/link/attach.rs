//! The first events of instances that have their recorder inside, and their blocks.
#![allow(unsafe_code)] // Globals and memories can't be read in another way by other threads.

use super::guards::{Guard, Guards, LaneGuard, ProfiledGuard};
use super::instance_profile::{Depth, InstanceProfile};
use super::store_instances::StoreInstances;
use crate::clock::cell::TickerCell;
use crate::error::Result;
use crate::lanes::core::LaneEvents;
use crate::lanes::lane::Lane;
use crate::lanes::memory::{BYTES, LaneMemory};
use crate::lanes::state::StateGlobals;
use crate::profile::globals::{self, InstanceMemory};
use crate::profile::sampling::Sampling;
use crate::profile::{Code, Counts, Native, Profiled, Shadow, Stack, Target, Thread, no_timer};
use crate::recording::answered::Answered;
use kperf_abi::block::CLOCK_OFF;
use kperf_abi::names::{self, exported};
use kperf_trace::{SpanLink, TraceContext};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use wasmtime::{Caller, Extern, Global, Memory, SharedMemory};

/// How a store ends the profiles of its instances.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "component-model"), allow(dead_code))]
pub(crate) enum Keeping {
    /// When it is dropped, in any order.
    Store,
    /// Before it is dropped, so that what only the instances own can be read.
    RecordedStore,
}

impl StoreInstances {
    /// An instance hands its block over, which ends at an address, or announces itself.
    pub(super) fn flushed<T: 'static>(
        &self,
        caller: &mut Caller<'_, T>,
        guards: &Guards,
        keeping: Keeping,
        end: u32,
    ) -> wasmtime::Result<()> {
        self.recording.check_process()?;
        let memory = match caller.get_export(&exported(names::MEMORY)) {
            Some(Extern::SharedMemory(memory)) => memory,
            _ if is_profile_of(caller) && keeping == Keeping::Store => {
                return Err(wasmtime::Error::msg(NOT_KEPT));
            }
            _ if is_profile_of(caller) => return self.announced(caller, guards, None),
            _ => return Err(wasmtime::Error::msg("who flushes has no recorder inside")),
        };
        let guard = if let Some(lane) = self.lane_of(&memory) {
            lane.core.hand_over(end, lane.globals.get(caller));
            return Ok(());
        } else if self.has_profile(memory.data().as_ptr().cast_mut().cast()) {
            return Ok(());
        } else if is_profile_of(caller) {
            let guard = self.attach_profile(caller, memory)?;
            guard.map(|guard| Guard::Profile { _guard: guard })
        } else {
            self.attach(caller, memory)?.map(|guard| Guard::Lane { _guard: guard })
        };
        guard.into_iter().for_each(|guard| guards.add(guard));
        Ok(())
    }

    /// An instance whose profile only it owns announces itself, in a `RecordedStore`. `parent`: of its outermost calls.
    pub(crate) fn announced<T: 'static>(
        &self,
        caller: &mut Caller<'_, T>,
        guards: &Guards,
        parent: Option<&TraceContext>,
    ) -> wasmtime::Result<()> {
        if !is_profile_of(caller) {
            return Err(wasmtime::Error::msg(NO_PROFILE));
        }
        let guard = match caller.get_export(&exported(names::MEMORY)) {
            Some(Extern::Memory(memory)) => self.attach_own_memory(caller, memory, parent)?,
            None => self.attach_own_counts(caller, parent)?,
            Some(_) => return Err(wasmtime::Error::msg(NO_PROFILE)),
        };
        if let Some(guard) = guard {
            guards.add(Guard::Profile { _guard: guard });
        }
        Ok(())
    }

    /// The profile of an instance begins whose memory isn't shared; `None` if it began before.
    fn attach_own_memory<T: 'static>(
        &self,
        caller: &mut Caller<'_, T>,
        memory: Memory,
        parent: Option<&TraceContext>,
    ) -> wasmtime::Result<Option<ProfiledGuard>> {
        let [id_base, functions] = counted(caller)?;
        let ty = memory.ty(&mut *caller);
        if ty.maximum() != Some(memory.size(&mut *caller)) {
            return Err(wasmtime::Error::msg("the recorder's memory could grow"));
        }
        let (first, bytes) = (memory.data_ptr(&mut *caller), memory.data_size(&mut *caller));
        // wasmtime itself gives the address to compiled code, which writes there.
        let first = NonNull::new(std::ptr::with_exposed_provenance_mut::<u8>(first.expose_provenance()));
        let first = first.ok_or_else(too_small)?;
        if self.has_profile(first.as_ptr()) {
            return Ok(None);
        }
        // SAFETY: a memory that can't grow stays where it is until its store is dropped, and the store closes the
        // profile before. It begins at a page.
        let counts =
            unsafe { Counts::of_component(first, bytes, id_base, functions) }.ok_or_else(too_small)?;
        self.attach_counts(caller, counts, (id_base, true), (Answered::InMemory, bytes), parent)
    }

    fn lane_of(&self, memory: &SharedMemory) -> Option<Lane> {
        self.instances().lanes.iter().find(|lane| lane.core.memory.is(memory)).cloned()
    }

    /// The first event of an instance, which may come from its start section.
    fn attach<T: 'static>(
        &self,
        caller: &mut Caller<'_, T>,
        memory: SharedMemory,
    ) -> wasmtime::Result<Option<LaneGuard>> {
        let instructions = global(caller, names::STATE_INSTRUCTIONS);
        self.recording.check_counts(instructions.is_some())?;
        let globals = StateGlobals::inside(|name| wanted(caller, name))?.counting(instructions);
        let globals = globals.recording(global(caller, names::STATE_ALLOCATOR));
        let Some(grant) = self.recording.grant(BYTES) else {
            TickerCell::of_lane(&memory).store(CLOCK_OFF);
            return Ok(None);
        };
        let memory = LaneMemory::of_instance(memory, grant).ok_or_else(too_small)?;
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
        Ok(Some(LaneGuard { core, recording: self.recording.clone() }))
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
    ) -> wasmtime::Result<Option<ProfiledGuard>> {
        let [id_base, functions] = counted(caller)?;
        let bytes = memory.data().len();
        let counts = Counts::of_instance(memory, id_base, functions).ok_or_else(too_small)?;
        self.attach_counts(caller, counts, (id_base, true), (Answered::InMemory, bytes), None)
    }

    /// The same for one whose counts are in globals; `None` if it began before.
    fn attach_own_counts<T: 'static>(
        &self,
        caller: &mut Caller<'_, T>,
        parent: Option<&TraceContext>,
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
        self.attach_counts(caller, counts, (id_base, form == 0), (Answered::InGlobals, 0), parent)
    }

    /// `is_sampled`: whether samples are taken of the thread's stack if the instance keeps none. If not, only its time is measured.
    /// `bytes`: the length of the recorder's memory.
    fn attach_counts<T: 'static>(
        &self,
        caller: &mut Caller<'_, T>,
        counts: Counts,
        (id_base, is_sampled): (u32, bool),
        (answered, bytes): (Answered, usize),
        parent: Option<&TraceContext>,
    ) -> wasmtime::Result<Option<ProfiledGuard>> {
        self.recording.check_counts(false)?;
        self.recording.note(answered);
        let Some(core) = self.recording.open_own_lane(LaneEvents::SlowCalls, bytes) else { return Ok(None) };
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
        if self.is_async.load(Ordering::Relaxed) {
            core.set_async();
        }
        if let Some(parent) = parent {
            core.set_parent(0, Some(parent.clone()));
        }
        let profiled = Profiled::new(core, counts, stack, self.calls.clone(), sampling, instances.on);
        let profiled = Arc::new(profiled.below(parent.map(SpanLink::from)));
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
        Ok(Some(guard))
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
const NOT_KEPT: &str = "the module counts its calls in globals, or in a memory that isn't shared: link it by \
                        `RecordedStore::link_inlined` or `Recorder::add_profiles_to_linker`, or rewrite it with \
                        `Recording::Count` or `Recording::Profile`";
const NO_PROFILE: &str =
    "the module makes no profile that a `RecordedStore` could read: link it by `Recorder::link_inlined`";
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
