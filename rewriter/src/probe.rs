//! What `enter`, `leave` and `unwind` are inside a function: calls, or the recorder's own code.

use crate::template::{self, Templates};
use kperf_abi::FuncId;
use wasm_encoder::{Encode, Instruction};

/// Where probes come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Probe {
    /// The module imports `kperf.enter` and `kperf.leave`, and calls them. Any engine and any host can do with that.
    #[default]
    Import,
    /// The recorder becomes a part of the module, the usual case of an event a part of every function: the fastest. The
    /// engine must know shared memories and, where the module has a memory of its own, several of them; the host supplies
    /// `kperf:host.now` and `flush`.
    Inline,
}

/// The probes of a module.
pub(crate) struct Probes {
    /// Index of the function `enter` in the rewritten module.
    pub(crate) enter: u32,
    pub(crate) leave: u32,
    pub(crate) unwind: u32,
    /// What stands inside functions instead of the calls, where they have room for it.
    pub(crate) templates: Option<Templates>,
}

/// The probe of one function.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Site {
    pub(crate) id: FuncId,
    /// The local with the token. What else the probe needs stands in the locals behind it.
    pub(crate) token: u32,
    /// Whether it uses the templates.
    pub(crate) inline: bool,
}

impl Probes {
    /// How many locals a probe has.
    pub(crate) fn locals(&self, inline: bool) -> u32 {
        if inline && self.templates.is_some() { template::LOCALS } else { 1 }
    }

    fn templates(&self, site: Site) -> Option<&Templates> {
        self.templates.as_ref().filter(|_| site.inline)
    }

    /// The first thing in a function.
    pub(crate) fn enter(&self, site: Site, out: &mut Vec<u8>) {
        match self.templates(site) {
            Some(templates) => templates.enter.write(site.id, site.token, out),
            None => {
                Instruction::I32Const(site.id.0 as i32).encode(out);
                Instruction::Call(self.enter).encode(out);
                Instruction::LocalSet(site.token).encode(out);
            }
        }
    }

    /// The last thing, and before a tail call. `leaf`: nothing was called since the enter.
    pub(crate) fn leave(&self, site: Site, leaf: bool, out: &mut Vec<u8>) {
        match self.templates(site) {
            Some(templates) if leaf => templates.leave_leaf.write(site.id, site.token, out),
            Some(templates) => templates.leave.write(site.id, site.token, out),
            None => call(site.token, self.leave, out),
        }
    }

    /// Behind what may have unwound frames above this one.
    pub(crate) fn unwind(&self, site: Site, out: &mut Vec<u8>) {
        match self.templates(site) {
            Some(templates) => templates.unwind.write(site.id, site.token, out),
            None => call(site.token, self.unwind, out),
        }
    }
}

fn call(token: u32, function: u32, out: &mut Vec<u8>) {
    Instruction::LocalGet(token).encode(out);
    Instruction::Call(function).encode(out);
}
