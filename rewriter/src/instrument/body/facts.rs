//! What the pass learns of a body as it is written.

use crate::SkipReason;
use crate::instrument::hints::{self, Hint};
use crate::instrument::probe::ProbeSite;
use crate::module::moves::{MovedBody, Steps};
use crate::plan::reach::TailCall;
use kperf_abi::FuncIndex;

/// What became of a body.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BodyFacts {
    /// It says `unwind` somewhere (or would, if the module imported it).
    pub(crate) unwinds: bool,
    /// It has no probe, and notes how deep it is (or would, if the module imported what tells it).
    pub(crate) tracks_depth: bool,
    /// It should, and has no room for that.
    pub(crate) lacks_room_for_depth: bool,
    /// A `try_table` needs the types of pads, which weren't added: the body is no good.
    pub(crate) lacks_pad_types: bool,
    /// Labels were added beside that of the block around the body, so that names of labels no longer fit.
    pub(crate) adds_labels: bool,
    /// Its probe, if it has one.
    pub(crate) site: ProbeSite,
    /// It calls or loops.
    pub(crate) calls: bool,
    /// It can't bear its probe.
    pub(crate) refused: Option<SkipReason>,
}

/// What was met in bodies that concerns other functions.
#[derive(Debug, Default)]
pub(crate) struct Met {
    pub(crate) tail_calls: Vec<TailCall>,
    /// The functions that suspend or resume a stack, and where one of them does so first.
    pub(crate) switches: Vec<(FuncIndex, u64)>,
    /// Where the bodies have come to, if that is wanted.
    pub(crate) moves: Vec<MovedBody>,
    /// The branch hints of the bodies.
    pub(crate) hints: hints::Written,
    /// The same of the body that is being written: where its instructions have come to, and how much was put in front of them.
    pub(super) steps: (Steps, usize),
    pub(super) body_hints: Vec<Hint>,
}
