//! Names of functions as a format writes them, cached.

use kperf_abi::FuncId;
use kperf_profile::{MAX_CACHED, Symbols};
use rustc_hash::FxHashMap;

/// Makes each name once.
pub(crate) struct Names {
    made: FxHashMap<FuncId, String>,
    make: fn(&str) -> String,
}

impl Names {
    /// `make` is given a function's label, which is unique.
    pub(crate) fn new(make: fn(&str) -> String) -> Names {
        Names { made: FxHashMap::default(), make }
    }

    pub(crate) fn get(&mut self, symbols: &Symbols, func: FuncId) -> &str {
        let make = self.make;
        if self.made.len() >= MAX_CACHED {
            self.made.clear();
        }
        self.made.entry(func).or_insert_with(|| make(&symbols.label(func)))
    }
}

/// A string of JSON, quotes included.
pub(crate) fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
