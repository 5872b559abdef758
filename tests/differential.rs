//! Original and rewritten modules do the same: results, traps, memories, globals. And events balance: after every call
//! of the host's the depth is back at 0.
//!
//! The modules are wasm-smith's, of every shape that wasmtime runs. They carry their own fuel, so that both sides end,
//! and at the same place.

#![allow(clippy::unwrap_used, missing_docs)]

use kperf_rewriter::{Options, rewrite};
use wasmtime::{
    Config, Engine, Extern, Instance, Linker, Module, Rooted, Store, StoreLimits, StoreLimitsBuilder, Trap,
    Val, ValType,
};

/// `KPERF_SEEDS=FROM..TO` runs others.
fn seeds() -> std::ops::Range<u64> {
    let range = std::env::var("KPERF_SEEDS").ok();
    let parsed = range.as_deref().and_then(|range| {
        let (from, to) = range.split_once("..")?;
        Some(from.parse().ok()?..to.parse().ok()?)
    });
    parsed.unwrap_or(0..4_000)
}

#[test]
fn original_and_rewritten_agree() {
    let engine = engine();
    let mut compared = Tally::default();
    for seed in seeds() {
        let Some(wasm) = generate(seed) else { continue };
        let Ok(original) = Module::new(&engine, &wasm) else { continue };
        let options = Options { imports: seed.is_multiple_of(2), validate: true, ..Options::default() };
        let rewritten = match rewrite(&wasm, &options) {
            Ok(rewritten) => rewritten.wasm,
            Err(error) => panic!("seed {seed}: {error}"),
        };
        let rewritten =
            Module::new(&engine, rewritten).unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
        compare(seed, Side::new(&engine, &original), Side::new(&engine, &rewritten), &mut compared);
    }
    // What was compared, so that a generator that only makes dead modules doesn't pass for a test.
    assert!(compared.calls > 1_000 && compared.returned > 300 && compared.events > 10_000, "{compared:?}");
    assert!(compared.trapped > 1_000 && compared.unwound > 0, "{compared:?}");
}

#[derive(Debug, Default)]
struct Tally {
    calls: u64,
    returned: u64,
    trapped: u64,
    events: u64,
    unwound: u64,
}

fn engine() -> Engine {
    let mut config = Config::new();
    config.wasm_tail_call(true).wasm_multi_memory(true).wasm_memory64(true).wasm_gc(true);
    config
        .wasm_function_references(true)
        .wasm_exceptions(true)
        .wasm_relaxed_simd(true)
        .wasm_wide_arithmetic(true);
    config.max_wasm_stack(256 << 10);
    Engine::new(&config).unwrap()
}

fn generate(seed: u64) -> Option<Vec<u8>> {
    let config = wasm_smith::Config {
        allow_floats: true,
        canonicalize_nans: true,
        exceptions_enabled: !seed.is_multiple_of(3),
        gc_enabled: seed % 3 == 1,
        reference_types_enabled: true,
        tail_call_enabled: true,
        memory64_enabled: seed.is_multiple_of(4),
        max_memories: 2,
        max_memory32_bytes: 1 << 20,
        max_memory64_bytes: 1 << 20,
        max_table_elements: 1_000,
        disallow_traps: seed.is_multiple_of(5),
        export_everything: true,
        threads_enabled: false,
        shared_everything_threads_enabled: false,
        custom_page_sizes_enabled: false,
        wide_arithmetic_enabled: true,
        min_funcs: 4,
        max_imports: 6,
        ..wasm_smith::Config::default()
    };
    let bytes = noise(seed, 8_000);
    let mut module = wasm_smith::Module::new(config, &mut arbitrary::Unstructured::new(&bytes)).ok()?;
    module.ensure_termination(1_000).ok()?;
    Some(module.to_bytes())
}

/// What answers the probes: the depth, as the recorder keeps it.
#[derive(Default)]
struct Depth {
    open: i32,
    events: u64,
    unwound: u64,
    limits: StoreLimits,
}

struct Side {
    store: Store<Depth>,
    instance: Result<Instance, String>,
    overflowed: bool,
}

impl Side {
    fn new(engine: &Engine, module: &Module) -> Side {
        // Growing by gigabytes tells nothing more than growing by megabytes.
        let limits = StoreLimitsBuilder::new().memory_size(16 << 20).table_elements(100_000).build();
        let mut store = Store::new(engine, Depth { limits, ..Depth::default() });
        store.limiter(|depth| &mut depth.limits);
        let mut linker: Linker<Depth> = Linker::new(engine);
        let link = |linker: &mut Linker<Depth>| {
            linker.func_wrap("kperf", "enter", |mut caller: wasmtime::Caller<'_, Depth>, _id: i32| {
                let depth = caller.data_mut();
                depth.events += 1;
                depth.open += 1;
                depth.open
            })?;
            linker.func_wrap("kperf", "leave", |mut caller: wasmtime::Caller<'_, Depth>, token: i32| {
                let depth = caller.data_mut();
                assert!(0 < token && token <= depth.open, "leave({token}) at depth {}", depth.open);
                depth.events += 1;
                depth.open = token - 1;
            })?;
            linker.func_wrap("kperf", "unwind", |mut caller: wasmtime::Caller<'_, Depth>, token: i32| {
                let depth = caller.data_mut();
                assert!(0 < token && token <= depth.open, "unwind({token}) at depth {}", depth.open);
                depth.unwound += (depth.open - token) as u64;
                depth.open = token;
            })?;
            wasmtime::Result::<()>::Ok(())
        };
        link(&mut linker).unwrap();
        let defined = linker.define_unknown_imports_as_default_values(&mut store, module);
        let instance = defined.and_then(|()| linker.instantiate(&mut store, module));
        let overflowed = matches!(&instance, Err(error) if is_overflow(error));
        let instance = instance.map_err(|error| outcome_of(&error));
        Side { store, instance, overflowed }
    }

    /// Calls an export with plain arguments; what came out, as text.
    fn call(&mut self, name: &str) -> Option<Result<String, String>> {
        let instance = *self.instance.as_ref().ok()?;
        let function = instance.get_func(&mut self.store, name)?;
        let ty = function.ty(&self.store);
        let arguments = ty.params().map(|ty| argument(&ty)).collect::<Option<Vec<_>>>()?;
        let mut results = vec![Val::I32(0); ty.results().len()];
        let result = function.call(&mut self.store, &arguments, &mut results);
        if let Err(error) = &result {
            self.overflowed |= is_overflow(error);
            // What the host does when a call of its own has failed.
            self.store.data_mut().open = 0;
        }
        // A pending exception would be thrown into the next call.
        let _ = self.store.take_pending_exception();
        Some(
            result
                .map(|()| results.iter().map(show).collect::<Vec<_>>().join(" "))
                .map_err(|error| outcome_of(&error)),
        )
    }

    /// Memories and globals, as text.
    fn state(&mut self) -> String {
        let Ok(instance) = self.instance else { return String::new() };
        let exports: Vec<(String, Extern)> = instance
            .exports(&mut self.store)
            .map(|export| (export.name().to_owned(), export.into_extern()))
            .collect();
        let mut text = String::new();
        for (name, export) in exports {
            match export {
                Extern::Memory(memory) => {
                    let data = memory.data(&self.store);
                    text += &format!("{name}: {} bytes, crc {:08x}\n", data.len(), crc32fast::hash(data));
                }
                Extern::Global(global) => {
                    text += &format!("{name}: {}\n", show(&global.get(&mut self.store)))
                }
                Extern::Table(table) => text += &format!("{name}: {} elements\n", table.size(&self.store)),
                _ => {}
            }
        }
        text
    }
}

fn compare(seed: u64, mut original: Side, mut rewritten: Side, tally: &mut Tally) {
    if original.overflowed || rewritten.overflowed {
        return;
    }
    assert_eq!(
        original.instance.as_ref().err(),
        rewritten.instance.as_ref().err(),
        "seed {seed}: instantiation"
    );
    let Ok(instance) = original.instance else { return };
    let names: Vec<String> = instance
        .exports(&mut original.store)
        .filter(|export| export.clone().into_func().is_some())
        .map(|export| export.name().to_owned())
        .collect();
    for name in names {
        let (Some(expected), Some(actual)) = (original.call(&name), rewritten.call(&name)) else { continue };
        if original.overflowed || rewritten.overflowed {
            // Probed frames are larger, so the two overflow in different places, with different traces behind them.
            return;
        }
        assert_eq!(expected, actual, "seed {seed}: {name}");
        assert_eq!(original.state(), rewritten.state(), "seed {seed}: after {name}");
        assert_eq!(rewritten.store.data().open, 0, "seed {seed}: depth after {name}");
        tally.calls += 1;
        tally.returned += u64::from(expected.is_ok());
        tally.trapped += u64::from(expected.is_err());
    }
    tally.events += rewritten.store.data().events;
    tally.unwound += rewritten.store.data().unwound;
}

fn is_overflow(error: &wasmtime::Error) -> bool {
    error.downcast_ref::<Trap>() == Some(&Trap::StackOverflow)
}

fn outcome_of(error: &wasmtime::Error) -> String {
    match error.downcast_ref::<Trap>() {
        Some(trap) => format!("trap: {trap}"),
        None => error.root_cause().to_string(),
    }
}

fn argument(ty: &ValType) -> Option<Val> {
    Some(match ty {
        ValType::I32 => Val::I32(7),
        ValType::I64 => Val::I64(-3),
        ValType::F32 => Val::F32(1.5f32.to_bits()),
        ValType::F64 => Val::F64(2.5f64.to_bits()),
        ValType::V128 => Val::V128(5.into()),
        ValType::Ref(reference) if reference.is_nullable() => Val::null_ref(reference.heap_type()),
        ValType::Ref(_) => return None,
    })
}

/// A value as text; of references only whether they are null.
fn show(value: &Val) -> String {
    fn reference<T>(value: &Option<Rooted<T>>) -> String
    where
        T: wasmtime::GcRef,
    {
        if value.is_some() { "ref".into() } else { "null".into() }
    }
    match value {
        Val::FuncRef(function) => {
            if function.is_some() {
                "func".into()
            } else {
                "null".into()
            }
        }
        Val::ExternRef(value) => reference(value),
        Val::AnyRef(value) => reference(value),
        Val::ExnRef(value) => reference(value),
        other => format!("{other:?}"),
    }
}

/// Bytes that look random and are the same each time.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}
