//! Many runs as tables: what `kperf-wasm collect` writes, and what reports read again. The tables are described in
//! [DATASET.md](https://github.com/kperf-wasm/kperf-wasm/blob/main/host-runtime/profile/DATASET.md).
//!
//! [`collect`] makes the rows of one trace, [`table`] writes and reads rows as Parquet, [`Choice`] chooses runs, [`Load`] makes a
//! [`Profile`](crate::Profile) of many runs. Files and folders are the caller's.

mod buckets;
mod calls;
mod choice;
mod collect;
mod ids;
mod load;
mod rows;
pub mod table;
mod times;

pub use buckets::{BUCKETS_PER_DOUBLING, ERROR, bucket_of, bucket_start};
pub use calls::CallRows;
pub use choice::{Choice, ChoiceError};
pub use collect::{Collected, Options, collect};
pub use ids::{function_id, named_run_id, path_id, run_id};
pub use load::{Load, LoadError};
pub use rows::{CallRow, FunctionRow, PathRow, RunRow, SpanRow, StatRow};

/// The day of a moment in UTC, `2026-11-24`; microseconds since 1970.
pub fn day(micros: i64) -> String {
    times::date_text(micros.div_euclid(86_400_000_000))
}

/// The version of the tables. A reader refuses a dataset of another major version.
pub const VERSION: (u32, u32) = (1, 0);
