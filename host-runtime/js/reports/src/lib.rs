//! What `npx kperf-wasm view`, `flame` and `diff` make of traces, by the same code as the command of Rust, as one module for `wasm32-unknown-unknown`. It is for node: pages have the core, which is smaller.
//!
//! The module reads traces and writes its product by functions that it imports, so neither is in memory as a whole; `exports.rs`
//! says which. `scripts/js-core` builds the module that the npm package has.

mod answer;
mod calls;
mod diff;
#[cfg(target_arch = "wasm32")]
mod exports;
mod flame;
mod make;
#[cfg(target_arch = "wasm32")]
mod random;
mod traces;
mod view;

pub use answer::{Answer, Failure};
pub use calls::{CallFields, Match};
pub use diff::DiffFields;
pub use flame::FlameFields;
pub use make::{Make, Options, make};
pub use traces::Source;
pub use view::ViewFields;
