//! The names of functions in the form that a format wants.

use crate::symbols::Symbols;
use kperf_abi::FuncId;
use rustc_hash::FxHashMap;

/// How many names are kept: a damaged trace has any number of functions that no table knows.
pub(crate) const MAX_CACHED: usize = 1 << 20;

/// Makes each name once.
pub(super) struct Names {
    made: FxHashMap<FuncId, String>,
    make: fn(&str) -> String,
}

impl Names {
    /// `make` is given a function's label, which is unique.
    pub(super) fn new(make: fn(&str) -> String) -> Names {
        Names { made: FxHashMap::default(), make }
    }

    pub(super) fn get(&mut self, symbols: &Symbols, func: FuncId) -> &str {
        let make = self.make;
        if self.made.len() >= MAX_CACHED {
            self.made.clear();
        }
        self.made.entry(func).or_insert_with(|| make(&symbols.label(func)))
    }
}

/// A string of JSON, quotes included.
pub(super) fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
