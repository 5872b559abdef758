//! Records the calls of probed WebAssembly modules that an embedder runs under wasmtime.
//!
//! [`instrument`] is the short way: it puts probes into a module, compiles it and records it; an existing host changes two lines.
//! The rest is for hosts that need more control: their modules have probes already (`kperf-wasm rewrite`), and the host adds three
//! lines: build a [`Recorder`], link it before the guest is instantiated, finish it.
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
//! // A module as the rewriter makes it.
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
//! // `lane.call` closes the frames of a call that traps.
//! lane.call(&mut store, |store| f.call(store, ()))?;
//!
//! let summary = recorder.finish("completed")?;
//! assert_eq!(summary.events, 2);
//! # Ok(())
//! # }
//! ```
//!
//! There are four ways to link it for modules (components are [below](#components)):
//!
//! * Per store: [`Recorder::link`] puts the recorder module into the store. It takes the same modules as any other host.
//!   [`Lane`] is the host's side.
//! * Per store, for modules that have their recorder inside: [`Recorder::link_inlined`] supplies the imports of that recorder. This
//!   is the fastest way. [`Inlined`] is the host's side.
//! * Profiles: these modules have a recorder inside too, so use [`Recorder::link_inlined`]. Those that are sampled on native stacks
//!   need [`Recorder::native_code`] as well.
//! * Once for all stores: [`Recorder::add_to_linker`] defines host functions that do the same, for `InstancePre`, the
//!   pooling allocator, or a store for each request. Each store's data have a [`HostLane`].
//!
//! Every store is a lane of the trace. Blocks of events go through a bounded queue to a thread that packs and writes them.
//! If the queue is full, guests wait, and the trace says when; in asynchronous calls the block is dropped instead, and the trace
//! says how many events were lost ([`WhenFull`]). After a failed write the recording continues ([`Builder::sink`]). Written events
//! survive a kill.
//!
//! # Asynchronous calls
//!
//! Call the guest through one of the `call_async` methods. The time in which a call waits becomes a call of `[suspended]`. If its
//! future is dropped, its frames end then.
//!
//! ```
//! # use kperf_wasmtime::Recorder;
//! # use std::time::Duration;
//! # use wasmtime::{Caller, Config, Engine, Linker, Module, Store};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mut config = Config::new();
//! # Recorder::configure(&mut config);
//! # let engine = Engine::new(&config)?;
//! # let recorder = Recorder::builder().calibrate(false).sink(std::io::sink()).build(&engine)?;
//! # let module = Module::new(&engine, wat::parse_str(
//! #     r#"(module
//! #         (import "kperf" "enter" (func $enter (param i32) (result i32)))
//! #         (import "kperf" "leave" (func $leave (param i32)))
//! #         (import "host" "sleep" (func $sleep (param i64)))
//! #         (func (export "f") (local $t i32)
//! #             (local.set $t (call $enter (i32.const 0)))
//! #             (call $sleep (i64.const 5))
//! #             (call $leave (local.get $t))))"#,
//! # )?)?;
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
//! runtime.block_on(async {
//!     let mut store = Store::new(&engine, ());
//!     let mut linker = Linker::new(&engine);
//!     linker.func_wrap_async("host", "sleep", |_: Caller<'_, ()>, (millis,): (u64,)| {
//!         Box::new(tokio::time::sleep(Duration::from_millis(millis)))
//!     })?;
//!     let lane = recorder.link_async(&mut store, &mut linker).await?;
//!     let instance = linker.instantiate_async(&mut store, &module).await?;
//!     let f = instance.get_typed_func::<(), ()>(&mut store, "f")?;
//!     let call = lane.call_async(&mut store, async |store| f.call_async(store, ()).await);
//!     tokio::time::timeout(Duration::from_secs(10), call).await??;
//!     Ok::<_, Box<dyn std::error::Error>>(())
//! })?;
//! // `f`, and `[suspended]` within it.
//! assert_eq!(recorder.finish("completed")?.events, 4);
//! # Ok(())
//! # }
//! ```
//!
//! # A store for each request
//!
//! Pre-instantiated guests, from a pool for example, use host functions. Each store's data have a [`HostLane`], which records the
//! request or not.
//!
//! ```
//! # use kperf_wasmtime::{HostLane, Recorder, TraceContext};
//! # use wasmtime::{Config, Engine, InstanceAllocationStrategy, Linker, Module, PoolingAllocationConfig, Store};
//! struct Request {
//!     lane: HostLane,
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut config = Config::new();
//! let mut pool = PoolingAllocationConfig::new();
//! pool.total_core_instances(16);
//! config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
//! let engine = Engine::new(&config)?;
//! let recorder = Recorder::builder().calibrate(false).sink(std::io::sink()).build(&engine)?;
//! # let module = Module::new(&engine, wat::parse_str(
//! #     r#"(module
//! #         (import "kperf" "enter" (func $enter (param i32) (result i32)))
//! #         (import "kperf" "leave" (func $leave (param i32)))
//! #         (func (export "handle") (call $leave (call $enter (i32.const 0)))))"#,
//! # )?)?;
//! let mut linker = Linker::new(&engine);
//! recorder.add_to_linker(&mut linker, |request: &mut Request| &mut request.lane)?;
//! let pre = linker.instantiate_pre(&module)?;
//!
//! // For each request:
//! # for traceparent in [
//! #     "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
//! #     "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
//! # ] {
//! let mut lane = recorder.host_lane();
//! // A parent that isn't sampled isn't recorded, unless `set_recording` says so.
//! lane.set_parent(TraceContext::parse(traceparent, "").ok());
//! let mut store = Store::new(&engine, Request { lane });
//! HostLane::call(&mut store, |request| &mut request.lane, |store| {
//!     let instance = pre.instantiate(&mut *store)?;
//!     instance.get_typed_func::<(), ()>(&mut *store, "handle")?.call(store, ())
//! })?;
//! # }
//!
//! // Of two requests one was sampled.
//! assert_eq!(recorder.finish("completed")?.events, 2);
//! # Ok(())
//! # }
//! ```
//!
//! # A profile
//!
//! A profile has exact counts of calls, and samples of the calls that are open: far less than a trace, at a fraction of its cost.
//! Here the module is rewritten by `kperf-rewriter`, in the program itself.
//!
//! ```
//! # use kperf_rewriter::{Options, Recording, rewrite};
//! # use kperf_wasmtime::Recorder;
//! # use wasmtime::{Config, Engine, Linker, Module, Store};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let wasm = wat::parse_str(r#"(module (func $g) (func (export "f") (call $g)))"#)?;
//! let rewritten = rewrite(&wasm, &Options { recording: Recording::Profile { spans: true }, ..Options::default() })?;
//!
//! let mut config = Config::new();
//! Recorder::configure(&mut config);
//! let engine = Engine::new(&config)?;
//! let builder = Recorder::builder().symbols(rewritten.symbols.to_bytes()).sink(std::io::sink());
//! let recorder = builder.build(&engine)?;
//! let module = Module::new(&engine, &rewritten.wasm)?;
//! let mut store = Store::new(&engine, ());
//! let mut linker = Linker::new(&engine);
//! let lanes = recorder.link_inlined(&mut store, &mut linker)?;
//! let instance = linker.instantiate(&mut store, &module)?;
//! let f = instance.get_typed_func::<(), ()>(&mut store, "f")?;
//! // While no call is open, no sample is taken.
//! lanes.call(&mut store, |store| f.call(store, ()))?;
//! assert_eq!(lanes.profiles(), 1);
//! recorder.finish("completed")?;
//! # Ok(())
//! # }
//! ```
//!
//! # Components
//!
//! [`instrument_component`] does all of it in one call. Its parts, for components that were rewritten elsewhere:
//! `kperf-rewriter` puts probes into the core modules of a component. [`Recorder::add_to_component_linker`] supplies what their
//! recorders import, once for all stores, and [`Recorder::recorded_store`] makes stores for them. The engine needs nothing special;
//! pools and asynchronous calls work.
//!
//! ```
//! # use kperf_rewriter::{Options, rewrite_component};
//! use kperf_wasmtime::Recorder;
//! use wasmtime::component::{Component, Linker};
//! use wasmtime::{Engine, Store};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let wasm = wat::parse_str(
//! #     r#"(component
//! #         (core module $m (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))
//! #         (core instance $i (instantiate $m))
//! #         (func (export "add") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "add"))))"#,
//! # )?;
//! let rewritten = rewrite_component(&wasm, &Options::default())?;
//! let engine = Engine::default();
//! let mut builder = Recorder::builder().sink(std::io::sink());
//! for table in rewritten.symbols() {
//!     builder = builder.symbols(table.to_bytes());
//! }
//! let recorder = builder.build(&engine)?;
//! let mut linker = Linker::new(&engine);
//! recorder.add_to_component_linker(&mut linker)?;
//! let pre = linker.instantiate_pre(&Component::new(&engine, &rewritten.wasm)?)?;
//!
//! // For each request; `set_parent` says whose spans its calls are below.
//! let mut store = recorder.recorded_store(Store::new(&engine, ()))?;
//! let (sum,) = store.call(|store| {
//!     let instance = pre.instantiate(&mut *store)?;
//!     instance.get_typed_func::<(u32, u32), (u32,)>(&mut *store, "add")?.call(&mut *store, (1, 2))
//! })?;
//! assert_eq!(sum, 3);
//! drop(store);
//! assert_eq!(recorder.finish("completed")?.events, 4);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! * `component-model`, on by default: components. It turns on wasmtime's feature of that name.
//! * `compiler`, on by default: compiles the recorder module, for [`Recorder::link`], and measures what probes cost. It turns on
//!   wasmtime's `cranelift`. All other features of wasmtime are the embedder's to choose.
//! * `instrument`, on by default: [`instrument`], which puts probes into modules. It takes the rewriter, [`rewriter`].
//! * `wasi`, on by default: [`reason_of`] knows `proc_exit`.

mod clock;
#[cfg(feature = "component-model")]
mod component;
mod error;
mod functions;
#[cfg(feature = "instrument")]
mod instrument;
mod keep;
mod lanes;
mod link;
mod numbered;
mod outlet;
mod profile;
mod recorder;
mod recording;
mod writer;

pub use clock::source::ClockChoice;
#[cfg(feature = "component-model")]
pub use component::RecordedStore;
pub use error::{Error, ErrorKind, Result};
#[cfg(feature = "instrument")]
pub use instrument::{InstrumentOptions, Instrumented, instrument};
#[cfg(all(feature = "instrument", feature = "component-model"))]
pub use instrument::{InstrumentedComponent, instrument_component};
pub use keep::Keep;
pub use kperf_abi::word::Reason;
#[cfg(feature = "instrument")]
pub use kperf_rewriter as rewriter;
pub use kperf_trace::{ContextError, StallTotal, Summary, TraceContext};
pub use lanes::lane::Lane;
pub use lanes::reason::reason_of;
pub use link::host_lane::HostLane;
pub use link::inlined::{HAS_NATIVE_STACKS, Inlined, counts_instructions, is_inlined, is_native, is_profile};
pub use outlet::notice::Notice;
pub use outlet::stats::Stats;
pub use outlet::when_full::WhenFull;
pub use profile::sampling::Sampling;
pub use recorder::builder::Builder;
pub use recorder::handle::Recorder;
pub use recorder::pool::PoolProbes;
pub use recorder::symbols::symbols;
pub use writer::rotation::Rotation;
