//! Puts the recorder module into a store.

use super::guards::LaneGuard;
use crate::clock::source::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::lanes::core::{LaneCore, LaneEvents};
use crate::lanes::lane::Lane;
use crate::lanes::memory::{BYTES, LaneMemory};
use crate::lanes::state::StateGlobals;
use crate::outlet::Outlet;
use crate::recording::Recording;
use crate::recording::answered::Answered;
use kperf_abi::names;
use std::sync::{Arc, PoisonError};
use wasmtime::{AsContextMut, Caller, Engine, Extern, Func, Instance, Linker, Module};

/// A lane whose recorder module is not instantiated yet.
pub(crate) struct Linking {
    core: Arc<LaneCore>,
    module: Module,
    imports: Vec<Extern>,
}

impl Linking {
    pub(crate) fn prepare<T: 'static>(
        recording: &Arc<Recording>,
        mut store: impl AsContextMut<Data = T>,
    ) -> Result<Linking> {
        let mut store = store.as_context_mut();
        if !Engine::same(store.engine(), &recording.engine) {
            return Err(ErrorKind::OtherEngine.into());
        }
        recording.check_open()?;
        recording.check_clock_beside()?;
        let module = recording.module()?;
        recording.note(Answered::ByModule);
        let engine = |error: wasmtime::Error| ErrorKind::Engine(error.into());
        let spare = recording.spare_memories.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let new = || LaneMemory::new_shared(&recording.engine).map_err(engine);
        let (memory, grant) = match spare {
            Some((memory, grant)) => (memory, Some(grant)),
            None => match recording.grant(BYTES) {
                Some(grant) => (new()?, Some(grant)),
                None => (recording.refused_memory(new)?, None),
            },
        };
        let core = match grant {
            Some(grant) => {
                recording.open_lane(LaneMemory::shared(memory.clone(), grant), LaneEvents::AllCalls)
            }
            None => recording.refused_lane(memory.clone()),
        };
        // Owned by the function, which the store owns: when the store goes, the lane is closed.
        let guard = LaneGuard { core: core.clone(), recording: recording.clone() };
        let flush = Func::wrap(&mut store, move |mut caller: Caller<'_, T>, address: u32, length: u32| {
            let state = StateGlobals::beside(|name| {
                let global = caller.get_export(name).and_then(Extern::into_global);
                global.ok_or_else(|| wasmtime::Error::msg(format!("who flushes has no `{name}`")))
            })?;
            guard.recording.check_process()?;
            guard.core.hand_over(address.wrapping_add(length), state.get(caller));
            Ok(())
        });
        let mut imports = Vec::new();
        for import in module.imports() {
            imports.push(match import.name() {
                names::HOST_MEMORY => memory.clone().into(),
                names::HOST_FLUSH => flush.into(),
                names::HOST_NOW => now(&mut store, &recording.outlet).into(),
                _ => match recording.outlet.ticker.as_ref().and_then(|ticker| ticker.cell().import()) {
                    Some(cell) => cell.clone().into(),
                    None => return Err(ErrorKind::Engine("it has no shared memory".into()).into()),
                },
            });
        }
        Ok(Linking { core, module, imports })
    }

    pub(crate) fn module(&self) -> &Module {
        &self.module
    }

    pub(crate) fn imports(&self) -> &[Extern] {
        &self.imports
    }

    /// Binds what probed modules import to the instance.
    pub(crate) fn define<T: 'static>(
        self,
        mut store: impl AsContextMut<Data = T>,
        linker: &mut Linker<T>,
        instance: Instance,
    ) -> Result<Lane> {
        let mut store = store.as_context_mut();
        linker.instance(&mut store, names::MODULE, instance).map_err(failed)?;
        let globals = StateGlobals::beside(|name| {
            let global = instance.get_global(&mut store, name);
            global.ok_or_else(|| failed(wasmtime::Error::msg(format!("the recorder has no `{name}`"))))
        })?;
        let globals = globals.recording(instance.get_global(&mut store, names::STATE_ALLOCATOR));
        Ok(Lane { core: self.core, globals })
    }
}

/// The clock as a host function: one for each kind of clock, so that a call reads the clock and does nothing else. Calls count
/// toward waking a sleeping ticker.
pub(crate) fn now(store: impl AsContextMut, outlet: &Outlet) -> Func {
    let asked = outlet.ticker.as_ref().map(|ticker| ticker.asked());
    match (outlet.clock.clone(), asked) {
        (Clock::Counter(clock), None) => Func::wrap(store, move || clock.raw() as i64),
        (Clock::Counter(clock), Some(asked)) => Func::wrap(store, move || {
            let now = clock.raw();
            // After the clock: waking a thread must not count as the callee's time.
            asked.count(now);
            now as i64
        }),
        (clock @ (Clock::Instructions | Clock::Test(_)), _) => Func::wrap(store, move || clock.now() as i64),
    }
}

pub(crate) fn failed(error: wasmtime::Error) -> Error {
    ErrorKind::Link(error.into()).into()
}
