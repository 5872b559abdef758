//! The code that a probe adds to one function: the form's templates with the function's id, locals and labels filled
//! in.

use crate::instrument::events::{BodyEffect, Code, Events, Timed};
use crate::instrument::form::Kind;
use crate::instrument::hints::Hint;
use crate::instrument::template::{Constant, Returned, Template};
use kperf_abi::word::WAIT_ID;
use kperf_abi::{FuncId, shadow};
use wasm_encoder::{Encode, ValType};

/// The probes of a module.
pub(crate) struct Probes {
    pub(crate) kind: Kind,
    pub(crate) code: Code,
    /// The function with the first count, where calls are counted.
    pub(crate) first: FuncId,
}

/// The probe of one function.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProbeSite {
    pub(crate) id: FuncId,
    /// The local with the token. The probe's other locals follow it.
    pub(crate) token: u32,
    /// Whether the function has room for the usual code; otherwise it gets the smaller code.
    pub(crate) inline: bool,
    /// Whether the function has no probe, and only tracks its depth.
    pub(crate) tracks_depth_only: bool,
    pub(crate) effect: BodyEffect,
}

impl Probes {
    /// Whether probes only count calls.
    pub(crate) fn only_counts(&self) -> bool {
        self.kind == Kind::Counted
    }

    /// Whether there is smaller code for functions without room.
    pub(crate) fn has_smaller(&self) -> bool {
        self.code.smaller.is_some()
    }

    fn events(&self, site: ProbeSite) -> &Events {
        self.code.smaller.as_ref().filter(|_| !site.inline).unwrap_or(&self.code.inside)
    }

    fn timed(&self, site: ProbeSite) -> &Timed {
        &self.events(site).timed
    }

    /// The locals of a probe; the token is the first.
    pub(crate) fn locals(&self, site: ProbeSite) -> &[ValType] {
        let Events { timed, depth_only, .. } = self.events(site);
        if site.tracks_depth_only { &depth_only.locals } else { &timed.locals }
    }

    /// The locals of a probe that only counts.
    pub(crate) fn leaf_locals(&self, site: ProbeSite) -> &[ValType] {
        &self.events(site).counted.locals
    }

    /// Approximate growth in bytes of a function with one exit.
    pub(crate) fn size(&self) -> usize {
        let (mut probe, hints) = (Vec::new(), &mut Vec::new());
        let site = ProbeSite { id: self.first, inline: true, ..ProbeSite::default() };
        if self.only_counts() {
            self.leaf(site, &mut probe, hints);
        } else {
            self.enter(site, &mut probe, hints);
            self.leave(site, None, &mut probe, hints);
        }
        probe.len() + encode_locals(self.locals(site)).1.len()
    }

    fn write(
        &self,
        template: &Template,
        site: ProbeSite,
        returned: Option<Returned>,
        out: &mut Vec<u8>,
        hints: &mut Vec<Hint>,
    ) {
        let count = match site.id.0 {
            WAIT_ID => shadow::WAITS as u32,
            id => shadow::COUNTS as u32 + 8 * id.saturating_sub(self.first.0),
        };
        let constants = [Constant::I32(site.id.0), Constant::I32(count), Constant::Returned(returned)];
        template.write(&constants, site.token, out, hints);
    }

    /// Number of labels in the probe's code before the body, without the block around the body.
    pub(crate) fn labels(&self, site: ProbeSite, counted: bool) -> u32 {
        let Events { timed, counted: leaf, .. } = self.events(site);
        if counted { leaf.leaf.labels } else { timed.enter.of(site.effect).labels }
    }

    /// Number of labels in the code of a leave.
    pub(crate) fn leave_labels(&self, site: ProbeSite) -> u32 {
        self.timed(site).leave.of(site.effect).labels
    }

    /// Writes the code at the start of a function.
    pub(crate) fn enter(&self, site: ProbeSite, out: &mut Vec<u8>, hints: &mut Vec<Hint>) {
        let Events { timed, depth_only, .. } = self.events(site);
        let template = if site.tracks_depth_only { &depth_only.note } else { timed.enter.of(site.effect) };
        self.write(template, site, None, out, hints);
    }

    /// Writes the code at the end, and before a tail call. `returned`: see [`Self::wants_returned`].
    pub(crate) fn leave(
        &self,
        site: ProbeSite,
        returned: Option<Returned>,
        out: &mut Vec<u8>,
        hints: &mut Vec<Hint>,
    ) {
        self.write(self.timed(site).leave.of(site.effect), site, returned, out, hints);
    }

    /// Whether a leave uses the function's result.
    pub(crate) fn wants_returned(&self, site: ProbeSite) -> bool {
        self.timed(site).takes_returned
    }

    /// Whether a leave closes open frames above this one.
    pub(crate) fn leave_closes(&self, site: ProbeSite) -> bool {
        self.timed(site).leave_closes
    }

    /// Writes the whole probe of a counted function.
    pub(crate) fn leaf(&self, site: ProbeSite, out: &mut Vec<u8>, hints: &mut Vec<Hint>) {
        self.write(&self.events(site).counted.leaf, site, None, out, hints);
    }

    /// Writes the code after what may have unwound frames above this one.
    pub(crate) fn unwind(&self, site: ProbeSite, out: &mut Vec<u8>, hints: &mut Vec<Hint>) {
        self.write(self.unwind_template(site), site, None, out, hints);
    }

    /// Number of labels in that code.
    pub(crate) fn unwind_labels(&self, site: ProbeSite) -> u32 {
        self.unwind_template(site).labels
    }

    fn unwind_template(&self, site: ProbeSite) -> &Template {
        let Events { timed, depth_only, .. } = self.events(site);
        if site.tracks_depth_only { &depth_only.close } else { &timed.unwind }
    }
}

/// Encodes locals: the number of groups, and the groups.
pub(crate) fn encode_locals(locals: &[ValType]) -> (u32, Vec<u8>) {
    let (mut groups, mut out) = (0, Vec::new());
    for group in locals.chunk_by(|a, b| a == b) {
        groups += 1;
        (group.len() as u32).encode(&mut out);
        group.iter().take(1).for_each(|ty| ty.encode(&mut out));
    }
    (groups, out)
}
