//! The products of `npx kperf-wasm report`, `view`, `flame` and `diff`, by the Rust command's code: one module for
//! `wasm32-unknown-unknown`, which `scripts/js-core` builds for the npm package. It is for node; pages have the smaller core.
//!
//! The module reads traces and writes its product in pieces, by imported functions. `exports.rs` documents these and the exports.

mod answer;
mod calls;
mod diff;
#[cfg(target_arch = "wasm32")]
mod exports;
mod flame;
mod make;
#[cfg(target_arch = "wasm32")]
mod random;
mod report;
mod traces;
mod view;

pub use answer::{Answer, Failure};
pub use calls::{CallFields, Match};
pub use diff::DiffFields;
pub use flame::FlameFields;
pub use make::{Make, Options, make};
pub use report::ReportFields;
pub use traces::Source;
pub use view::ViewFields;
