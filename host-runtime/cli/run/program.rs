//! A guest that is ready to run: what a module and a component have in common.

use super::guest::{Guest, Host, Lanes};
use super::invoke::Entry;
use super::module::Prepared;
use kperf_wasmtime::Recorder;
use wasmtime::Engine;

/// A guest that is ready to run.
pub trait Program {
    fn engine(&self) -> &Engine;

    /// What its probes are.
    fn probes(&self) -> Probes;

    /// Supplies what its probes import.
    fn link(&mut self, recorder: &Recorder, prepared: &Prepared) -> anyhow::Result<()>;

    /// Instantiates it and calls what is to be called.
    fn run(&mut self) -> wasmtime::Result<()>;
}

/// What the probes of a guest are. All are false for one without probes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Probes {
    pub are_there: bool,
    /// Its modules contain the recorder.
    pub inlined: bool,
    /// They make a profile.
    pub profile: bool,
    /// They make one from the thread's own stack.
    pub native: bool,
}

/// A module.
pub struct ModuleProgram {
    pub guest: Guest,
    pub host: Host,
    pub entry: Entry,
    pub lanes: Option<Lanes>,
}

impl Program for ModuleProgram {
    fn engine(&self) -> &Engine {
        &self.guest.engine
    }

    fn probes(&self) -> Probes {
        let Self { guest, .. } = self;
        Probes {
            are_there: guest.is_probed(),
            inlined: guest.is_inlined(),
            profile: guest.is_profile(),
            native: guest.is_native(),
        }
    }

    fn link(&mut self, recorder: &Recorder, prepared: &Prepared) -> anyhow::Result<()> {
        for table in prepared.symbols.iter().filter(|_| self.guest.is_native()) {
            recorder.native_code(&self.guest.module, &table.to_bytes())?;
        }
        self.lanes = Some(self.host.link(&self.guest, recorder)?);
        Ok(())
    }

    fn run(&mut self) -> wasmtime::Result<()> {
        let Self { guest, host, entry, lanes } = self;
        host.run(guest, lanes.as_ref(), |store, instance| entry.call(store, instance))
    }
}
