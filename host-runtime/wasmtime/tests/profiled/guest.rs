//! A guest that is driven in every way, and what its trace says.

use crate::common::exits::{CALLS, GUEST, table};
use crate::common::*;
use kperf_rewriter::Recording;
use kperf_trace::{Event, Item, TraceReader, WAITING, WAITING_FOR_PROCESSOR, Window};
use kperf_wasmtime::{Builder, ClockChoice, HAS_NATIVE_STACKS, Inlined, Recorder, is_native};
use std::collections::BTreeMap;
use std::future::pending;
use std::iter;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wasmtime::{Caller, Engine, Func, Instance, Linker, Module, Store};

/// All ways to make a profile that there are here.
pub(crate) fn profiles() -> impl Iterator<Item = Recording> {
    iter::once(Recording::Profile { spans: false }).chain(telling())
}

/// Those that slow calls are told of.
pub(crate) fn telling() -> impl Iterator<Item = Recording> {
    iter::once(Recording::Profile { spans: true }).chain(HAS_NATIVE_STACKS.then_some(Recording::Count))
}

/// Supplies what a module wants that was compiled from this text.
pub(crate) fn link(
    recorder: &Recorder,
    store: &mut Store<()>,
    linker: &mut Linker<()>,
    module: &Module,
    text: &str,
) -> Inlined {
    if is_native(module) {
        recorder.native_code(module, &table(text, Recording::Count)).unwrap();
    }
    recorder.link_inlined(store, linker).unwrap()
}

/// An engine for a guest that calls deeper than any memory has room for: for threads with a stack of 128 MiB.
pub(crate) fn engine_for_deep_stacks() -> Engine {
    engine_with(|config| {
        config
            .max_wasm_stack(96 << 20)
            .async_stack_size(112 << 20)
            .wasm_exceptions(true)
            .wasm_gc(true)
            .wasm_function_references(true)
            .wasm_tail_call(true);
    })
}

/// A recorder that takes samples.
pub(crate) fn sampling(engine: &Engine, describe: impl FnOnce(Builder) -> Builder) -> (Recorder, Memory) {
    recorder_with(engine, |builder| describe(builder.clock(ClockChoice::Precise).calibrate(false)))
}

/// For this the host's function drops a call of its own halfway, before it fails.
pub(crate) const DROPS: i32 = -2;

/// Drops a future in the middle.
pub(crate) fn begin_and_drop(future: impl Future) {
    let poll = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll.is_pending());
}

/// How many samples the host's function waits for.
pub(crate) const SAMPLES: u64 = 20;

/// How many samples the trace has so far in windows that began after this, and whether it has ended.
pub(crate) fn progress(trace: &Memory, after: SystemTime) -> (u64, bool) {
    let bytes = trace.bytes();
    let Ok(mut reader) = TraceReader::new(&bytes[..]) else { return (0, false) };
    let (anchor, ticks_per_second) = (reader.header().anchor, reader.header().clock.ticks_per_second);
    let begun = |window: &Window| {
        let since = window.start_ticks.saturating_sub(anchor.ticks) as f64 / ticks_per_second;
        UNIX_EPOCH + Duration::from_nanos(anchor.unix_nanos) + Duration::from_secs_f64(since)
    };
    let (mut samples, mut ended) = (0, false);
    while let Some(item) = reader.next().unwrap() {
        match item {
            Item::Window(window) if begun(window) >= after => samples += window.samples,
            Item::End(_) => ended = true,
            _ => {}
        }
    }
    (samples, ended)
}

/// The host's function takes until it has been seen some times, for 7 and numbers below 0, or for 8 until the trace has
/// ended. It fails for 0 and numbers below.
pub(crate) fn instantiate(
    recorder: &Recorder,
    module: &Module,
    trace: Option<&Memory>,
) -> (Store<()>, Inlined, Instance) {
    let mut store = Store::new(module.engine(), ());
    let mut linker = Linker::new(module.engine());
    let lanes = link(recorder, &mut store, &mut linker, module, GUEST);
    let (trace, flushed) = (trace.cloned(), lanes.clone());
    let h = Func::wrap(&mut store, move |mut caller: Caller<'_, ()>, value: i32| {
        if let Some(trace) = trace.as_ref().filter(|_| !(0..7).contains(&value)) {
            let begun = SystemTime::now();
            loop {
                std::thread::sleep(Duration::from_millis(20));
                flushed.flush(&mut caller);
                let (samples, ended) = progress(trace, begun);
                if ended || value != 8 && samples >= SAMPLES {
                    break;
                }
            }
        }
        if value == DROPS {
            begin_and_drop(
                flushed.call_async(&mut caller, async |_| pending::<wasmtime::Result<()>>().await),
            );
        }
        if value <= 0 { Err(wasmtime::Error::msg("h has failed")) } else { Ok(()) }
    });
    linker.define(&mut store, "host", "h", h).unwrap();
    let instance = linker.instantiate(&mut store, module).unwrap();
    (store, lanes, instance)
}

pub(crate) fn call(
    store: &mut Store<()>,
    lanes: &Inlined,
    instance: Instance,
    name: &str,
    value: i32,
) -> Result<i32, String> {
    let f = instance.get_typed_func::<i32, i32>(&mut *store, name).unwrap();
    let result = lanes.call(store, |store| f.call(store, value));
    let _ = store.take_pending_exception();
    result.map_err(|error| error.root_cause().to_string())
}

pub(crate) fn drive(recorder: &Recorder, module: &Module) -> Vec<Result<i32, String>> {
    let (mut store, lanes, instance) = instantiate(recorder, module, None);
    let calls = CALLS.into_iter().chain([("fib", 3)]);
    calls.map(|(name, value)| call(&mut store, &lanes, instance, name, value)).collect()
}

/// What a trace says, windows and spans apart.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) windows: Vec<Window>,
    /// Enters, leaves and unwinds of slow calls.
    pub(crate) spans: Vec<(u32, Event)>,
    /// Calls by recorder and function, wherever they stand.
    pub(crate) calls: BTreeMap<(u32, u32), u64>,
}

pub(crate) fn read(bytes: &[u8]) -> Read {
    let mut reader = TraceReader::new(bytes).unwrap();
    let mut read = Read::default();
    while let Some(item) = reader.next().unwrap() {
        match item {
            Item::Window(window) => {
                for (func, calls) in &window.calls {
                    *read.calls.entry((window.recorder, func.0)).or_default() += calls;
                }
                read.windows.push(window.clone());
            }
            Item::Spans(batch) => {
                read.spans.extend(batch.events.iter().map(|timed| (batch.lane.recorder, timed.event)));
            }
            Item::Events(batch) => {
                for timed in batch.events {
                    if let Event::Enter(func) = timed.event {
                        *read.calls.entry((batch.lane.recorder, func.0)).or_default() += 1;
                    }
                }
            }
            _ => {}
        }
    }
    assert_eq!(reader.anomalies(), []);
    read
}

impl Read {
    /// The paths that samples found, as ids of functions less the first, and how many found just them.
    pub(crate) fn paths(&self) -> BTreeMap<Vec<u32>, u64> {
        let mut found = BTreeMap::new();
        for window in &self.windows {
            let mut paths: Vec<Vec<u32>> = Vec::new();
            for node in &window.nodes {
                let mut path = node.parent.map_or(Vec::new(), |parent| paths[parent as usize].clone());
                path.push(node.func.0 - 100);
                // A wait is time on the path around it.
                if node.samples > 0 && ![WAITING, WAITING_FOR_PROCESSOR].contains(&node.func) {
                    *found.entry(path.clone()).or_default() += node.samples;
                }
                paths.push(path);
            }
        }
        found
    }

    pub(crate) fn spans(&self) -> Vec<Event> {
        self.spans.iter().map(|(_, event)| *event).collect()
    }
}
