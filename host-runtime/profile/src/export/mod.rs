//! Other tools' formats, each in a file of its own.

pub mod kperf;
pub mod view;

use crate::drive::{Driven, Named};
use crate::frames::LaneStatus;
use crate::health::Health;
use crate::symbols::Symbols;

/// What an export found on its way.
#[derive(Clone, Debug)]
pub struct Exported {
    /// What is to be told besides.
    pub health: Health,
    /// The functions.
    pub symbols: Symbols,
    /// All lanes of the trace, in the order in which they first appeared, written or not.
    pub lanes: Vec<LaneStatus>,
    /// How many calls were written.
    pub calls: u64,
}

impl Exported {
    /// What a pass found, beside the visitor that made it, whose work is done.
    pub(crate) fn of<V: Named>(driven: Driven<V>) -> (V, Exported) {
        let Driven { mut visitor, health, lanes, shown: calls, .. } = driven;
        let symbols = std::mem::take(visitor.symbols());
        (visitor, Exported { health, symbols, lanes, calls })
    }
}
