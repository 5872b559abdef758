//! Answers the probes in these tests. It keeps the depth, and is stricter than a real recorder.

use super::inlined::CallCounts;
use kperf_abi::names;
use kperf_abi::word::WAIT_ID;
use wasmtime::{Caller, Linker, Result};

/// The state of a store.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    open: i32,
    /// Ids below this one have been given to functions.
    pub(crate) ids: u32,
    pub(crate) entered: u64,
    /// The number of calls by function.
    pub(crate) calls: CallCounts,
    pub(crate) left: u64,
    /// How many frames an `unwind` closed.
    pub(crate) unwound: u64,
    /// How many frames were open when calls of the host failed.
    pub(crate) abandoned: u64,
    /// The first thing that was wrong.
    fault: Option<String>,
}

impl Probes {
    fn enter(&mut self, id: i32) -> i32 {
        let id = id as u32;
        // A wait is no call of a function.
        if id != WAIT_ID {
            if id >= self.ids {
                self.fault(format!("enter({id}), an id that no function has"));
            }
            *self.calls.entry(id).or_default() += 1;
        }
        self.entered += 1;
        self.open += 1;
        self.open
    }

    /// A real recorder closes what is above the frame. Here nothing may be above it: an `unwind` must have come before.
    fn leave(&mut self, token: i32) {
        if token != self.open || token < 1 {
            self.fault(format!("leave({token}) at depth {}", self.open));
        }
        self.left += 1;
        self.open = token - 1;
    }

    fn unwind(&mut self, token: i32) {
        if token > self.open || token < 1 {
            self.fault(format!("unwind({token}) at depth {}", self.open));
        }
        self.unwound += u64::from(self.open.abs_diff(token));
        self.open = token;
    }

    /// Ends a call of the host. Returns what was wrong in it, if anything.
    pub(crate) fn end_of_call(&mut self, failed: bool) -> Option<String> {
        if failed {
            // A host closes its frames when its call has failed.
            self.abandoned += u64::from(self.open.unsigned_abs());
        } else if self.open != 0 {
            self.fault(format!("depth {} behind a call that returned", self.open));
        }
        self.open = 0;
        self.fault.take()
    }

    fn fault(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }
}

/// Defines `kperf.enter`, `leave` and `unwind`.
pub(crate) fn link(linker: &mut Linker<Probes>) -> Result<()> {
    linker.func_wrap(names::MODULE, names::ENTER, |mut caller: Caller<'_, Probes>, id: i32| {
        caller.data_mut().enter(id)
    })?;
    linker.func_wrap(names::MODULE, names::LEAVE, |mut caller: Caller<'_, Probes>, token: i32| {
        caller.data_mut().leave(token);
    })?;
    linker.func_wrap(names::MODULE, names::UNWIND, |mut caller: Caller<'_, Probes>, token: i32| {
        caller.data_mut().unwind(token);
    })?;
    Ok(())
}
