//! Rows of runs: made of a trace, written and read as Parquet, and made a profile of again. They are described in DATASET.md.

pub(crate) mod buckets;
pub(crate) mod calls;
pub(crate) mod cell;
pub(crate) mod choice;
pub(crate) mod collect;
pub(crate) mod ids;
pub(crate) mod load;
pub(crate) mod rows;
pub mod table;
pub(crate) mod times;
