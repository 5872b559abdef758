//! How much of a test runs: a small part always, all of it with `KPERF_TESTS=all`.

use std::ops::Range;

/// Whether everything runs, however long it takes.
pub(crate) fn is_all() -> bool {
    std::env::var("KPERF_TESTS").is_ok_and(|tests| tests == "all")
}

/// The first of two where a small part runs, else the second.
pub(crate) fn of<T>(few: T, all: T) -> T {
    if is_all() { all } else { few }
}

/// The seeds of generated modules: so many, or those of `KPERF_SEEDS=FROM..TO`.
pub(crate) fn seeds(few: u64, all: u64) -> Range<u64> {
    let range = std::env::var("KPERF_SEEDS").ok();
    let parsed = range.as_deref().and_then(|range| {
        let (from, to) = range.split_once("..")?;
        Some(from.parse().ok()?..to.parse().ok()?)
    });
    parsed.unwrap_or(0..of(few, all))
}
