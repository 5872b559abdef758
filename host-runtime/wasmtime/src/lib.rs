//! Records the calls of probed WebAssembly modules that an embedder runs under wasmtime.
//!
//! Three lines are added to an embedding: build a [`Recorder`], link it before the guest is instantiated, finish it.
//!
//! ```
//! use kperf_wasmtime::{ClockChoice, Recorder};
//! use wasmtime::{Config, Engine, Linker, Module, Store};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut config = Config::new();
//! Recorder::configure(&mut config);
//! let engine = Engine::new(&config)?;
//! let recorder = Recorder::builder().clock(ClockChoice::Precise).sink(std::io::sink()).build(&engine)?;
//!
//! // A module as the rewriter leaves it.
//! let module = Module::new(&engine, wat::parse_str(
//!     r#"(module
//!         (import "kperf" "enter" (func $enter (param i32) (result i32)))
//!         (import "kperf" "leave" (func $leave (param i32)))
//!         (func (export "f") (call $leave (call $enter (i32.const 0)))))"#,
//! )?)?;
//! let mut store = Store::new(&engine, ());
//! let mut linker = Linker::new(&engine);
//! let lane = recorder.link(&mut store, &mut linker)?;
//! let instance = linker.instantiate(&mut store, &module)?;
//! let f = instance.get_typed_func::<(), ()>(&mut store, "f")?;
//! // By `lane.call`, a call that traps closes its frames.
//! lane.call(&mut store, |store| f.call(store, ()))?;
//!
//! let summary = recorder.finish("completed")?;
//! assert_eq!(summary.events, 2);
//! # Ok(())
//! # }
//! ```
//!
//! * Per store: [`Recorder::link`] puts the recorder module into it, and takes modules of any host. [`Lane`] is the host's side.
//! * Per store, for modules that have their recorder inside (`rewrite --probe inline`): [`Recorder::link_inlined`] supplies
//!   what it wants of its host. The fastest of all. [`Inlined`] is the host's side.
//! * Profiles (`rewrite --record profile`): modules that have a recorder inside, too. Those that keep no stack (`--stack native`) want
//!   [`Recorder::native_code`] beside that.
//! * Once for all stores: [`Recorder::add_to_linker`] defines host functions that do the same, for `InstancePre`, the
//!   pooling allocator, a store for each request. [`HostLane`] stands in each store's data.
//!
//! Every store is a lane of the trace. Blocks of events go to a thread that packs and writes them over a bounded queue;
//! guests wait rather than lose events, and the trace says when they did. What is written survives a kill.

mod builder;
mod calibrate;
mod clock;
mod core;
mod error;
mod host_functions;
mod host_lane;
mod inlined;
mod lane;
mod link;
mod memory;
mod profile;
mod queue;
mod reason;
mod record;
mod recorder;
mod recording;
mod sampling;
mod state;
mod symbols;
mod ticker;
mod writer;

pub use builder::Builder;
pub use clock::ClockChoice;
pub use error::{Error, ErrorKind, Result};
pub use host_lane::HostLane;
pub use inlined::{HAS_NATIVE_STACKS, Inlined, is_inlined, is_native, is_profile};
pub use kperf_abi::word::Reason;
pub use kperf_trace::{ContextError, Summary, TraceContext};
pub use lane::Lane;
pub use reason::reason_of;
pub use recorder::Recorder;
pub use sampling::Sampling;
pub use symbols::symbols;
