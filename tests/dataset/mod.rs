//! Datasets of `collect`, as query engines and `kperf-wasm` itself read them.
//!
//! DuckDB is that of `scripts/viewers`. DataFusion is asked if its package is there too, and Spark if `KPERF_SPARK` names a Python that
//! has pyspark.

mod damaged;
mod embedders;
mod examples;
mod mixed;
mod support;
mod tables;
mod thousand;
