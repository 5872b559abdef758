//! What a trace says.
//!
//! ```text
//! TraceReader -> Frames (which call is open where) -> CallTree -> FlatProfile
//!                                                  -> replay, exports
//! ```
//!
//! [`Profile::read`] does all that a report needs in one pass over a trace. Memory is in proportion to the call tree and
//! the frames that are open at once, never to the length of the trace. The crate does no IO of its own, reads no clock
//! and builds for wasm32.
//!
//! ```
//! use kperf_profile::{FlatProfile, Profile, nanos_text};
//! # use kperf_trace::{Header, Summary, TraceWriter};
//! # let file = TraceWriter::new(Vec::new(), &Header::default())?.finish(&Summary::default())?;
//! use kperf_trace::TraceReader;
//!
//! let profile = Profile::read(TraceReader::new(&file[..])?, |_bytes| ())?;
//! let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
//! for row in flat.rows.iter().take(10) {
//!     let name = profile.symbols.label(row.func);
//!     println!("{:>10} {:>9} {name}", nanos_text(row.self_nanos as u64), row.calls);
//! }
//! for warning in profile.health.warnings() {
//!     eprintln!("warning: {warning}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "dataset")]
pub mod dataset;
pub mod export;
pub mod frames;

mod builder;
mod callgraph;
mod calls;
mod diff;
mod drive;
mod filter;
mod flat;
mod groups;
mod growing;
mod health;
mod heap;
mod hints;
mod histogram;
mod inlined;
mod limits;
mod lines;
mod links;
mod nodes;
mod precision;
mod problem;
mod profile;
mod replay;
mod sampled;
mod slices;
mod subtree;
mod symbols;
mod text;
mod timeline;
mod unit;
mod unplaced;
mod welch;
mod windows;

pub use builder::CallTreeBuilder;
pub use callgraph::{Arc, CallGraph};
pub use calls::{Call, CallObserver};
pub use diff::{Change, DiffRow, Figures, Metric, ProfileDiff, Sample};
pub use filter::{CallFilter, LaneChoice, Range, WindowChoice};
pub use flat::{Caller, FlatProfile, Row};
pub use groups::{Group, namespace};
pub use growing::GrowingProfile;
pub use health::{Health, Stalls};
pub use heap::{Count, Heap, HeapFigures, HeapProblems, MAX_DISPLACED, MAX_LIVE_BLOCKS, Moment, PAGE};
pub use hints::hints;
pub use histogram::{Bucket, Histogram, Histograms};
pub use inlined::{CallPlaces, Frame};
pub use limits::{Beyond, MAX_OPEN_FRAMES, MAX_PATHS};
pub use lines::{LineRow, Lines, Place};
pub use links::{SlowSpans, SpanLink, link_number};
pub use nodes::{CallTree, Children, Node, NodeId};
pub use precision::Precision;
pub use problem::{Problem, Problems};
pub use profile::Profile;
pub use replay::{ReplayOptions, Replayed, replay};
pub use sampled::{SampledPlace, SampledPlaces, Sampling, TreePlaces, WindowProfile};
pub use slices::{Entry, Sliced, Slices};
pub use symbols::{HOST, LOST, OTHER, RECORDER, Symbols, SymbolsProblem, UNSEEN, printable};
pub use text::{nanos_text, rough_text};
pub use timeline::{LaneSpans, LeftOut, Level, Span, Timeline, Track};
pub use unit::Unit;
pub use welch::Test;
pub use windows::EachWindow;
