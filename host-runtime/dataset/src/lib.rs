//! Adds recorded runs to a dataset: Parquet tables of many runs, which DuckDB, Spark, ClickHouse and the like read, and
//! `kperf-wasm report`, `flame` and `diff`. They are described in
//! [DATASET.md](https://github.com/kperf-wasm/kperf-wasm/blob/main/host-runtime/dataset/DATASET.md).
//!
//! ```no_run
//! use kperf_dataset::{Adder, Labels, Options, Store};
//! use std::path::Path;
//!
//! let labels = Labels { service: Some("shop".into()), version: Some("1.2".into()), ..Labels::default() };
//! let store = Store::open_or_create(Path::new("fleet"))?;
//! let mut adder = Adder::new(&store, Options { labels, ..Options::default() })?;
//! let outcome = adder.add_file(Path::new("shop.kperf"))?;
//! # Ok::<(), kperf_dataset::Error>(())
//! ```
//!
//! A process may be killed at any point: the dataset stays as it was, or has the run.

mod add;
mod call_file;
mod damage;
mod error;
mod folder;
mod known;
mod layout;
mod options;
mod store;
mod tables;

pub use add::{Added, Adder, Outcome, Trace, joined_generation};
pub use call_file::write_calls;
pub use damage::{Damage, find_damage, repair};
pub use error::{Error, Result};
pub use folder::Lock;
pub use layout::{Part, Partition, file_name, run_of, short_hash};
pub use options::{Labels, Options};
pub use store::{KnownRun, Store, is_dataset};
pub use tables::buckets::{BUCKETS_PER_DOUBLING, ERROR, bucket_of, bucket_start};
pub use tables::calls::CallRows;
pub use tables::choice::{Choice, ChoiceError};
pub use tables::collect::{Collected, RowOptions, collect};
pub use tables::ids::{function_id, named_run_id, path_id, run_id};
pub use tables::load::{Load, LoadError};
pub use tables::rows::{CallRow, FunctionRow, PathRow, RunRow, SpanRow, StatRow};
pub use tables::table::{self, VERSION};
pub use tables::times::day;
