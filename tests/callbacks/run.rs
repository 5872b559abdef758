//! Runs a module with one form of probe.

use super::host::{self, Data, Seen};
use super::record::{CallLog, Names, Step};
use kperf_abi::names;
use kperf_rewriter::{Options, rewrite};
use kperf_trace::{Event, Item, TraceReader};
use kperf_wasmtime::{ClockChoice, Inlined, Recorder, is_inlined};
use std::sync::{Arc, Mutex};
use wasmparser::{ExternalKind, Operator, Parser, Payload, TypeRef};
use wasmtime::{Caller, Config, Engine, Linker, Module, OptLevel, Store, StoreLimitsBuilder};

/// What happened in the run.
pub(crate) struct Run {
    pub(crate) calls: CallLog,
    pub(crate) seen: Seen,
    pub(crate) unwound: u64,
    /// Whether each call that the host made returned.
    pub(crate) outcomes: Vec<String>,
}

/// An engine with all proposals that wasm-smith makes and wasmtime runs.
pub(crate) fn engine() -> Engine {
    let mut config = Config::new();
    Recorder::configure(&mut config);
    config.wasm_tail_call(true).wasm_memory64(true).wasm_gc(true).wasm_exceptions(true);
    // Each module runs only for a moment.
    config.cranelift_opt_level(OptLevel::None).parallel_compilation(false);
    config.wasm_function_references(true).wasm_custom_page_sizes(true).max_wasm_stack(256 << 10);
    Engine::new(&config).unwrap()
}

/// Instantiates a module with probes and calls its exports. Returns `None` if wasmtime can't, or if the stack was too small.
pub(crate) fn run(engine: &Engine, wasm: &[u8], options: &Options, seed: u64, context: &str) -> Option<Run> {
    let rewritten = rewrite(wasm, options).unwrap_or_else(|error| panic!("{context}: {error}"));
    let imported = rewritten.symbols.symbols.iter().filter(|symbol| symbol.imported);
    let imported = imported.map(|symbol| symbol.display_name().to_owned()).collect();
    let names = rewritten.symbols.symbols.iter().map(|symbol| symbol.display_name().to_owned());
    let names: Names = names.collect::<Vec<_>>().into();
    let module = Module::new(engine, &rewritten.wasm).unwrap_or_else(|error| panic!("{context}: {error:?}"));
    let limits = StoreLimitsBuilder::new().memory_size(16 << 20).table_elements(100_000).build();
    let mut store = Store::new(engine, Data::new(seed, limits, names.clone()));
    store.data_mut().strict.imported = imported;
    store.limiter(|data| &mut data.limits);
    let mut linker = Linker::new(engine);
    link_probes(&mut linker).unwrap();
    let sink = Sink::default();
    let inside = is_inlined(&module).then(|| {
        let recorder = Recorder::builder()
            .clock(ClockChoice::Test)
            .sink(sink.clone())
            .symbols(rewritten.symbols.to_bytes());
        let recorder = recorder.build(engine).unwrap();
        let lanes = recorder.link_inlined(&mut store, &mut linker).unwrap();
        (recorder, lanes)
    });
    store.data_mut().ends_in_host = ends_in_host(wasm);
    let lanes = inside.as_ref().map(|(_, lanes)| lanes.clone());
    host::note_types(&mut store, &module);
    host::define(&mut store, &mut linker, &module).ok()?;
    linker.define_unknown_imports_as_default_values(&mut store, &module).ok()?;
    let mut outcomes = Vec::new();
    let instance = outside(&mut store, lanes.as_ref(), |store| linker.instantiate(store, &module));
    ended(&mut store, context);
    outcomes.push(format!("instantiated: {}", instance.is_ok()));
    if let Ok(instance) = instance {
        store.data_mut().instance = Some(instance);
        host::intrude(&mut store, instance);
        for (name, function) in host::functions(&mut store, instance) {
            let called = outside(&mut store, lanes.as_ref(), |store| {
                host::call(store, function).unwrap_or_else(|| Ok(Vec::new()))
            });
            ended(&mut store, context);
            outcomes.push(format!("{name}: {}", called.is_ok()));
            if store.data().overflowed {
                // Frames with probes are larger, so the stack is exhausted at another place.
                return None;
            }
        }
    }
    let Data { strict, seen, .. } = store.into_data();
    let calls = match inside {
        Some((recorder, _)) => {
            recorder.finish("completed").unwrap();
            calls_of(&sink.0.lock().unwrap(), &names)
        }
        None => strict.calls,
    };
    Some(Run { calls, seen, unwound: strict.unwound, outcomes })
}

/// An outermost call of the host. What it leaves open is closed.
fn outside<R>(
    store: &mut Store<Data>,
    lanes: Option<&Inlined>,
    call: impl FnOnce(&mut Store<Data>) -> wasmtime::Result<R>,
) -> wasmtime::Result<R> {
    let called = match lanes {
        Some(lanes) => lanes.call(store, call),
        None => call(store),
    };
    let Data { strict, ends_in_host, .. } = store.data_mut();
    if called.is_ok() && !*ends_in_host && !strict.open.is_empty() {
        let fault = format!("{:?} open behind a call that returned", strict.open);
        strict.fault.get_or_insert(fault);
    }
    strict.close(0);
    called
}

/// Whether the host may call a function that is one of its own, or ends in one by a tail call. Afterwards no guest's frame is left
/// to close what that call left open.
fn ends_in_host(wasm: &[u8]) -> bool {
    let mut imported = 0;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.unwrap() {
            Payload::ImportSection(imports) => {
                let imports = imports.into_imports().map(|import| import.unwrap().ty);
                imported += imports.filter(|ty| matches!(ty, TypeRef::Func(_))).count() as u32;
            }
            Payload::ExportSection(exports) => {
                let functions = exports.into_iter().map(|export| export.unwrap());
                let mut functions = functions.filter(|export| export.kind == ExternalKind::Func);
                if functions.any(|export| export.index < imported) {
                    return true;
                }
            }
            Payload::CodeSectionEntry(body) => {
                let operators = body.get_operators_reader().unwrap().into_iter();
                let is_tail_call = |operator: Operator<'_>| {
                    matches!(
                        operator,
                        Operator::ReturnCall { .. }
                            | Operator::ReturnCallIndirect { .. }
                            | Operator::ReturnCallRef { .. }
                    )
                };
                if operators.map(|operator| operator.unwrap()).any(is_tail_call) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

fn ended(store: &mut Store<Data>, context: &str) {
    if !store.data().overflowed
        && let Some(fault) = store.data_mut().strict.fault.take()
    {
        panic!("{context}: {fault}");
    }
}

fn link_probes(linker: &mut Linker<Data>) -> wasmtime::Result<()> {
    linker.func_wrap(names::MODULE, names::ENTER, |mut caller: Caller<'_, Data>, id: u32| {
        let names = caller.data().names.clone();
        caller.data_mut().strict.enter(&names[id as usize])
    })?;
    linker.func_wrap(names::MODULE, names::LEAVE, |mut caller: Caller<'_, Data>, token: u32| {
        caller.data_mut().strict.leave(token);
    })?;
    linker.func_wrap(names::MODULE, names::UNWIND, |mut caller: Caller<'_, Data>, token: u32| {
        caller.data_mut().strict.unwind(token);
    })?;
    linker.func_wrap(names::MODULE, names::DEPTH, |caller: Caller<'_, Data>| {
        caller.data().strict.open.len() as u32
    })?;
    linker.func_wrap(
        names::MODULE,
        names::CLOSE,
        |mut caller: Caller<'_, Data>, _reason: u32, depth: u32| {
            caller.data_mut().strict.close_of_guest(depth)
        },
    )?;
    Ok(())
}

/// The calls of a trace.
fn calls_of(trace: &[u8], names: &Names) -> CallLog {
    let mut reader = TraceReader::new(trace).unwrap();
    let (mut steps, mut open) = (Vec::new(), 0);
    while let Some(item) = reader.next().unwrap() {
        let Item::Events(batch) = item else { continue };
        for timed in batch.events {
            match timed.event {
                Event::Enter(id) => {
                    open += 1;
                    steps.push(Step::Enter(names[id.0 as usize].clone()));
                }
                Event::Leave => {
                    open -= 1;
                    steps.push(Step::End { unwound: false });
                }
                Event::Unwind { depth, .. } => {
                    steps.extend((depth..open).map(|_| Step::End { unwound: true }));
                    open = depth;
                }
                event => panic!("{event:?}"),
            }
        }
    }
    assert_eq!(reader.anomalies(), []);
    CallLog { steps }
}

/// A sink whose bytes can be read at the end.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
