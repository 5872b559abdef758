//! What the pass learns from a body as it is written.

use crate::instrument::hints::{self, Hint};
use crate::instrument::probe::ProbeSite;
use crate::module::moves::{MovedBody, Steps};
use crate::plan::reach::TailCall;
use crate::skipped::SkipReason;
use kperf_abi::FuncIndex;

/// What the pass learned from one body.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BodyFacts {
    /// It calls `unwind` (or would, if the module imported it).
    pub(crate) unwinds: bool,
    /// It has no probe, and tracks its depth (or would, if the module imported `depth`).
    pub(crate) tracks_depth: bool,
    /// It should track its depth, and has no room for the local.
    pub(crate) lacks_room_for_depth: bool,
    /// A `try_table` needs types for pads, which weren't added: the body is invalid.
    pub(crate) lacks_pad_types: bool,
    /// Labels were added other than the block around the body, so names of labels don't fit.
    pub(crate) adds_labels: bool,
    /// Its probe, if it has one.
    pub(crate) site: ProbeSite,
    /// It calls or loops.
    pub(crate) calls: bool,
    /// Why it can't have its probe.
    pub(crate) refused: Option<SkipReason>,
}

/// What the pass learned from several bodies that concerns other functions.
#[derive(Debug, Default)]
pub(crate) struct Met {
    pub(crate) tail_calls: Vec<TailCall>,
    /// The functions that suspend or resume a stack, and the first offset at which each does.
    pub(crate) switches: Vec<(FuncIndex, u64)>,
    /// The moves of the bodies, if they are wanted.
    pub(crate) moves: Vec<MovedBody>,
    /// The branch hints of the bodies.
    pub(crate) hints: hints::Written,
    /// The moves and hints of the body that is being written, and the bytes put before its instructions.
    pub(super) steps: (Steps, usize),
    pub(super) body_hints: Vec<Hint>,
}
