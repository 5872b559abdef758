//! Analysis of traces: call tree, flat profile, timelines, memory, comparisons.
//!
//! ```text
//! TraceReader -> Frames (which call is open where) -> CallTree -> FlatProfile
//!                                                  -> ProfileDiff, the report
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

pub mod frames;

mod code;
mod diff;
mod limits;
mod memory;
mod plan;
mod reading;
mod report;
mod sampled;
mod symbols;
mod text;
mod time;
mod tree;
mod unit;

pub use code::inlined::{CallPlaces, Frame};
pub use code::lines::{LineRow, Lines, SourcePlace};
pub use code::ways::{Shown, Ways};
pub use diff::compare::{Change, DiffRow, Figures, Metric, ProfileDiff, Sample};
pub use diff::welch::Test;
pub use frames::filter::{CallFilter, LaneChoice, Range, WindowChoice};
pub use limits::{MAX_CACHED, MAX_OPEN_FRAMES, MAX_PATHS, OverLimit};
pub use memory::curve::Moment;
pub use memory::figures::{Count, HeapFigures};
pub use memory::heap::{Heap, MAX_DISPLACED, MAX_LIVE_BLOCKS, PAGE};
pub use memory::problems::HeapProblems;
pub use plan::ProbePlan;
pub use reading::calls::{CallSink, ListedCall, list_calls};
pub use reading::each_window::EachWindow;
pub use reading::exported::{Exported, nanos_since_anchor, pause_as_call, visit};
pub use reading::growing::GrowingProfile;
pub use reading::health::{Health, Stalls};
pub use reading::profile::Profile;
pub use report::cell::{Cell, Column};
pub use report::clock::{clock_text, sampling_text, times_text};
pub use report::head::{host_text, write_head};
pub use report::hints::{go, hints};
pub use report::json::{PERCENTILES, id_of, percentiles, write_json};
pub use report::table::{RowTexts, usual_rows};
pub use sampled::accuracy::Accuracy;
pub use sampled::precision::Precision;
pub use sampled::runs::RunErrors;
pub use sampled::sampling::{SampledPlace, SampledPlaces, Sampling, TreePlaces, WindowProfile};
pub use symbols::{
    HOST, LOST, OTHER, PAUSES, RECORDER, Symbols, SymbolsProblem, UNSEEN, WAITING, WAITING_FOR_PROCESSOR,
    is_outside, is_pause, is_stand_in, printable,
};
pub use text::{grouped, nanos_text, plural, rough_text, shortened};
pub use time::histogram::{Bucket, Histogram, Histograms};
pub use time::slices::{Entry, Sliced, Slices};
pub use time::timeline::{LaneSpans, LeftOut, Level, Span, Timeline, Track};
pub use tree::builder::CallTreeBuilder;
pub use tree::callgraph::{Arc, CallGraph};
pub use tree::flat::{Caller, FlatProfile, NodeTimes, Row};
pub use tree::groups::{Group, namespace};
pub use tree::links::{SpanLink, link_number};
pub use tree::nodes::{CallTree, Children, Node, NodeId};
pub use tree::observer::{Call, CallObserver};
pub use tree::paths::{PathWeights, Paths, Shortened};
pub use unit::Unit;
