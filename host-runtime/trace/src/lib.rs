//! The trace of a probed WebAssembly module: its events, its file format, a writer and a reader.
//!
//! A recorder hands over *blocks* of words ([`kperf_abi::block`], [`kperf_abi::word`]). [`TraceWriter`] packs each into a
//! chunk of a file, [`TraceReader`] gives the events back, a batch at a time. Damage of a file gives a
//! list of [`Anomaly`], never a panic. `FORMAT.md` specifies every byte.
//!
//! ```
//! use kperf_trace::{Event, Header, Item, Summary, TraceReader, TraceWriter, block::BlockHeader, word};
//!
//! let mut block = BlockHeader::default().to_bytes().to_vec();
//! for word in [word::TIME | 5, 17, word::TIME | 3, word::LEAVE] {
//!     block.extend(word.to_le_bytes());
//! }
//! let mut writer = TraceWriter::new(Vec::new(), &Header::default())?;
//! writer.block(0, &block)?;
//! let file = writer.finish(&Summary { outcome: "completed".into(), ..Summary::default() })?;
//!
//! let mut reader = TraceReader::new(&file[..])?;
//! let mut enters = 0;
//! while let Some(item) = reader.next()? {
//!     if let Item::Events(batch) = item {
//!         enters += batch.events.iter().filter(|timed| matches!(timed.event, Event::Enter(_))).count();
//!     }
//! }
//! assert_eq!(enters, 1);
//! assert!(reader.anomalies().is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate does no IO of its own, reads no clock and builds for `wasm32-unknown-unknown`.

mod anomaly;
mod beginning;
mod block_encoder;
mod calendar;
mod checksum;
mod chunk;
mod codec;
mod columns;
mod context;
mod decode;
mod encode;
mod error;
mod event;
mod header;
mod json;
mod kept;
mod lanes;
mod limits;
mod reader;
mod source;
mod summary;
mod window;
mod writer;

pub use anomaly::{Anomaly, AnomalyKind};
pub use beginning::beginning;
pub use block_encoder::BlockEncoder;
pub use calendar::Calendar;
pub use chunk::ChunkKind;
pub use context::{CallParent, ContextError, SpanLink, TraceContext};
pub use encode::count_events;
pub use error::{Error, ErrorKind};
pub use event::{Batch, Event, LaneId, TimedEvent};
pub use header::{Anchor, ClockInfo, ClockKind, Header, HostInfo, ProbeCost};
pub use kept::Kept;
pub use kperf_abi::allocation::Allocation;
pub use kperf_abi::word::{Reason, Wait, Waited};
pub use kperf_abi::{FuncId, block, word};
pub use reader::{Item, Namer, TraceReader};
pub use summary::{Preempted, Stall, StallKind, StallTotal, Summary, TickTotal, Waits};
pub use window::{WAITING, WAITING_FOR_PROCESSOR, Window, WindowNode, WindowPlace};
pub use writer::{TraceWriter, Written};
