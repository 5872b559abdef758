//! What answers the probes here: it keeps the depth, and is stricter than any recorder.

use crate::inlined::Calls;
use kperf_abi::names;
use wasmtime::{Caller, Linker, Result};

/// The state of a store.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    open: i32,
    /// Ids below this one have been given to functions.
    pub(crate) ids: u32,
    pub(crate) entered: u64,
    /// The same by function.
    pub(crate) calls: Calls,
    pub(crate) left: u64,
    /// Frames that an `unwind` closed.
    pub(crate) unwound: u64,
    /// Frames that were open when a call of the host's failed.
    pub(crate) abandoned: u64,
    /// The first thing that was out of order.
    fault: Option<String>,
}

impl Probes {
    fn enter(&mut self, id: i32) -> i32 {
        if id as u32 >= self.ids {
            self.fault(format!("enter({id}), an id that no function has"));
        }
        self.entered += 1;
        *self.calls.entry(id as u32).or_default() += 1;
        self.open += 1;
        self.open
    }

    /// A recorder closes what is above the frame; here there must be nothing: whatever was unwound has been told.
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

    /// A call of the host's is over. What was out of order in it, if anything.
    pub(crate) fn end_of_call(&mut self, failed: bool) -> Option<String> {
        if failed {
            // What a host does when a call of its own has failed.
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
