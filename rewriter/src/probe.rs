//! What `enter`, `leave` and `unwind` are inside a function: calls, or the recorder's own code.

use crate::template::{Hole, Returned, Template, Templates};
use kperf_abi::recorder::Form;
use kperf_abi::{FuncId, shadow};
use wasm_encoder::{Encode, Instruction, ValType};

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
    /// The recorder is a part of the module, and records no events: it counts the calls of each function and keeps a stack
    /// of the open ones, which the host looks at now and then. The same is wanted of the engine; the host supplies
    /// `kperf:host.flush`.
    Profile {
        /// Whether that stack tells one call of a function from the next, so that slow calls can be told one by one.
        spans: bool,
    },
    /// The recorder is a part of the module, and counts the calls of each function, no more. Which are open the host finds on
    /// the stack of the thread that makes them, if it can. The same is wanted of the engine and of the host.
    Count,
}

impl Probe {
    /// The recorder that becomes a part of the module, if one does.
    pub(crate) fn form(self) -> Option<Form> {
        match self {
            Probe::Import => None,
            Probe::Inline => Some(Form::Inline),
            Probe::Profile { spans: false } => Some(Form::Profile),
            Probe::Profile { spans: true } => Some(Form::ProfileSpans),
            Probe::Count => Some(Form::Counts),
        }
    }
}

/// The probes of a module.
pub(crate) struct Probes {
    /// Index of the function `enter` in the rewritten module.
    pub(crate) enter: u32,
    pub(crate) leave: u32,
    pub(crate) unwind: u32,
    /// The same of `leaf`, where the recorder has one.
    pub(crate) leaf: Option<u32>,
    /// What stands inside functions instead of the calls, where they have room for it.
    pub(crate) templates: Option<Templates>,
    /// The function whose count is the first, where calls are counted.
    pub(crate) counted_from: Option<FuncId>,
    /// Whether functions are counted and nothing else.
    pub(crate) only_counts: bool,
}

/// The probe of one function.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Site {
    pub(crate) id: FuncId,
    /// The local with the token. What else the probe needs stands in the locals behind it.
    pub(crate) token: u32,
    /// Whether it uses the templates.
    pub(crate) inline: bool,
    pub(crate) between: Between,
}

/// What may come between the enter and the leave of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Between {
    /// Other events: it calls, or it loops, where an embedder's epoch callback may come. The frame at its end need not be the
    /// innermost then, nor the recorder where it was.
    #[default]
    Anything,
    /// A trap or an exception, but no event.
    Trap,
    /// Not even those.
    Nothing,
}

impl Probes {
    /// The locals of a probe: first that with the token.
    pub(crate) fn locals(&self, inline: bool) -> &[ValType] {
        match &self.templates {
            Some(templates) if inline => &templates.locals,
            _ => &[ValType::I32],
        }
    }

    /// The locals of a probe that only counts.
    pub(crate) fn leaf_locals(&self) -> &[ValType] {
        self.templates.as_ref().map_or(&[], |templates| &templates.leaf_locals)
    }

    /// Bytes that a function with one way out grows by, more or less.
    pub(crate) fn size(&self) -> usize {
        let mut probe = Vec::new();
        let id = self.counted_from.unwrap_or(FuncId(u32::MAX));
        let site = Site { id, inline: true, ..Site::default() };
        if self.only_counts {
            self.leaf(site, &mut probe);
        } else {
            self.enter(site, &mut probe);
            self.leave(site, None, &mut probe);
        }
        probe.len() + encode_locals(self.locals(true)).1.len()
    }

    fn templates(&self, site: Site) -> Option<&Templates> {
        self.templates.as_ref().filter(|_| site.inline)
    }

    /// What differs from function to function.
    fn hole(&self, site: Site) -> Hole {
        let count = self.counted_from.map(|first| shadow::COUNTS as u32 + 8 * (site.id.0 - first.0));
        Hole { id: site.id, count, locals: site.token, returned: None }
    }

    /// What stands for the enter.
    fn enter_template(&self, site: Site) -> Option<&Template> {
        let Templates { enter, enter_leaf, trapless, .. } = self.templates(site)?;
        let leaf = enter_leaf.as_ref().unwrap_or(enter);
        Some(match site.between {
            Between::Anything => enter,
            Between::Trap => leaf,
            Between::Nothing => trapless.as_ref().map_or(leaf, |(enter, _)| enter),
        })
    }

    /// What stands for the leave.
    fn leave_template(&self, site: Site) -> Option<&Template> {
        let Templates { leave, leave_leaf, trapless, .. } = self.templates(site)?;
        Some(match site.between {
            Between::Anything => leave,
            Between::Trap => leave_leaf,
            Between::Nothing => trapless.as_ref().map_or(leave_leaf, |(_, leave)| leave),
        })
    }

    /// How many labels stand in front of those of the function's own body, that of the block around it left out.
    pub(crate) fn labels(&self, site: Site, counted: bool) -> u32 {
        let template = match counted {
            true => self.templates(site).and_then(|templates| templates.leaf.as_ref()),
            false => self.enter_template(site),
        };
        template.map_or(0, |template| template.labels)
    }

    /// The first thing in a function.
    pub(crate) fn enter(&self, site: Site, out: &mut Vec<u8>) {
        let hole = self.hole(site);
        match self.enter_template(site) {
            Some(enter) => enter.write(&hole, out),
            None => {
                Instruction::I32Const(site.id.0 as i32).encode(out);
                if let Some(count) = hole.count {
                    Instruction::I32Const(count as i32).encode(out);
                }
                Instruction::Call(self.enter).encode(out);
                Instruction::LocalSet(site.token).encode(out);
            }
        }
    }

    /// The last thing, and before a tail call. `returned`: see [`Self::wants_returned`].
    pub(crate) fn leave(&self, site: Site, returned: Option<Returned>, out: &mut Vec<u8>) {
        let hole = Hole { returned, ..self.hole(site) };
        match self.leave_template(site) {
            Some(leave) => leave.write(&hole, out),
            None => call(site.token, self.leave, out),
        }
    }

    /// Whether a leave has a use for what the function returns.
    pub(crate) fn wants_returned(&self, site: Site) -> bool {
        self.counted_from.is_some() && site.inline
    }

    /// All of the probe of a function that is counted only.
    pub(crate) fn leaf(&self, site: Site, out: &mut Vec<u8>) {
        match (self.templates(site), self.leaf) {
            (Some(Templates { leaf: Some(leaf), .. }), _) => leaf.write(&self.hole(site), out),
            (_, Some(leaf)) => {
                Instruction::I32Const(site.id.0 as i32).encode(out);
                Instruction::Call(leaf).encode(out);
            }
            (_, None) => {}
        }
    }

    /// Behind what may have unwound frames above this one.
    pub(crate) fn unwind(&self, site: Site, out: &mut Vec<u8>) {
        match self.templates(site) {
            Some(templates) => templates.unwind.write(&self.hole(site), out),
            None => call(site.token, self.unwind, out),
        }
    }
}

/// Declares locals: how many groups there are, and the groups.
pub(crate) fn encode_locals(locals: &[ValType]) -> (u32, Vec<u8>) {
    let (mut groups, mut out) = (0, Vec::new());
    for group in locals.chunk_by(|a, b| a == b) {
        groups += 1;
        (group.len() as u32).encode(&mut out);
        group.iter().take(1).for_each(|ty| ty.encode(&mut out));
    }
    (groups, out)
}

fn call(token: u32, function: u32, out: &mut Vec<u8>) {
    Instruction::LocalGet(token).encode(out);
    Instruction::Call(function).encode(out);
}
